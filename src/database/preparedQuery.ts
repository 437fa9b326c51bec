import type { CompiledQuery, InsertQueryBuilder, InsertResult, QueryResult, RawBuilder } from 'kysely'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { dialectOf, jsonOf } from './dialect.ts'
import { sqliteConnectionOf } from './sqlite/driver.ts'
import type { Db, Tables } from './tables.ts'

type Compilable<R> = { compile(): CompiledQuery<R> }
export type Statement = Compilable<unknown> & { execute(): Promise<unknown> }

type Execute = <R>(query: CompiledQuery<R>) => Promise<QueryResult<R>>
const directExecutors = new WeakMap<Db, Execute>()

/** Prepared queries of a transaction are executed by this function, without the overhead of Kysely. */
export const setDirectExecutor = (trx: Db, execute: Execute): void => void directExecutors.set(trx, execute)

/**
 * A query that is compiled once for each engine, for the few queries that are compiled in more time than they run.
 * `build` uses any values, in the order of the parameters. SQLite returns the rows synchronously.
 */
export function preparedQuery<P extends readonly unknown[], R>(
  build: (db: Db) => Compilable<R>,
): (db: Db, ...parameters: P) => MaybePromise<readonly R[]> {
  const compiledFor = perEngine(build)
  return (db, ...parameters) => {
    const compiled = compiledFor(db)
    return (
      sqliteConnectionOf(db)?.querySync<R>(compiled.sql, parameters) ??
      (directExecutors.get(db) ?? db.executeQuery.bind(db))<R>({ ...compiled, parameters }).then(
        ({ rows }) => rows,
      )
    )
  }
}

/** The same for a statement that `send` executes. */
export function preparedStatement<P extends readonly unknown[]>(
  build: (db: Db) => Compilable<unknown>,
): (db: Db, ...parameters: P) => Statement {
  const compiledFor = perEngine(build)
  const run = preparedQuery<P, unknown>(build)
  return (db, ...parameters) => ({
    compile: () => ({ ...compiledFor(db), parameters }),
    execute: async () => run(db, ...parameters),
  })
}

type IdentityInsert = Compilable<unknown> & { returning(column: 'id'): Compilable<{ id: number }> }

/** A prepared insert of one row that returns its id. SQLite reports the id without a RETURNING clause. */
export function insertReturningId<P extends readonly unknown[]>(
  build: (db: Db) => IdentityInsert,
): (db: Db, ...parameters: P) => MaybePromise<number> {
  const compiledFor = perEngine(build)
  const returning = preparedQuery<P, { id: number }>((db) => build(db).returning('id'))
  return (db, ...parameters) =>
    sqliteConnectionOf(db)?.insertSync(compiledFor(db).sql, parameters) ??
    chain(returning(db, ...parameters), ([row]) => (row as { id: number }).id)
}

function perEngine<R>(build: (db: Db) => Compilable<R>): (db: Db) => CompiledQuery<R> {
  const byEngine = new Map<unknown, CompiledQuery<R>>()
  return (db) => {
    const engine = db.getExecutor().adapter.constructor
    let compiled = byEngine.get(engine)
    if (!compiled) {
      compiled = build(db).compile()
      byEngine.set(engine, compiled)
    }
    return compiled
  }
}

const rowsPerInsert = 500

type Rows = readonly (readonly unknown[])[]

/**
 * Inserts many rows. The number of statement texts does not depend on the number of rows: PostgreSQL takes a batch of any
 * size as one parameter; SQLite has one statement for a full batch and one for a single row. `addClauses` adds clauses
 * without parameters.
 */
export function insertMany<T extends keyof Tables, R = unknown>(
  table: T,
  columns: readonly string[],
  addClauses: (insert: InsertQueryBuilder<Tables, T, InsertResult>) => Compilable<R> = (insert) =>
    insert as Compilable<R>,
): (db: Db, rows: Rows) => Promise<R[]> {
  const anyRow = Object.fromEntries(columns.map((column) => [column, 0])) as never
  const insertOfSize = (size: number) =>
    preparedQuery<readonly unknown[], R>((db) =>
      addClauses(db.insertInto(table).values(Array(size).fill(anyRow)) as never),
    )
  const [insertBatch, insertRow] = [insertOfSize(rowsPerInsert), insertOfSize(1)]
  const insertJson = preparedQuery<[json: string], R>((db) => {
    const rows = dialectOf(db).rowsFromJson?.(table, columns) as RawBuilder<never>
    return addClauses(
      db
        .insertInto(table)
        .columns(columns as never)
        .expression(rows) as never,
    )
  })
  return async (db, rows) => {
    const returned: R[] = []
    for (let from = 0; from < rows.length; from += rowsPerInsert) {
      const batch = rows.slice(from, from + rowsPerInsert)
      if (dialectOf(db).rowsFromJson) returned.push(...(await insertJson(db, jsonRows(columns, batch))))
      else if (batch.length === rowsPerInsert) returned.push(...(await insertBatch(db, ...batch.flat())))
      else for (const row of batch) returned.push(...(await insertRow(db, ...row)))
    }
    return returned
  }
}

const jsonRows = (columns: readonly string[], rows: Rows): string =>
  `[${rows.map((row) => `{${columns.map((column, at) => `"${column}":${jsonOf(row[at])}`).join()}}`).join()}]`
