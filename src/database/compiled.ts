import type { CompiledQuery, Kysely } from 'kysely'
import type { Soon } from '../soon.ts'
import { atOnce } from './sqliteKysely.ts'
import type { Tables } from './tables.ts'

type Compilable<R> = { compile(): CompiledQuery<R> }

/**
 * A query that is put together once for each engine and run many times: for the few that every request needs, where
 * putting them together costs more than running them. `build` is given any values, in the order of the parameters.
 * The embedded store answers at once.
 */
export function compiledOnce<P extends readonly unknown[], R>(
  build: (db: Kysely<Tables>) => Compilable<R>,
): (db: Kysely<Tables>, ...parameters: P) => Soon<readonly R[]> {
  const byEngine = new Map<unknown, CompiledQuery<R>>()
  return (db, ...parameters) => {
    const engine = db.getExecutor().adapter.constructor
    let compiled = byEngine.get(engine)
    if (!compiled) {
      compiled = build(db).compile()
      byEngine.set(engine, compiled)
    }
    return (
      atOnce<R>(db, compiled.sql, parameters) ??
      db.executeQuery<R>({ ...compiled, parameters }).then(({ rows }) => rows)
    )
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
  const insertPiece = compiledOnce((db) =>
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
