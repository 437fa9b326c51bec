import { close, closeSync, fdatasync, fsyncSync, open, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

const openFile = promisify(open)
const closeFile = promisify(close)
const syncFile = promisify(fdatasync)

/**
 * Brings what was committed to the disk without holding the event loop. SQLite has written it to its log (-wal) by then;
 * what makes a commit survive a loss of power is that the log is synced, and that can be done from another thread. One
 * sync serves all commits before it; those that come while it runs share the next.
 */
export class WalSync {
  readonly #file: string
  #descriptor: Promise<number> | undefined
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #failure: unknown

  constructor(databaseFile: string) {
    this.#file = `${databaseFile}-wal`
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

  /** What a disk that failed to sync has lost nobody can say; from then on it is trusted with nothing more. */
  get failure(): unknown {
    return this.#failure
  }

  async close(): Promise<void> {
    await this.#next?.catch(() => {})
    await this.#running?.catch(() => {})
    const descriptor = await this.#descriptor?.catch(() => undefined)
    if (descriptor !== undefined) await closeFile(descriptor)
  }

  async #sync(): Promise<void> {
    if (this.#failure) throw this.#failure
    this.#descriptor ??= this.#open()
    try {
      await syncFile(await this.#descriptor)
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  /** SQLite leaves a log that it has not synced itself without a durable name in its folder. */
  async #open(): Promise<number> {
    const descriptor = await openFile(this.#file, 'r')
    const folder = openSync(dirname(this.#file), 'r')
    fsyncSync(folder)
    closeSync(folder)
    return descriptor
  }
}
