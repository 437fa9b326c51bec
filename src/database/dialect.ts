import { type RawBuilder, type SelectQueryBuilder, SqliteAdapter, sql } from 'kysely'
import type { Db, IdentityTable } from './tables.ts'

type Counter = 'available' | 'pending' | 'sold'

/** The differences between the SQL of the engines. Features call these functions and do not depend on the engine. */
export type SqlDialect = {
  readonly engine: 'sqlite' | 'postgres'
  hasTable(db: Db, name: string): Promise<boolean>
  /**
   * Rows with these values in these columns and an id below `belowId`, newest first. They are read from the index on the
   * columns and the id, so every page costs the same.
   */
  keysetPage<DB, TB extends keyof DB, O>(
    query: SelectQueryBuilder<DB, TB, O>,
    filters: readonly (readonly [column: string, value: unknown])[],
    belowId: number,
  ): SelectQueryBuilder<DB, TB, O>
  /** Rows with this value in this column and an id in a range. They are found in the index on the column and the id. */
  keysetRange(column: string, value: unknown, from: number, through: number): RawBuilder<boolean>
  /** Whether the column has one of the values. The text of the statement does not depend on how many there are. */
  isIn(column: string, values: readonly (number | bigint | string)[]): RawBuilder<boolean>
  /** Rows of a table from one parameter, a JSON array. Undefined if a statement for each row is faster. */
  rowsFromJson?(table: string, columns: readonly string[]): RawBuilder<unknown>
  /** The highest id ever assigned, including deleted rows. */
  lastAssignedId(db: Db, table: IdentityTable): Promise<number>
  /** The number of pets with each status. */
  counters(db: Db): Promise<Record<Counter, number>>
  /** Assigns ids to rows that are inserted with them. */
  assignIds(trx: Db, table: IdentityTable, count: number): Promise<number[]>
  /** Prevents ids up to this one from being assigned again. */
  reserveIds(trx: Db, table: IdentityTable, upTo: number): Promise<void>
  /**
   * Returns a function that finds the orders that were changed since the call without an event. Undefined if nothing needs
   * it, because a snapshot may stay open for long.
   */
  watchSilentOrderChanges?(db: Db): Promise<(db: Db) => Promise<number[]>>
  /** Undefined if the id of a change says which changes were committed before it. */
  readonly changeLogPositions?: ChangeLogPositions
}

/**
 * Positions in the change log that do not depend on ids, which changes get after their commit, and not in the order of
 * the commits.
 */
type ChangeLogPositions = {
  /** The position after all changes that are committed, as JSON text. */
  current(trx: Db): Promise<string>
  /**
   * Compares positions with the changes with ids after one id and up to another. Returns, for each key, the ids of changes
   * before its position, and whether all changes with higher ids than these are after it.
   */
  compare(
    trx: Db,
    positions: readonly { readonly key: number; readonly position: string }[],
    after: number,
    through: number,
  ): Promise<Map<number, ComparedPosition>>
}

export type ComparedPosition = { readonly idsBefore: ReadonlySet<number>; readonly isNoLongerNeeded: boolean }

export const sqliteDialect: SqlDialect = {
  engine: 'sqlite',
  async hasTable(db, name) {
    const query = sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ${name}`
    return (await query.execute(db)).rows.length > 0
  },
  keysetPage: (query, filters, belowId) =>
    filters
      .reduce((narrowed, [column, value]) => narrowed.where(sql.ref(column), '=', value), query)
      .where(sql.ref('id'), '<', belowId)
      .orderBy(sql.ref('id'), 'desc'),
  keysetRange: (column, value, from, through) =>
    sql<boolean>`${sql.ref(column)} = ${value} AND id >= ${from} AND id <= ${through}`,
  isIn(name, values) {
    const column = sql.ref(name)
    // A single value is found in half the time without the list.
    if (values.length === 1) return sql`${column} = ${values[0]}`
    return sql`${column} IN (SELECT value FROM json_each(${`[${values.map(jsonOf).join()}]`}))`
  },
  async lastAssignedId(db, table) {
    const query = sql<{ seq: number }>`SELECT seq FROM sqlite_sequence WHERE name = ${table}`
    return (await query.execute(db)).rows[0]?.seq ?? 0
  },
  async counters(db) {
    const rows = await db.selectFrom('inventory').selectAll().execute()
    return {
      available: 0,
      pending: 0,
      sold: 0,
      ...Object.fromEntries(rows.map((row) => [row.status, row.count])),
    }
  },
  async assignIds(trx, table, count) {
    const last = await sqliteDialect.lastAssignedId(trx, table)
    return Array.from({ length: count }, (_, index) => last + 1 + index)
  },
  async reserveIds(trx, table, upTo) {
    if (upTo <= (await sqliteDialect.lastAssignedId(trx, table))) return
    await sql`DELETE FROM sqlite_sequence WHERE name = ${table}`.execute(trx)
    await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${upTo})`.execute(trx)
  },
}

export const postgresDialect: SqlDialect = {
  engine: 'postgres',
  // Not by to_regclass, whose cache may be older than the migration lock.
  async hasTable(db, name) {
    const query = sql`SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ${name}`
    return (await query.execute(db)).rows.length > 0
  },
  /**
   * With equality the planner might choose the primary key, which is ordered too, and discard all newer rows. Row
   * comparisons leave it only the order of the index.
   */
  keysetPage(query, filters, belowId) {
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
  // As row comparisons, for the same reason. SQLite uses an index for one row comparison only.
  keysetRange(column, value, from, through) {
    const key = sql`(${sql.ref(column)}, id)`
    return sql<boolean>`${key} >= (${value}, ${from}) AND ${key} <= (${value}, ${through})`
  },
  isIn: (name, values) => sql`${sql.ref(name)} = ANY(${values})`,
  rowsFromJson: (table, columns) =>
    sql`SELECT ${sql.join(columns.map((column) => sql.ref(column)))}
      FROM json_populate_recordset(NULL::${sql.table(table)}, ${''})`,
  async lastAssignedId(db, table) {
    const query = sql<{ last: number }>`SELECT last_assigned_id(${table}) AS last`
    return (await query.execute(db)).rows[0]?.last ?? 0
  },
  async counters(db) {
    const query = sql<Record<Counter, number>>`
      SELECT sum(available)::bigint AS available, sum(pending)::bigint AS pending, sum(sold)::bigint AS sold
      FROM counter_slots`
    return (await query.execute(db)).rows[0] as Record<Counter, number>
  },
  async assignIds(trx, table, count) {
    const query = sql<{ id: number }>`
      SELECT nextval(pg_get_serial_sequence(${table}, 'id')) AS id FROM generate_series(1, ${count}::bigint)`
    return (await query.execute(trx)).rows.map(({ id }) => id)
  },
  async reserveIds(trx, table, upTo) {
    await sql`CALL reserve_ids_1(${table}, ${upTo})`.execute(trx)
  },
  changeLogPositions: {
    // Both are read in the same snapshot. The sequence number is needed after a restore into another server: transaction
    // ids start again there, sequence numbers do not.
    async current(trx) {
      const query = sql<{ position: string }>`
        SELECT json_build_object('seq', coalesce((SELECT max(seq) FROM events), 0),
          'snapshot', pg_current_snapshot())::text AS position`
      return (await query.execute(trx)).rows[0]?.position as string
    },
    /** Ids are given in the order of "seq": all events before a position have lower ids than the first with a higher "seq". */
    async compare(trx, positions, after, through) {
      const rows = positions.map(({ key, position }) => ({ key, ...JSON.parse(position) }))
      const query = sql<{ key: number; id: number; is_later: boolean }>`
        SELECT key, id, events.seq > positions.seq AS is_later
        FROM json_to_recordset(${JSON.stringify(rows)}::json) AS positions (key bigint, seq bigint, snapshot pg_snapshot)
        JOIN events ON id > ${after} AND id <= ${through}
          AND (events.seq > positions.seq OR pg_visible_in_snapshot(xid, snapshot))`
      const compared = new Map(
        positions.map(({ key }) => [key, { idsBefore: new Set<number>(), isNoLongerNeeded: false }]),
      )
      for (const { key, id, is_later } of (await query.execute(trx)).rows) {
        const position = compared.get(key)
        if (!position) continue
        if (is_later) position.isNoLongerNeeded = true
        else position.idsBefore.add(id)
      }
      return compared
    },
  },
  async watchSilentOrderChanges(db) {
    const query = sql<{ oldest: string }>`SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS oldest`
    /** The oldest transaction that may commit after the call. */
    const oldest = (await query.execute(db)).rows[0]?.oldest
    return async (later) => {
      // After a restore into another server, orders can have ids of transactions that are yet to come.
      const changed = sql<{ id: number }>`
        SELECT id FROM orders WHERE silently_changed_by >= ${oldest}::xid8
        AND silently_changed_by < pg_snapshot_xmax(pg_current_snapshot())`
      return (await changed.execute(later)).rows.map(({ id }) => id)
    }
  },
}

/** The dialect of the engine of a query builder. */
export const dialectOf = (db: Db): SqlDialect =>
  db.getExecutor().adapter instanceof SqliteAdapter ? sqliteDialect : postgresDialect

/** A value as JSON, with every digit of a bigint. */
export const jsonOf = (value: unknown): string =>
  typeof value === 'bigint' ? String(value) : JSON.stringify(value)
