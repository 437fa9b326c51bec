import type { Kysely } from 'kysely'
import type { Dialect } from './dialect.ts'
import type { Tables } from './tables.ts'

/** What the features know of a store, whichever engine is behind it. */
export type Database = {
  readonly dialect: Dialect
  /** Reads of what is committed; they never wait for a writer. */
  readonly read: Kysely<Tables>
  /**
   * Runs the work in a transaction and settles when it is on disk, or undone whole. Writes come one after another, over
   * all processes: what one reads stays true until it is done. The work may touch nothing but the store, for others wait
   * behind it and it may be run a second time.
   */
  write<T>(work: (trx: Kysely<Tables>) => Promise<T>): Promise<T>
  /**
   * For bookkeeping that no event tells of: a transaction like the other, but it need not be the only one, so that
   * whatever it decides on it must lock.
   */
  writeApart<T>(work: (trx: Kysely<Tables>) => Promise<T>): Promise<T>
  /** A write that may take as long as it needs, such as a change of the schema. */
  upgrade<T>(work: (trx: Kysely<Tables>) => Promise<T>): Promise<T>
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
  /** Calls back after every commit of this process. */
  onCommit(listener: () => void): void
  /** Overwrites what was deleted, also in the files beside the store, as soon as nobody reads it any more. */
  scrub(): void
  /** Calls back when another process has changed the store, or may have. */
  onForeignChange(listener: () => void): void
  /** What is under way, for whoever watches. */
  load(): Load
  /** Throws unless the store can be reached. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** As much of a store as a list needs. */
export type Reading = Pick<Database, 'read' | 'dialect'>

export type Load = {
  /** Changes that wait for their commit. */
  readonly writesWaiting: number
  /** Connections to the store that are in use. */
  readonly connectionsBusy: number
  /** Requests that wait for a connection. */
  readonly connectionsAwaited: number
}

/** The store cannot serve right now; nothing was changed, and the same call may succeed later. */
export class StoreUnavailableError extends Error {}

/** The store took a change or did not: nobody knows, for it went away before it could say. */
export class OutcomeUnknownError extends StoreUnavailableError {}

/** The store was written by a newer version of this program. */
export class SchemaTooNewError extends Error {}
