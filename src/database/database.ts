import type { Kysely } from 'kysely'
import type { Dialect } from './dialect.ts'
import type { Tables } from './tables.ts'

/** What the features know of a store, whichever engine is behind it. */
export type Database = {
  readonly dialect: Dialect
  /** Reads of what is committed; they never wait for a writer. */
  readonly read: Kysely<Tables>
  /**
   * Runs the work in a transaction and settles when it is on disk, or undone whole.
   * The work may touch nothing but the store: others wait behind it.
   */
  write<T>(work: (trx: Kysely<Tables>) => Promise<T>): Promise<T>
  /** Runs the work on one unchanging view of the store. */
  snapshot<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>
  /** Calls back after every commit of this process. */
  onCommit(listener: () => void): void
  /** Overwrites what was deleted, also in the files beside the store, as soon as nobody reads it any more. */
  scrub(): void
  /** Calls back when another process has changed the store. */
  onForeignChange(listener: () => void): void
  /** Throws unless the store can be reached. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The store cannot serve right now; nothing was changed, and the same call may succeed later. */
export class StoreUnavailableError extends Error {}

/** The store was written by a newer version of this program. */
export class SchemaTooNewError extends Error {}
