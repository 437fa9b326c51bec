import { type ColumnDefinitionBuilder, type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from './tables.ts'

export type TableWithIdentity = 'pets' | 'api_keys' | 'orders' | 'events'

/** Every difference between the engines, as functions; no feature asks which engine it runs on. */
export type Dialect = {
  /** The type of a 64-bit integer column. */
  readonly integer: RawBuilder<unknown>
  /** The type and rules of a column whose value the store assigns, rising and never used twice. */
  identity(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder
  readonly identityType: RawBuilder<unknown>
  /** What stands behind the last bracket of CREATE TABLE. */
  readonly tableEnd: RawBuilder<unknown>
  /** Has the store itself keep the inventory, so that no way of changing animals can forget it. */
  keepInventory(db: Kysely<Tables>): Promise<void>
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
  async keepInventory(db) {
    const add = (row: 'NEW' | 'OLD', count: 1 | -1) =>
      sql.raw(`UPDATE inventory SET count = count + ${count} WHERE status = ${row}.status;`)
    await sql`CREATE TRIGGER inventory_insert AFTER INSERT ON pets BEGIN ${add('NEW', 1)} END`.execute(db)
    await sql`CREATE TRIGGER inventory_delete AFTER DELETE ON pets BEGIN ${add('OLD', -1)} END`.execute(db)
    await sql`CREATE TRIGGER inventory_update AFTER UPDATE OF status ON pets WHEN OLD.status <> NEW.status
      BEGIN ${add('OLD', -1)} ${add('NEW', 1)} END`.execute(db)
  },
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
