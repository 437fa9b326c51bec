import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { MaybePromise } from '../../maybePromise.ts'
import { DiskUnresponsiveError, type StorageFault } from '../database.ts'
import type { Tables } from '../tables.ts'
import { Checkpointer, checkpointBytes } from './checkpointer.ts'
import { markFailed } from './recovery.ts'
import { WalSync } from './walSync.ts'

/** A sync that takes longer is overdue. Its writes are rejected, and further ones until it completes. */
export const defaultSyncMaxMs = 10_000
/** How long a reader of a durable value waits for a sync of the commits of another process. */
const foreignSyncWaitMaxMs = 1_000

type DurabilityOptions = {
  readonly databaseFile: string
  readonly writer: DatabaseSync
  readonly read: Kysely<Tables>
  readonly syncMaxMs: number
  /** Changes with every commit of another process. */
  foreignVersion(): number
  onFault(fault: StorageFault): void
}

const overdue: StorageFault = {
  kind: 'overdue',
  message: 'The disk does not respond. Writes are rejected until it does. Check the disk.',
}
const recovered: StorageFault = {
  kind: 'recovered',
  message: 'The disk responds again. Writes are accepted.',
}
const failed: StorageFault = {
  kind: 'failed',
  message:
    'The disk failed to store changes, so the service stops. Check the disk and start the service again: the start recovers the database.',
}

type Tracked = { readonly query: (db: Kysely<Tables>) => MaybePromise<number>; value: number }

/** Makes the commits of a server durable. COMMIT only writes the log; other threads wait for the disk. */
export class Durability {
  readonly #options: DurabilityOptions
  readonly #walSync: WalSync
  readonly #checkpointer: Checkpointer
  readonly #tracked: Tracked[] = []
  /** The version up to which commits of other processes are durable. */
  #foreignSynced: number | undefined

  constructor(options: DurabilityOptions) {
    this.#options = options
    const { databaseFile, writer, syncMaxMs, onFault } = options
    // NORMAL, not OFF: SQLite then syncs the header of a restarted log before it overwrites old frames. Without that a
    // power loss could restore some of them.
    writer.exec(
      `PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${checkpointBytes}`,
    )
    this.#checkpointer = new Checkpointer(databaseFile, (error) => this.fail(error))
    this.#walSync = new WalSync(databaseFile, {
      syncMaxMs,
      onBegin: () => this.#beginSync(),
      onOverdue: (isOverdue) => onFault(isOverdue ? overdue : recovered),
      onFailure: (error) => {
        void this.#checkpointer.stop()
        onFault({ ...failed, error: markForRecovery(databaseFile, error) })
      },
    })
  }

  /** Resolves when all commits so far are durable. */
  sync(): Promise<void> {
    this.#checkpointer.countCommit()
    return this.#walSync.sync()
  }

  assertWritable(): void {
    this.#walSync.assertWritable()
  }

  fail(error: unknown): void {
    this.#walSync.fail(error)
  }

  /** Truncates the log as soon as no transaction reads from it. */
  truncateWal(): void {
    this.#checkpointer.truncate()
  }

  /** See `Database.trackDurable`. */
  async track(query: Tracked['query']): Promise<() => MaybePromise<number>> {
    const tracked: Tracked = { query, value: 0 }
    this.#tracked.push(tracked)
    await this.#walSync.sync()
    return () => {
      if (this.#options.foreignVersion() === this.#foreignSynced) return tracked.value
      const synced = this.#walSync.sync().catch(() => {})
      const timeout = sleep(foreignSyncWaitMaxMs, undefined, { ref: false })
      return Promise.race([synced, timeout]).then(() => tracked.value)
    }
  }

  get hasFailed(): boolean {
    return this.#walSync.hasFailed
  }

  async close(): Promise<void> {
    const isStopped = await this.#checkpointer.stop()
    const isClosed = await this.#walSync.close()
    if (!isStopped || !isClosed) throw new DiskUnresponsiveError('The disk does not respond.')
  }

  /**
   * Commits so far, of any process, are in the log and durable after the sync. The reader is queried, because the writer
   * may have an open transaction.
   */
  #beginSync(): () => void {
    const { foreignVersion, read } = this.#options
    try {
      const version = foreignVersion()
      const values = this.#tracked.map((tracked) => ({ tracked, value: tracked.query(read) }))
      return () => {
        for (const { tracked, value } of values)
          if (typeof value === 'number') tracked.value = Math.max(tracked.value, value)
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

/** Marks the database for recovery. Returns the error to report, including the error of a mark that failed. */
function markForRecovery(databaseFile: string, error: unknown): unknown {
  try {
    markFailed(databaseFile)
    return error
  } catch (markError) {
    return new AggregateError([error, markError], 'The database could not be marked for recovery.')
  }
}
