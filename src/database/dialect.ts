import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db, IdentityTable } from './tables.ts'

type LockingClause = <DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
) => SelectQueryBuilder<DB, TB, O>

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
  /** Locks the rows and skips those that another transaction has locked. */
  readonly forUpdateSkipLocked: LockingClause
  /** Locks the rows, waiting for other transactions that have locked them. */
  readonly forUpdate: LockingClause
  /** The highest id ever assigned, including deleted rows. */
  lastAssignedId(db: Db, table: IdentityTable): Promise<number>
  /** Prevents ids up to this one from being assigned again. */
  reserveIds(trx: Db, table: IdentityTable, upTo: number): Promise<void>
}

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
  // Write transactions are serialized, so there is no other transaction to lock rows against.
  forUpdateSkipLocked: (query) => query,
  forUpdate: (query) => query,
  async lastAssignedId(db, table) {
    const query = sql<{ seq: number }>`SELECT seq FROM sqlite_sequence WHERE name = ${table}`
    return (await query.execute(db)).rows[0]?.seq ?? 0
  },
  async reserveIds(trx, table, upTo) {
    if (upTo <= (await sqliteDialect.lastAssignedId(trx, table))) return
    await sql`DELETE FROM sqlite_sequence WHERE name = ${table}`.execute(trx)
    await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${upTo})`.execute(trx)
  },
}

export const postgresDialect: SqlDialect = {
  engine: 'postgres',
  // Not by to_regclass, whose cache may be older than the write lock that the transaction has waited for.
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
  forUpdateSkipLocked: (query) => query.forUpdate().skipLocked(),
  forUpdate: (query) => query.forUpdate(),
  async lastAssignedId(db, table) {
    const query = sql<{ last: number }>`SELECT last_assigned_id(${table}) AS last`
    return (await query.execute(db)).rows[0]?.last ?? 0
  },
  async reserveIds(trx, table, upTo) {
    if (upTo <= (await postgresDialect.lastAssignedId(trx, table))) return
    await sql`SELECT setval(pg_get_serial_sequence(${table}, 'id'), ${upTo})`.execute(trx)
  },
}
