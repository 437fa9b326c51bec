import type { DatabaseSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import type { MaybePromise } from '../../maybePromise.ts'
import { DiskUnresponsiveError, type StorageFault } from '../database.ts'
import type { Tables } from '../tables.ts'
import { Checkpointer, logBytesUsual } from './checkpointer.ts'
import { markFailed } from './recovery.ts'
import { WalSync } from './walSync.ts'

/** After this time the writes that wait for a sync are answered, and further ones are refused until it completes. */
export const defaultSyncMaxMs = 10_000
/** How long a reader of a durable value waits for the commits of another process to be synced. */
const foreignSyncWaitMaxMs = 1_000

type DurabilityOptions = {
  readonly databaseFile: string
  readonly writer: DatabaseSync
  readonly read: Kysely<Tables>
  readonly syncMaxMs: number
  /** Another number after every commit of another process. */
  foreignVersion(): number
  onFault(fault: StorageFault): void
}

const overdue: StorageFault = {
  kind: 'overdue',
  message: 'The disk does not respond: no changes are taken until it does. Check the disk.',
}
const recovered: StorageFault = {
  kind: 'recovered',
  message: 'The disk responds again: changes are taken.',
}
const failed: StorageFault = {
  kind: 'failed',
  message:
    'The disk failed to store changes, so the service stops. Check the disk and start the service again: the start recovers the store.',
}

type Followed = { readonly query: (db: Kysely<Tables>) => MaybePromise<number>; value: number }

/**
 * What makes the commits of a server durable. They return as soon as they are in the log; waiting for the disk is then
 * done by other threads.
 */
export class Durability {
  readonly #options: DurabilityOptions
  readonly #log: WalSync
  readonly #checkpointer: Checkpointer
  readonly #followed: Followed[] = []
  /** The commits of other processes that are known to be on disk. */
  #foreignSynced: number | undefined

  constructor(options: DurabilityOptions) {
    this.#options = options
    const { databaseFile, writer, syncMaxMs, onFault } = options
    // NORMAL, not OFF: SQLite then syncs the header of a restarted log before it overwrites old frames, which a
    // power loss could otherwise bring back in part.
    writer.exec(
      `PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${logBytesUsual}`,
    )
    this.#checkpointer = new Checkpointer(databaseFile, (error) => this.fail(error))
    this.#log = new WalSync(databaseFile, {
      syncMaxMs,
      onBegin: () => this.#beginSync(),
      onOverdue: (isOverdue) => onFault(isOverdue ? overdue : recovered),
      onFailure: (error) => {
        void this.#checkpointer.stop()
        onFault({ ...failed, error: markStore(databaseFile, error) })
      },
    })
  }

  /** Settles when everything that was committed up to now is on disk. */
  sync(): Promise<void> {
    this.#checkpointer.noteCommit()
    return this.#log.sync()
  }

  assertWritable(): void {
    this.#log.assertWritable()
  }

  fail(error: unknown): void {
    this.#log.fail(error)
  }

  /** Empties the log as soon as no transaction reads from it any more. */
  truncate(): void {
    this.#checkpointer.truncate()
  }

  /** See `Database.trackDurable`. */
  async follow(query: Followed['query']): Promise<() => MaybePromise<number>> {
    const followed: Followed = { query, value: 0 }
    this.#followed.push(followed)
    await this.#log.sync()
    return () => {
      if (this.#options.foreignVersion() === this.#foreignSynced) return followed.value
      return within(foreignSyncWaitMaxMs, this.#log.sync()).then(() => followed.value)
    }
  }

  get hasFailed(): boolean {
    return this.#log.hasFailed
  }

  async close(): Promise<void> {
    const isStopped = await this.#checkpointer.stop()
    const isClosed = await this.#log.close()
    if (!isStopped || !isClosed) throw new DiskUnresponsiveError('The disk does not respond.')
  }

  /**
   * What is committed at this moment, by whichever process, is in the log, and on disk when the sync is done. The
   * connection that reads is asked, because the one that writes may be in the middle of a transaction.
   */
  #beginSync(): () => void {
    const { foreignVersion, read } = this.#options
    try {
      const version = foreignVersion()
      const values = this.#followed.map((followed) => ({ followed, value: followed.query(read) }))
      return () => {
        for (const { followed, value } of values)
          if (typeof value === 'number') followed.value = Math.max(followed.value, value)
        this.#foreignSynced = version
      }
    } catch {
      // Another process holds an exclusive lock on the database. The next reader of a value syncs again.
      return () => {
        this.#foreignSynced = undefined
      }
    }
  }
}

/** Marks the store for recovery. Returns the error to report, which includes that of a mark that could not be written. */
function markStore(databaseFile: string, error: unknown): unknown {
  try {
    markFailed(databaseFile)
    return error
  } catch (markError) {
    return new AggregateError([error, markError], 'The store could not be marked for recovery.')
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  work.then(
    () => resolve(),
    () => resolve(),
  )
  await promise
  clearTimeout(timer)
}
