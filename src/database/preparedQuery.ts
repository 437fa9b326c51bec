import type { CompiledQuery, QueryResult } from 'kysely'
import { chain, type MaybePromise } from '../maybePromise.ts'
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

/** Inserts many rows with a prepared statement for each full chunk of them. */
export function insertMany(
  table: keyof Tables,
  columns: readonly string[],
): (db: Db, rows: readonly (readonly unknown[])[]) => Promise<void> {
  const build = (db: Db, rows: readonly (readonly unknown[])[]) =>
    db
      .insertInto(table)
      .values(
        rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])) as never),
      )
  const anyRow = columns.map(() => 0)
  const insertChunk = preparedQuery((db) => build(db, Array(rowsPerInsert).fill(anyRow)))
  return async (db, rows) => {
    for (let from = 0; from < rows.length; from += rowsPerInsert) {
      const chunk = rows.slice(from, from + rowsPerInsert)
      if (chunk.length === rowsPerInsert) await insertChunk(db, ...chunk.flat())
      else await build(db, chunk).execute()
    }
  }
}
