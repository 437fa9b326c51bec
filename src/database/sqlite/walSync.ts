import { close, fdatasync, fsync, open } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { DatabaseUnavailableError } from '../database.ts'
import { isSyncUnsupported } from './files.ts'

const openFile = promisify(open)
const closeFile = promisify(close)
const syncData = promisify(fdatasync)
const syncAll = promisify(fsync)

export type WalSyncOptions = {
  /** A sync that takes longer is overdue. */
  readonly syncMaxMs: number
  /** Called when a sync begins. The returned function is called when all earlier commits are durable. */
  onBegin(): () => void
  /** Called when a sync becomes overdue, and with `false` when that sync completes. */
  onOverdue(isOverdue: boolean): void
  /** Called once. */
  onFailure(error: unknown): void
}

/**
 * Syncs the write-ahead log without blocking the event loop. COMMIT has written the log; syncing it makes the commit
 * survive a power loss. One sync covers all commits before it. Commits during a sync share the next one.
 */
export class WalSync {
  readonly #file: string
  readonly #options: WalSyncOptions
  #descriptor: Promise<number> | undefined
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #failure: unknown
  #isOverdue = false

  constructor(databaseFile: string, options: WalSyncOptions) {
    this.#file = `${databaseFile}-wal`
    this.#options = options
  }

  /** Resolves when all commits so far are durable. */
  sync(): Promise<void> {
    if (!this.#running) {
      this.#running = this.#sync().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        return this.sync()
      })
    return this.#next
  }

  /**
   * The first failure of a sync or a checkpoint is final for this process: the kernel may have dropped the unwritten pages,
   * and a second sync would report success.
   */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#options.onFailure(error)
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Throws while writes are rejected. */
  assertWritable(): void {
    if (this.#failure !== undefined)
      throw new DatabaseUnavailableError('The disk has failed.', { cause: this.#failure })
    if (this.#isOverdue) throw new DatabaseUnavailableError('The disk does not respond.')
  }

  /** Resolves to false if a sync is overdue. */
  async close(): Promise<boolean> {
    if (this.#isOverdue) return false
    await this.#next?.catch(() => {})
    await this.#running?.catch(() => {})
    const descriptor = await this.#descriptor?.catch(() => undefined)
    if (descriptor !== undefined) await closeFile(descriptor)
    return true
  }

  async #sync(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    const onDone = this.#options.onBegin()
    const timer = setTimeout(() => this.#setOverdue(true), this.#options.syncMaxMs)
    try {
      this.#descriptor ??= this.#open()
      await syncData(await this.#descriptor)
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
    this.#options.onOverdue(isOverdue)
  }

  /** SQLite syncs the folder only with its first sync of the log, so the name of the file may not be durable yet. */
  async #open(): Promise<number> {
    const descriptor = await openFile(this.#file, 'r')
    const folder = await openFile(dirname(this.#file), 'r')
    try {
      await syncAll(folder)
    } catch (error) {
      if (!isSyncUnsupported(error)) throw error
    } finally {
      await closeFile(folder)
    }
    return descriptor
  }
}
