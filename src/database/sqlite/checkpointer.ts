import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** From this size on the log is moved into the store. */
export const logBytesUsual = 4 * 1024 * 1024
/** Looking at the size of the log costs a little; a commit adds a little. */
const commitsPerLook = 32
/** A thread that waits for the disk cannot be stopped before the disk responds. */
const stopMaxMs = 1_000

/**
 * Moves SQLite's log into its store from a thread of its own, since that waits for the disk. All checkpoints of a server
 * are made by this one thread, which makes no more after one has failed. It is started when there is something to do for
 * the first time: many stores never get there.
 */
export class Checkpointer {
  readonly #databaseFile: string
  readonly #onFailure: (error: unknown) => void
  #commits = 0
  #worker: Worker | undefined
  #isStopped = false

  constructor(databaseFile: string, onFailure: (error: unknown) => void) {
    this.#databaseFile = databaseFile
    this.#onFailure = onFailure
  }

  noteCommit(): void {
    if (this.#worker || ++this.#commits % commitsPerLook !== 0) return
    if (logBytes(this.#databaseFile) >= logBytesUsual) this.#start()
  }

  /** Empties the log as soon as no transaction reads from it any more. */
  truncate(): void {
    this.#start()?.postMessage('truncate')
  }

  /** Returns false where the thread cannot be stopped within the bound. */
  async stop(): Promise<boolean> {
    this.#isStopped = true
    if (!this.#worker) return true
    const stopped = this.#worker.terminate().then(() => true)
    return Promise.race([stopped, pause(stopMaxMs, false, { ref: false })])
  }

  #start(): Worker | undefined {
    if (this.#isStopped) return undefined
    if (this.#worker) return this.#worker
    this.#worker = new Worker(new URL('./checkpointerThread.js', import.meta.url), {
      workerData: { file: this.#databaseFile, logBytesUsual },
      resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 },
    })
    this.#worker.on('message', (message: string) => this.#onFailure(new Error(message)))
    // Without checkpoints the log would grow until the disk is full.
    this.#worker.on('error', (error) => this.#onFailure(error))
    this.#worker.unref()
    return this.#worker
  }
}

function logBytes(databaseFile: string): number {
  try {
    return statSync(`${databaseFile}-wal`).size
  } catch {
    // A file that cannot be looked at cannot be synced either, and that is where it is reported.
    return 0
  }
}
