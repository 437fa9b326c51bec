import type { CompiledQuery } from 'kysely'
import type { MaybePromise } from '../maybePromise.ts'
import type { Db, Trx } from './db.ts'
import type { RowSource } from './tables.ts'

/** The port to the database. SQLite and PostgreSQL each implement it. */
export type Database = {
  /** Reads committed rows without waiting for a writer. */
  readonly read: Db
  /**
   * For requests without a known key: lookups and counts, each of one statement. On PostgreSQL it has two connections of its
   * own, so that these requests delay no others.
   */
  readonly unknownCallerDb: Db
  /** For reads that may be a few moments old. Undefined if none is configured. */
  readonly replica: ReadReplica | undefined
  /**
   * Runs the work in a transaction. Resolves when the change is durable; rejects when it was rolled back. Transactions run
   * concurrently: the work first locks the rows that it decides on, with `forUpdate`, in the order in ARCHITECTURE.md. It
   * may run several times, and other writes may wait for it, so it must access nothing but the database.
   */
  write<T>(work: (trx: Trx) => Promise<T>, options?: WriteOptions): Promise<T>
  /** Runs one statement, which is a write transaction of its own. */
  run<R>(query: CompiledQuery<R>): Promise<readonly R[]>
  /** A transaction whose changes no reader waits for: it does not change the version of the database. */
  writeUnlogged<T>(work: (trx: Trx) => Promise<T>): Promise<T>
  /** A transaction without a time limit, for the schema. `runScript` executes several statements. */
  migrate<T>(work: (db: Db, runScript: (script: string) => Promise<void>) => Promise<T>): Promise<T>
  /** Runs the work on one consistent snapshot. */
  snapshot<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Changes with every commit of any process, as soon as reads can see it. Undefined if that takes a query. */
  version(): number | undefined
  /**
   * Calls back with the ids that a commit of this process concerns, before reads can see it: the value of the column in
   * each row that it inserted, updated (the old and the new value) or deleted. Returns a number that changes with every
   * commit of another process. Undefined if the engine cannot tell.
   */
  watchRows(sources: readonly RowSource[], listener: (id: number) => void): (() => number) | undefined
  /** Calls back after every commit of this process, once it is durable. */
  onCommit(listener: () => void): void
  /**
   * The id up to which the change log can be read. Later changes are not durable yet: reads can show commits shortly
   * before that. Includes the commits of other processes, which can take a sync. PostgreSQL gives changes their ids here,
   * a bounded number at a time: if more changes have none, the last of them are left for the next call.
   */
  readableThrough(): MaybePromise<number>
  /** The same for all changes that were committed before the call, however long that takes, until the signal is aborted. */
  allReadableThrough(signal?: AbortSignal): MaybePromise<number>
  /** Calls back when the disk fails, becomes unresponsive, or responds again. */
  onStorageFault(listener: (fault: StorageFault) => void): void
  /** Removes deleted data from the write-ahead log as soon as no transaction reads it. */
  truncateWal(): void
  /** Leaves the lock of the writer to a server for a moment. For a command whose transactions follow each other closely. */
  yieldToServer(): Promise<void>
  /** Calls back when another process has changed the database, or may have. */
  onExternalChange(listener: () => void): void
  stats(): DatabaseStats
  /** How many writes wait for others with the same subject, without a connection. Undefined if all writes are in one queue. */
  subjectWaiters?(): number
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

export type WriteOptions = {
  /**
   * Called when the change is durable, before the promise resolves. It is also called if that is after an
   * OutcomeUnknownError.
   */
  readonly onDurable?: (() => void) | undefined
  /** What the write locks first. At most two writes with the same subject run at the same time in this process. */
  readonly subject?: string | undefined
  /** May be called while the write waits for others with the same subject. */
  readonly precheck?: Precheck | undefined
  /** Starts before other writes that wait for a connection. For the search index, which is one write at a time. */
  readonly hasPriority?: boolean
}

/** Lets many writes that must fail do so without waiting for the same lock one after another. */
export type Precheck = {
  /** One check decides for all writes with the same subject and name that arrived before it. */
  readonly name: string
  /** Rejects if committed data already makes the write fail. */
  run(): Promise<void>
}

/** A copy of the database that is a few moments behind. */
export type ReadReplica = {
  /** Undefined while the replica must not be used. */
  usable(): Db | undefined
  /** Starts to check the replica. Calls back with each change: with the reason if the replica must not be used. */
  watch(listener: (problem: string | undefined) => void, checkMs?: number): void
}

export type DatabaseStats = {
  /** Writes that wait for a commit. */
  readonly writesWaiting: number
  readonly connectionsBusy: number
  /** Requests that wait for a connection. */
  readonly connectionsAwaited: number
  /** 1 while a read replica can be used. */
  readonly replicasUsable: number
}

/** The database cannot serve the call. Nothing was changed, and a retry may succeed. */
export class DatabaseUnavailableError extends Error {}

/** Another transaction holds a lock for too long. */
export class LockTimeoutError extends DatabaseUnavailableError {}

/** The commit was not confirmed: the change may or may not have been applied. */
export class OutcomeUnknownError extends DatabaseUnavailableError {}

/** A fault of the program: a write did not wait for all of its statements. They must not run in another transaction. */
export class TransactionEndedError extends Error {
  constructor() {
    super('The transaction of this statement has ended.')
  }
}

/** A thread of this process waits for an unresponsive disk, so the database cannot be closed. */
export class DiskUnresponsiveError extends Error {}

/** The database was written by a newer version of the program. */
export class SchemaTooNewError extends Error {}

/** The database was made by a version before the first release. */
export class UnreleasedSchemaError extends Error {}
