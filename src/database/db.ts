import type { CompiledQuery, Kysely, RawBuilder, SelectQueryBuilder } from 'kysely'
import type { MaybePromise } from '../maybePromise.ts'
import type { IdentityTable, Tables } from './tables.ts'

/** The typed query builder. It reads committed rows, a snapshot, or the rows of a transaction. */
export type Db = Kysely<Tables> & {
  readonly dialect: SqlDialect
  /** Runs a query that was compiled for this engine. SQLite returns the rows synchronously. */
  runCompiled<R>(query: CompiledQuery<R>, parameters: readonly unknown[]): MaybePromise<readonly R[]>
  /** The same for an insert of `SqlDialect.returningId`. Returns the id of the row. */
  insertCompiled(query: CompiledQuery, parameters: readonly unknown[]): MaybePromise<number>
}

/** The query builder of a write transaction. A function that changes something, or locks it, takes a `Trx`. */
export type Trx = Db & {
  /** Who makes the change, for the change log. Set by the caller of the work. */
  actor: string | null
  logChanges(changes: readonly Change[]): Promise<void>
  /**
   * Executes a statement whose result is not needed. PostgreSQL receives it together with the next statement, which saves a
   * round trip. If it fails, the transaction fails.
   */
  send(statement: Compilable<unknown>): Promise<void>
  /**
   * Locks a name until the end of the transaction, for what has no row to lock. SQLite has no other transaction to lock it
   * against.
   */
  lockName(name: string): Promise<void>
}

/** A row of the change log. */
export type Change = {
  readonly type: string
  readonly createdAt: number
  readonly data: string
  readonly isPrivate: boolean
}

export type Compilable<R> = { compile(db: Db): CompiledQuery<R> }
export type IdentityInsert = Compilable<unknown> & { returning(column: 'id'): Compilable<unknown> }

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
    belowId: number | RawBuilder<number>,
  ): SelectQueryBuilder<DB, TB, O>
  /** Rows with this value in this column and an id in a range. They are found in the index on the column and the id. */
  keysetRange(column: string, value: unknown, from: number, through: number): RawBuilder<boolean>
  /** What a row of the change log is about: the id in its data. An index finds the rows of an id. */
  readonly changeSubject: RawBuilder<number | null>
  /** Whether the column has one of the values. The text of the statement does not depend on how many there are. */
  isIn(column: string, values: readonly (number | bigint | string)[]): RawBuilder<boolean>
  /** A field of a column that has the JSON text of an object, as text. */
  jsonText(column: string, field: string): RawBuilder<string | null>
  /** Rows of a table from one parameter, a JSON array. Undefined if a statement for each row is faster. */
  rowsFromJson?(table: string, columns: readonly string[]): RawBuilder<unknown>
  /** Prepares an insert of one row for `Db.insertCompiled`. */
  returningId(insert: IdentityInsert): Compilable<unknown>
  /** The highest id ever assigned, including deleted rows. */
  lastAssignedId(db: Db, table: IdentityTable): Promise<number>
  counters<N extends string>(db: Db, names: readonly N[]): Promise<Record<N, number>>
  /** Assigns ids to rows that are inserted with them. */
  assignIds(trx: Trx, table: IdentityTable, count: number): Promise<number[]>
  /** Prevents ids up to this one from being assigned again. */
  reserveIds(trx: Trx, table: IdentityTable, upTo: number): Promise<void>
  /**
   * Returns a function that finds the rows that were changed since the call without an event: the column has the last
   * transaction that did so. Undefined if nothing needs it, because a snapshot may stay open for long.
   */
  watchUnrecordedChanges?(db: Db, table: string, column: string): Promise<(db: Db) => Promise<number[]>>
  /** Undefined if the id of a change says which changes were committed before it. */
  readonly changeLogPositions?: ChangeLogPositions
}

/**
 * Positions in the change log that do not depend on ids, which changes get after their commit, and not in the order of
 * the commits.
 */
type ChangeLogPositions = {
  /** The position after all changes that are committed, as JSON text. */
  current(trx: Trx): Promise<string>
  /**
   * Compares positions with the changes with ids after one id and up to another. Returns, for each key, the ids of changes
   * before its position, and whether all changes with higher ids than these are after it.
   */
  compare(
    trx: Trx,
    positions: readonly { readonly key: number; readonly position: string }[],
    after: number,
    through: number,
  ): Promise<Map<number, ComparedPosition>>
}

export type ComparedPosition = { readonly idsBefore: ReadonlySet<number>; readonly isNoLongerNeeded: boolean }
