import type { CompiledQuery, InsertQueryBuilder, InsertResult, RawBuilder } from 'kysely'
import type { MaybePromise } from '../maybePromise.ts'
import type { Compilable, Db, IdentityInsert, SqlDialect, Trx } from './db.ts'
import { jsonOf } from './dialect.ts'
import type { Tables } from './tables.ts'

/**
 * A query that is compiled once for each engine, for the few queries that are compiled in more time than they run.
 * `build` uses any values, in the order of the parameters. SQLite returns the rows synchronously.
 */
export function preparedQuery<P extends readonly unknown[], R>(
  build: (db: Db) => Compilable<R>,
): (db: Db, ...parameters: P) => MaybePromise<readonly R[]> {
  const compiledFor = perEngine(build)
  return (db, ...parameters) => db.runCompiled(compiledFor(db), parameters)
}

/** The same for a statement that `Trx.send` executes. */
export function preparedStatement<P extends readonly unknown[]>(
  build: (db: Db) => Compilable<unknown>,
): (db: Db, ...parameters: P) => Compilable<unknown> {
  const compiledFor = perEngine(build)
  return (db, ...parameters) => ({ compile: () => ({ ...compiledFor(db), parameters }) })
}

/** A prepared insert of one row that returns its id. */
export function insertReturningId<P extends readonly unknown[]>(
  build: (db: Db) => IdentityInsert,
): (trx: Trx, ...parameters: P) => MaybePromise<number> {
  const compiledFor = perEngine((db) => db.dialect.returningId(build(db)))
  return (trx, ...parameters) => trx.insertCompiled(compiledFor(trx), parameters)
}

function perEngine<R>(build: (db: Db) => Compilable<R>): (db: Db) => CompiledQuery<R> {
  const byEngine = new Map<SqlDialect, CompiledQuery<R>>()
  return (db) => {
    const known = byEngine.get(db.dialect)
    if (known) return known
    const compiled = build(db).compile(db)
    byEngine.set(db.dialect, compiled)
    return compiled
  }
}

/** The first row of a query, converted. Undefined if there is none. */
export async function firstOf<R extends object, T>(
  query: { executeTakeFirst(): Promise<R | undefined> },
  convert: (row: R) => T,
) {
  const row = await query.executeTakeFirst()
  return row && convert(row)
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
): (trx: Trx, rows: Rows) => Promise<R[]> {
  const anyRow = Object.fromEntries(columns.map((column) => [column, 0])) as never
  const insertOfSize = (size: number) =>
    preparedQuery<readonly unknown[], R>((db) =>
      addClauses(db.insertInto(table).values(Array(size).fill(anyRow)) as never),
    )
  const [insertBatch, insertRow] = [insertOfSize(rowsPerInsert), insertOfSize(1)]
  const insertJson = preparedQuery<[json: string], R>((db) => {
    const rows = db.dialect.rowsFromJson?.(table, columns) as RawBuilder<never>
    return addClauses(
      db
        .insertInto(table)
        .columns(columns as never)
        .expression(rows) as never,
    )
  })
  return async (trx, rows) => {
    const returned: R[] = []
    for (let from = 0; from < rows.length; from += rowsPerInsert) {
      const batch = rows.slice(from, from + rowsPerInsert)
      if (trx.dialect.rowsFromJson) returned.push(...(await insertJson(trx, jsonRows(columns, batch))))
      else if (batch.length === rowsPerInsert) returned.push(...(await insertBatch(trx, ...batch.flat())))
      else for (const row of batch) returned.push(...(await insertRow(trx, ...row)))
    }
    return returned
  }
}

const jsonRows = (columns: readonly string[], rows: Rows): string =>
  `[${rows.map((row) => `{${columns.map((column, at) => `"${column}":${jsonOf(row[at])}`).join()}}`).join()}]`
