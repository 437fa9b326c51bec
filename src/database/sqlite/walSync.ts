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
  /** Called when a sync begins; what it returns is called once everything committed before is on disk. */
  onBegin(): () => void
  /** Called when a sync becomes overdue, and with `false` when that sync has completed after all. */
  onOverdue(isOverdue: boolean): void
  /** Called once. */
  onFailure(error: unknown): void
}

/**
 * Brings what was committed to the disk without blocking the event loop. SQLite has written it to its log (-wal) by then;
 * what makes a commit survive a power loss is that the log is synced, and that can be done from another thread. One
 * sync serves all commits before it; those that come while it runs share the next.
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

  /** Settles when everything that was committed up to now is on disk. */
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
   * After a failed sync the kernel may have dropped what was to be written, and a second sync would report success.
   * So the first failure, here or in a checkpoint, is final for this process.
   */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#options.onFailure(error)
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Throws while nothing may be written. */
  assertWritable(): void {
    if (this.#failure !== undefined)
      throw new DatabaseUnavailableError('The disk has failed.', { cause: this.#failure })
    if (this.#isOverdue) throw new DatabaseUnavailableError('The disk does not respond.')
  }

  /** Returns false where a sync does not end. */
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

  /** SQLite does not sync the folder of a log that it has not synced itself, so the name may not be durable yet. */
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
