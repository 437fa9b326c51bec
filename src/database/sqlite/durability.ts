import { close, fdatasync, open } from 'node:fs'
import { open as openHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import type { MaybePromise } from '../../maybePromise.ts'
import { DatabaseUnavailableError, DiskUnresponsiveError, type StorageFault } from '../database.ts'
import type { Db } from '../db.ts'
import { preparedQuery } from '../preparedQuery.ts'
import { SharedRun } from '../sharedRun.ts'
import { changeLogTable } from '../tables.ts'
import { Checkpointer, checkpointBytes } from './checkpointer.ts'
import { isSyncUnsupported } from './files.ts'
import { markFailed } from './recovery.ts'

// A descriptor of the log, not a FileHandle: it stays open if the disk does not respond.
const openFile = promisify(open)
const closeFile = promisify(close)
const syncData = promisify(fdatasync)

/** A sync that takes longer is overdue. Its writes are rejected, and further ones until it completes. */
export const defaultSyncMaxMs = 10_000
/** How long a reader of a durable value waits for a sync of the commits of another process. */
const externalSyncWaitMaxMs = 1_000

type DurabilityOptions = {
  readonly databaseFile: string
  readonly writer: DatabaseSync
  readonly read: Db
  readonly syncMaxMs: number
  /** Changes with every commit of another process. */
  externalVersion(): number
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

const selectNewestChange = preparedQuery<[], { id: number }>((db) =>
  db.selectFrom(changeLogTable).select('id').orderBy('id', 'desc').limit(sql.lit(1)),
)

/**
 * Makes the commits of a server durable without blocking the event loop. COMMIT only writes the log; syncing it makes the
 * commit survive a power loss. One sync covers all commits before it. Commits during a sync share the next one.
 */
export class Durability {
  readonly #options: DurabilityOptions
  readonly #checkpointer: Checkpointer
  /** The newest id of the change log that is durable. */
  #syncedChangeId = 0
  /** The version up to which commits of other processes are durable. */
  #externalSynced: number | undefined
  #wal: Promise<number> | undefined
  readonly #syncs = new SharedRun(() => this.#sync())
  #failure: unknown
  #isOverdue = false
  #isClosing = false

  constructor(options: DurabilityOptions) {
    this.#options = options
    // NORMAL, not OFF: SQLite then syncs the header of a restarted log before it overwrites old frames. Without that a
    // power loss could restore some of them.
    options.writer.exec(
      `PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${checkpointBytes}`,
    )
    this.#checkpointer = new Checkpointer(options.databaseFile, (error) => this.fail(error))
  }

  /** Resolves when all commits so far are durable. */
  sync(): Promise<void> {
    this.#checkpointer.countCommit()
    // The log is closed soon: a sync of a closed file would count as a failure of the disk.
    if (this.#isClosing) return Promise.reject(new DatabaseUnavailableError('The database is closed.'))
    return this.#syncs.run()
  }

  /**
   * The first failure of a sync or a checkpoint is final for this process: the kernel may have dropped the unwritten pages,
   * and a second sync would report success.
   */
  fail(error: unknown): void {
    if (this.hasFailed) return
    this.#failure = error
    void this.#checkpointer.stop()
    const { databaseFile, onFault } = this.#options
    onFault({ ...failed, error: markForRecovery(databaseFile, error) })
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Throws while writes are rejected. */
  assertWritable(): void {
    if (this.hasFailed) throw new DatabaseUnavailableError('The disk has failed.', { cause: this.#failure })
    if (this.#isOverdue) throw new DatabaseUnavailableError('The disk does not respond.')
  }

  /** Truncates the log as soon as no transaction reads from it. */
  truncateWal(): void {
    this.#checkpointer.truncate()
  }

  /** See `Database.readableThrough`. */
  readableThrough(): MaybePromise<number> {
    if (this.#options.externalVersion() === this.#externalSynced) return this.#syncedChangeId
    const synced = this.sync().catch(() => {})
    const timeout = sleep(externalSyncWaitMaxMs, undefined, { ref: false })
    return Promise.race([synced, timeout]).then(() => this.#syncedChangeId)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    const isStopped = await this.#checkpointer.stop()
    if (!isStopped || this.#isOverdue) throw new DiskUnresponsiveError('The disk does not respond.')
    await this.#syncs.ended()
    const wal = await this.#wal?.catch(() => undefined)
    if (wal !== undefined) await closeFile(wal)
  }

  async #sync(): Promise<void> {
    if (this.hasFailed) throw this.#failure
    const onDone = this.#beginSync()
    const timer = setTimeout(() => this.#setOverdue(true), this.#options.syncMaxMs)
    try {
      this.#wal ??= openWal(this.#options.databaseFile)
      await syncData(await this.#wal)
    } catch (error) {
      this.fail(error)
      throw error
    } finally {
      clearTimeout(timer)
      if (this.#isOverdue) this.#setOverdue(false)
    }
    onDone()
  }

  #setOverdue(isOverdue: boolean): void {
    this.#isOverdue = isOverdue
    // After a failure the disk may respond again, but no write is accepted.
    if (!this.hasFailed) this.#options.onFault(isOverdue ? overdue : recovered)
  }

  /**
   * Commits so far, of any process, are in the log and durable after the sync. The reader is queried, because the writer
   * may have an open transaction.
   */
  #beginSync(): () => void {
    const { externalVersion, read } = this.#options
    try {
      const version = externalVersion()
      const [newest] = selectNewestChange(read) as readonly { id: number }[]
      return () => {
        this.#syncedChangeId = Math.max(this.#syncedChangeId, newest?.id ?? 0)
        this.#externalSynced = version
      }
    } catch {
      // Another process holds an exclusive lock on the database. The next reader of a value syncs again.
      return () => {
        this.#externalSynced = undefined
      }
    }
  }
}

/** SQLite syncs the folder only with its first sync of the log, so the name of the file may not be durable yet. */
async function openWal(databaseFile: string): Promise<number> {
  const wal = await openFile(`${databaseFile}-wal`, 'r')
  const folder = await openHandle(dirname(databaseFile))
  try {
    await folder.sync()
  } catch (error) {
    if (!isSyncUnsupported(error)) throw error
  } finally {
    await folder.close()
  }
  return wal
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
