import { type ColumnDefinitionBuilder, type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from './tables.ts'

export type TableWithIdentity = 'pets' | 'api_keys'

/** Every difference between the engines, as functions; no feature asks which engine it runs on. */
export type Dialect = {
  /** The type of a 64-bit integer column. */
  readonly integer: RawBuilder<unknown>
  /** The type and rules of a column whose value the store assigns, rising and never used twice. */
  identity(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder
  readonly identityType: RawBuilder<unknown>
  /** What stands behind the last bracket of CREATE TABLE. */
  readonly tableEnd: RawBuilder<unknown>
  /** The highest id ever assigned, also if its row is gone. */
  lastAssignedId(db: Kysely<Tables>, table: TableWithIdentity): Promise<number>
  /** Makes sure that ids up to this one are not assigned again. */
  reserveIds(trx: Kysely<Tables>, table: TableWithIdentity, upTo: number): Promise<void>
}

export const sqliteDialect: Dialect = {
  integer: sql`integer`,
  identityType: sql`integer`,
  identity: (column) => column.primaryKey().autoIncrement(),
  tableEnd: sql`strict`,
  async lastAssignedId(db, table) {
    const { rows } = await sql<{
      seq: number
    }>`SELECT seq FROM sqlite_sequence WHERE name = ${table}`.execute(db)
    return rows[0]?.seq ?? 0
  },
  async reserveIds(trx, table, upTo) {
    const last = await sqliteDialect.lastAssignedId(trx, table)
    if (last >= upTo) return
    await sql`DELETE FROM sqlite_sequence WHERE name = ${table}`.execute(trx)
    await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${upTo})`.execute(trx)
  },
}
