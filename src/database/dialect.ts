import {
  type ColumnDefinitionBuilder,
  type Kysely,
  type RawBuilder,
  type SelectQueryBuilder,
  sql,
} from 'kysely'
import { createCounting } from './postgresCounting.ts'
import type { Tables } from './tables.ts'

type TableWithIdentity = 'pets' | 'api_keys' | 'orders' | 'events'

/** Every difference between the engines, as functions; no feature asks which engine it runs on. */
export type SqlDialect = {
  /** The type of a 64-bit integer column. */
  readonly integer: RawBuilder<unknown>
  /** The type and rules of a column whose value the store assigns, rising and never used twice. */
  identity(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder
  readonly identityType: RawBuilder<unknown>
  /** What stands behind the last bracket of CREATE TABLE. */
  readonly tableEnd: RawBuilder<unknown>
  hasTable(db: Kysely<Tables>, name: string): Promise<boolean>
  /** Has the store itself keep the inventory, so that no way of changing animals can forget it. */
  keepInventory(db: Kysely<Tables>): Promise<void>
  /** What else a store needs that several processes share. */
  prepareSharing(db: Kysely<Tables>): Promise<void>
  /** Puts all that a page of animals shows into the indexes that it is found by, where that spares a look at the table. */
  coverPages(db: Kysely<Tables>): Promise<void>
  /**
   * Rows below an id, newest first, that have these values in these columns, read from the index on the columns and the id
   * and from nothing else, wherever the page lies and however the values are spread.
   */
  pageBelow<DB, TB extends keyof DB, O>(
    query: SelectQueryBuilder<DB, TB, O>,
    filters: readonly (readonly [column: string, value: unknown])[],
    belowId: number,
  ): SelectQueryBuilder<DB, TB, O>
  /** Leaves out the rows that another transaction is deciding on, and keeps others from those that it finds. */
  lockFree<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>
  /** Waits for whoever is deciding on the rows that it finds, and keeps others from them. */
  lock<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>
  /** The highest id ever assigned, also if its row is gone. */
  lastAssignedId(db: Kysely<Tables>, table: TableWithIdentity): Promise<number>
  /** Makes sure that ids up to this one are not assigned again. */
  reserveIds(trx: Kysely<Tables>, table: TableWithIdentity, upTo: number): Promise<void>
}

export const sqliteDialect: SqlDialect = {
  integer: sql`integer`,
  identityType: sql`integer`,
  identity: (column) => column.primaryKey().autoIncrement(),
  tableEnd: sql`strict`,
  async hasTable(db, name) {
    const { rows } = await sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ${name}`.execute(
      db,
    )
    return rows.length > 0
  },
  async keepInventory(db) {
    const add = (row: 'NEW' | 'OLD', count: 1 | -1) =>
      sql.raw(`UPDATE inventory SET count = count + ${count} WHERE status = ${row}.status;`)
    await sql`CREATE TRIGGER inventory_insert AFTER INSERT ON pets BEGIN ${add('NEW', 1)} END`.execute(db)
    await sql`CREATE TRIGGER inventory_delete AFTER DELETE ON pets BEGIN ${add('OLD', -1)} END`.execute(db)
    await sql`CREATE TRIGGER inventory_update AFTER UPDATE OF status ON pets WHEN OLD.status <> NEW.status
      BEGIN ${add('OLD', -1)} ${add('NEW', 1)} END`.execute(db)
  },
  // One process counts, in its memory, and ids leave no gaps by themselves.
  async prepareSharing() {},
  async coverPages(db) {
    const indexes = {
      pets_by_status: ['status', 'id', 'category_id', 'name'],
      pets_by_category: ['category_id', 'id', 'status', 'name'],
      pets_by_category_and_status: ['category_id', 'status', 'id', 'name'],
    }
    for (const [name, columns] of Object.entries(indexes)) {
      await db.schema.dropIndex(name).execute()
      await db.schema.createIndex(name).on('pets').columns(columns).execute()
    }
  },
  pageBelow: (query, filters, belowId) =>
    filters
      .reduce((narrowed, [column, value]) => narrowed.where(sql.ref(column), '=', value), query)
      .where(sql.ref('id'), '<', belowId)
      .orderBy(sql.ref('id'), 'desc'),
  // Writes come one after another, so nobody else decides on anything.
  lockFree: (query) => query,
  lock: (query) => query,
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

/** The sequence behind the ids of a table. */
const sequenceOf = (table: TableWithIdentity) => sql`pg_get_serial_sequence(${sql.lit(table)}, 'id')`

/** The newest event, or where the feed stood when there was one. */
const lastEventId = sql`greatest(
  coalesce((SELECT max(id) FROM events), 0),
  coalesce((SELECT value FROM positions WHERE name = 'events.pruned'), 0))`

export const postgresDialect: SqlDialect = {
  integer: sql`bigint`,
  identityType: sql`bigint`,
  identity: (column) => column.primaryKey().generatedByDefaultAsIdentity(),
  tableEnd: sql``,
  async hasTable(db, name) {
    const { rows } = await sql<{ found: string | null }>`SELECT to_regclass(${name})::text AS found`.execute(
      db,
    )
    return rows[0]?.found != null
  },
  async keepInventory(db) {
    // Once for each statement, however many animals it concerns.
    await sql`
      CREATE FUNCTION keep_inventory() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN
          UPDATE inventory SET count = inventory.count - gone.count
          FROM (SELECT status, count(*) AS count FROM old_rows GROUP BY status) AS gone
          WHERE inventory.status = gone.status;
        END IF;
        IF TG_OP <> 'DELETE' THEN
          UPDATE inventory SET count = inventory.count + come.count
          FROM (SELECT status, count(*) AS count FROM new_rows GROUP BY status) AS come
          WHERE inventory.status = come.status;
        END IF;
        RETURN NULL;
      END $$`.execute(db)
    const keep = (operation: string, rows: string) =>
      sql.raw(`CREATE TRIGGER inventory_${operation} AFTER ${operation} ON pets
        REFERENCING ${rows} FOR EACH STATEMENT EXECUTE FUNCTION keep_inventory()`)
    await sql`${keep('insert', 'NEW TABLE AS new_rows')}`.execute(db)
    await sql`${keep('delete', 'OLD TABLE AS old_rows')}`.execute(db)
    await sql`${keep('update', 'OLD TABLE AS old_rows NEW TABLE AS new_rows')}`.execute(db)
  },
  async prepareSharing(db) {
    await createCounting(db)
    // A sequence would leave out what a transaction that was rolled back has drawn, and the feed has no gaps. Whoever
    // records an event has the store's turn, so nobody else counts at the same time.
    await sql`
      CREATE FUNCTION number_event() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.id := ${lastEventId} + 1;
        RETURN NEW;
      END $$`.execute(db)
    await sql`CREATE TRIGGER number_event BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION number_event()`.execute(
      db,
    )
  },
  // An index does not know whom a row may be shown to, so that the table is looked at anyway until a vacuum has passed.
  async coverPages() {},
  /**
   * By equality the planner might take the primary key, which is in order too, and throw away all rows that are newer
   * than those asked for. Rows that are compared as a whole leave it no order but that of the index.
   */
  pageBelow(query, filters, belowId) {
    const columns = filters.map(([column]) => sql.ref(column))
    const values = filters.map(([, value]) => sql`${value}`)
    const id = sql.ref('id')
    const page = query.where(
      sql<boolean>`(${sql.join([...columns, id])}) < (${sql.join([...values, belowId])})`,
    )
    const within =
      filters.length === 0 ? page : page.where(sql<boolean>`(${sql.join(columns)}) >= (${sql.join(values)})`)
    return [...columns, id].reduce((ordered, column) => ordered.orderBy(column, 'desc'), within)
  },
  lockFree: (query) => query.forUpdate().skipLocked(),
  lock: (query) => query.forUpdate(),
  async lastAssignedId(db, table) {
    const last = table === 'events' ? lastEventId : sql`pg_sequence_last_value(${sequenceOf(table)})`
    const { rows } = await sql<{ last: number | null }>`SELECT ${last} AS last`.execute(db)
    return rows[0]?.last ?? 0
  },
  async reserveIds(trx, table, upTo) {
    if (upTo <= (await postgresDialect.lastAssignedId(trx, table))) return
    await sql`SELECT setval(${sequenceOf(table)}, ${upTo})`.execute(trx)
  },
}
