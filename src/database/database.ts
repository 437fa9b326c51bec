import type { Kysely } from 'kysely'
import type { MaybePromise } from '../maybePromise.ts'
import type { SqlDialect } from './dialect.ts'
import type { Tables } from './tables.ts'

/** What the features know of a store, whichever engine is behind it. */
export type Database = {
  readonly dialect: SqlDialect
  /** Reads of what is committed; they never wait for a writer. */
  readonly read: Kysely<Tables>
  /**
   * Runs the work in a transaction and settles when it is on disk, or undone whole. Writes come one after another, over
   * all processes: what one reads stays true until it is done. The work may touch nothing but the store, for others wait
   * behind it and it may be run a second time. `onDurable` is called when the change is on disk, before the caller learns
   * of it, and also where that is after the caller was told that the outcome is unknown.
   */
  write<T>(work: (trx: Kysely<Tables>) => Promise<T>, onDurable?: () => void): Promise<T>
  /**
   * For bookkeeping that no event tells of: a transaction like the other, but it need not be the only one, so that
   * whatever it decides on it must lock.
   */
  writeConcurrently<T>(work: (trx: Kysely<Tables>) => Promise<T>): Promise<T>
  /** A write that may take as long as it needs, such as a change of the schema. */
  migrate<T>(work: (trx: Kysely<Tables>) => Promise<T>): Promise<T>
  /** Runs the work on one unchanging view of the store. */
  snapshot<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>
  /**
   * Another number after every commit of whichever process, as soon as reads can see it; nothing where that cannot be
   * told without asking.
   */
  version(): number | undefined
  /**
   * Calls back with the animals that a commit of this process has changed or removed, before anybody can read them anew.
   * Answers a number that is another one after every commit of another process; nothing where that cannot be told.
   */
  watchPets(listener: (id: number) => void): (() => number) | undefined
  /** Calls back after every commit of this process, once it is on disk. */
  onCommit(listener: () => void): void
  /**
   * Follows a number that rises with commits, such as the newest id of a table. Returns a function for its value as of
   * what is on disk: reads can show commits a moment before they are durable. Commits of other processes are included,
   * which may have to be waited for. The query runs often, so it should be one of `compiledOnce`.
   */
  trackDurable(query: (db: Kysely<Tables>) => MaybePromise<number>): Promise<() => MaybePromise<number>>
  /** Calls back when the disk has failed, does not respond in time, or responds again. */
  onStorageFault(listener: (fault: StorageFault) => void): void
  /** Overwrites what was deleted, also in the files beside the store, as soon as nobody reads it any more. */
  truncateWal(): void
  /** Calls back when another process has changed the store, or may have. */
  onForeignChange(listener: () => void): void
  /** What is under way, for whoever watches. */
  stats(): DatabaseStats
  /** Throws unless the store can be reached. */
  ping(): Promise<void>
  close(): Promise<void>
}

export type StorageFault = {
  /**
   * After `failed` no write is taken, and the process should end: the next start recovers the store. After `overdue` no
   * write is taken until it has `recovered`.
   */
  readonly kind: 'failed' | 'overdue' | 'recovered'
  readonly message: string
  readonly error?: unknown
}

/** As much of a store as a list needs. */
export type DatabaseReader = Pick<Database, 'read' | 'dialect'>

export type DatabaseStats = {
  /** Changes that wait for their commit. */
  readonly writesWaiting: number
  /** Connections to the store that are in use. */
  readonly connectionsBusy: number
  /** Requests that wait for a connection. */
  readonly connectionsAwaited: number
}

/** The store cannot serve right now; nothing was changed, and the same call may succeed later. */
export class DatabaseUnavailableError extends Error {}

/** The commit was not confirmed: the change may have been applied or not. */
export class OutcomeUnknownError extends DatabaseUnavailableError {}

/** A thread of this process waits for a disk that does not respond, so the store cannot be closed. */
export class DiskUnresponsiveError extends Error {}

/** The store was written by a newer version of this program. */
export class SchemaTooNewError extends Error {}
