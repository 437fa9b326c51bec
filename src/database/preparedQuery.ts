import type { CompiledQuery, InsertQueryBuilder, InsertResult, Kysely } from 'kysely'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { insertSync, querySync } from './sqlite/driver.ts'
import type { Tables } from './tables.ts'

type Compilable<R> = { compile(): CompiledQuery<R> }

/**
 * A query that is put together once for each engine and run many times: for the few that every request needs, where
 * putting them together costs more than running them. `build` is given any values, in the order of the parameters.
 * The embedded store answers at once.
 */
export function preparedQuery<P extends readonly unknown[], R>(
  build: (db: Kysely<Tables>) => Compilable<R>,
): (db: Kysely<Tables>, ...parameters: P) => MaybePromise<readonly R[]> {
  const compiledFor = perEngine(build)
  return (db, ...parameters) => {
    const compiled = compiledFor(db)
    return (
      querySync<R>(db, compiled.sql, parameters) ??
      db.executeQuery<R>({ ...compiled, parameters }).then(({ rows }) => rows)
    )
  }
}

/** The same for an insert of one row, which answers the id that the row is given: SQLite tells it without being asked. */
export function insertReturningId<P extends readonly unknown[]>(
  build: (db: Kysely<Tables>) => InsertQueryBuilder<Tables, 'pets', InsertResult>,
): (db: Kysely<Tables>, ...parameters: P) => MaybePromise<number> {
  const compiledFor = perEngine(build)
  const returning = preparedQuery<P, { id: number }>((db) => build(db).returning('id'))
  return (db, ...parameters) =>
    insertSync(db, compiledFor(db).sql, parameters) ??
    chain(returning(db, ...parameters), ([row]) => (row as { id: number }).id)
}

function perEngine<R>(
  build: (db: Kysely<Tables>) => Compilable<R>,
): (db: Kysely<Tables>) => CompiledQuery<R> {
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

const rowsAtOnce = 500

/** Inserts of many rows, so many at a time by a statement that is put together once. */
export function insertMany(
  table: keyof Tables,
  columns: readonly string[],
): (db: Kysely<Tables>, rows: readonly (readonly unknown[])[]) => Promise<void> {
  const build = (db: Kysely<Tables>, rows: readonly (readonly unknown[])[]) =>
    db
      .insertInto(table)
      .values(
        rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])) as never),
      )
  const emptyRow = columns.map(() => 0)
  const insertPiece = preparedQuery((db) =>
    build(
      db,
      Array.from({ length: rowsAtOnce }, () => emptyRow),
    ),
  )
  return async (db, rows) => {
    for (let from = 0; from < rows.length; from += rowsAtOnce) {
      const piece = rows.slice(from, from + rowsAtOnce)
      if (piece.length === rowsAtOnce) await insertPiece(db, ...piece.flat())
      else await build(db, piece).execute()
    }
  }
}
