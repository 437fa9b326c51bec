import { sql } from 'kysely'
import type { SqlDialect } from './db.ts'
import { counterTable } from './tables.ts'

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
  changeSubject: sql`subject_id`,
  isIn(name, values) {
    const column = sql.ref(name)
    // A single value is found in half the time without the list.
    if (values.length === 1) return sql`${column} = ${values[0]}`
    return sql`${column} IN (SELECT value FROM json_each(${`[${values.map(jsonOf).join()}]`}))`
  },
  jsonText: (column, field) => sql`${sql.ref(column)} ->> ${sql.lit(field)}`,
  // SQLite reports the id by itself.
  returningId: (insert) => insert,
  async lastAssignedId(db, table) {
    const query = sql<{ seq: number }>`SELECT seq FROM sqlite_sequence WHERE name = ${table}`
    return (await query.execute(db)).rows[0]?.seq ?? 0
  },
  async counters(db, names) {
    const rows = await db.selectFrom(counterTable).selectAll().execute()
    const counts = new Map(rows.map(({ status, count }) => [status, count]))
    return Object.fromEntries(names.map((name) => [name, counts.get(name) ?? 0])) as never
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
  changeSubject: sql`event_subject_1(type, data)`,
  isIn: (name, values) => sql`${sql.ref(name)} = ANY(${values})`,
  jsonText: (column, field) => sql`${sql.ref(column)}::json ->> ${sql.lit(field)}`,
  rowsFromJson: (table, columns) =>
    sql`SELECT ${sql.join(columns.map((column) => sql.ref(column)))}
      FROM json_populate_recordset(NULL::${sql.table(table)}, ${''})`,
  returningId: (insert) => insert.returning('id'),
  async lastAssignedId(db, table) {
    const query = sql<{ last: number }>`SELECT last_assigned_id(${table}) AS last`
    return (await query.execute(db)).rows[0]?.last ?? 0
  },
  async counters(db, names) {
    const sums = names.map((name) => sql`sum(${sql.ref(name)})::bigint AS ${sql.ref(name)}`)
    return (await sql`SELECT ${sql.join(sums)} FROM counter_slots`.execute(db)).rows[0] as never
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
  async watchUnrecordedChanges(db, table, columnName) {
    const column = sql.ref(columnName)
    const query = sql<{ oldest: string }>`SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS oldest`
    /** The oldest transaction that may commit after the call. */
    const oldest = (await query.execute(db)).rows[0]?.oldest
    return async (later) => {
      // After a restore into another server, rows can have ids of transactions that are yet to come.
      const changed = sql<{ id: number }>`
        SELECT id FROM ${sql.table(table)} WHERE ${column} >= ${oldest}::xid8
        AND ${column} < pg_snapshot_xmax(pg_current_snapshot())`
      return (await changed.execute(later)).rows.map(({ id }) => id)
    }
  },
}

/** A value as JSON, with every digit of a bigint. */
export const jsonOf = (value: unknown): string =>
  typeof value === 'bigint' ? String(value) : JSON.stringify(value)
