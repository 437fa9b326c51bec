import type { MaybePromise } from '../maybePromise.ts'
import type { SqlDialect } from './dialect.ts'
import type { Db, IdentityTable } from './tables.ts'

/** The port to the database. SQLite and PostgreSQL each implement it. */
export type Database = {
  readonly dialect: SqlDialect
  /** Reads committed rows without waiting for a writer. */
  readonly read: Db
  /**
   * Runs the work in a transaction. Resolves when the change is durable; rejects when it was rolled back. Writes are
   * serialized over all processes, so what the work reads stays true until it commits. The work may run twice, and other
   * writes wait for it, so it must access nothing but the database. `onDurable` is called when the change is durable,
   * before the promise resolves. It is also called if that is after an OutcomeUnknownError.
   */
  write<T>(work: (trx: Db) => Promise<T>, onDurable?: () => void): Promise<T>
  /** A transaction that is not in the change log and not serialized: it must lock the rows that it depends on. */
  writeConcurrently<T>(work: (trx: Db) => Promise<T>): Promise<T>
  /** A write without a time limit. `runScript` executes several statements. */
  migrate<T>(work: (trx: Db, runScript: (script: string) => Promise<void>) => Promise<T>): Promise<T>
  /** Runs the work on one consistent snapshot. */
  snapshot<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Changes with every commit of any process, as soon as reads can see it. Undefined if that takes a query. */
  version(): number | undefined
  /**
   * Calls back with the id of each row that a commit of this process updated or deleted, before reads can see it. Returns
   * a number that changes with every commit of another process. Undefined if the engine cannot tell.
   */
  watchRows(table: IdentityTable, listener: (id: number) => void): (() => number) | undefined
  /** Calls back after every commit of this process, once it is durable. */
  onCommit(listener: () => void): void
  /**
   * Tracks a number that rises with commits, such as the newest id of a table. Returns a function for its durable value:
   * reads can show commits shortly before they are durable. The value includes commits of other processes, which can
   * take a sync. The query runs often, so it should be a `preparedQuery`.
   */
  trackDurable(query: (db: Db) => MaybePromise<number>): Promise<() => MaybePromise<number>>
  /** Calls back when the disk fails, becomes unresponsive, or responds again. */
  onStorageFault(listener: (fault: StorageFault) => void): void
  /** Removes deleted data from the write-ahead log as soon as no transaction reads it. */
  truncateWal(): void
  /** Calls back when another process has changed the database, or may have. */
  onExternalChange(listener: () => void): void
  stats(): DatabaseStats
  /** Rejects if the database cannot be reached or written. */
  ping(): Promise<void>
  close(): Promise<void>
}

export type StorageFault = {
  /**
   * After `failed` all writes are rejected and the process should exit: the next start recovers the database. After
   * `overdue` writes are rejected until `recovered`.
   */
  readonly kind: 'failed' | 'overdue' | 'recovered'
  readonly message: string
  readonly error?: unknown
}

/** The part of the port that list queries use. */
export type DatabaseReader = Pick<Database, 'read' | 'dialect'>

export type DatabaseStats = {
  /** Writes that wait for a commit. */
  readonly writesWaiting: number
  readonly connectionsBusy: number
  /** Requests that wait for a connection. */
  readonly connectionsAwaited: number
}

/** The database cannot serve the call. Nothing was changed, and a retry may succeed. */
export class DatabaseUnavailableError extends Error {}

/** The commit was not confirmed: the change may or may not have been applied. */
export class OutcomeUnknownError extends DatabaseUnavailableError {}

/** A thread of this process waits for an unresponsive disk, so the database cannot be closed. */
export class DiskUnresponsiveError extends Error {}

/** The database was written by a newer version of the program. */
export class SchemaTooNewError extends Error {}

/** The database was made by a version before the first release. */
export class UnreleasedSchemaError extends Error {}
