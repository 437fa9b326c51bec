import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { workerUrl } from '../../assets.ts'

/** A log of this size is checkpointed. */
export const checkpointBytes = 4 * 1024 * 1024
/** The size of the log is checked after this many commits. */
const commitsPerCheck = 32
/** A thread that waits for the disk stops only when the disk responds. */
const stopMaxMs = 1_000

/**
 * Runs all checkpoints of a server in a worker thread, because they wait for the disk. There are no more checkpoints after
 * one has failed. The thread starts with the first checkpoint, which many databases never need.
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

  countCommit(): void {
    if (this.#worker || ++this.#commits % commitsPerCheck !== 0) return
    if (walBytes(this.#databaseFile) >= checkpointBytes) this.#start()
  }

  /** Truncates the log as soon as no transaction reads from it. */
  truncate(): void {
    this.#start()?.postMessage('truncate')
  }

  /** Resolves to false if the thread does not stop in time. */
  async stop(): Promise<boolean> {
    this.#isStopped = true
    if (!this.#worker) return true
    const stopped = this.#worker.terminate().then(() => true)
    return Promise.race([stopped, sleep(stopMaxMs, false, { ref: false })])
  }

  #start(): Worker | undefined {
    if (this.#isStopped) return undefined
    if (this.#worker) return this.#worker
    this.#worker = new Worker(workerUrl('./database/sqlite/checkpointerThread.js'), {
      workerData: { file: this.#databaseFile, checkpointBytes },
      resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 },
    })
    this.#worker.on('message', (message: string) => this.#onFailure(new Error(message)))
    // Without checkpoints the log grows until the disk is full.
    this.#worker.on('error', (error) => this.#onFailure(error))
    this.#worker.unref()
    return this.#worker
  }
}

function walBytes(databaseFile: string): number {
  try {
    return statSync(`${databaseFile}-wal`).size
  } catch {
    // The sync of the same file reports the error.
    return 0
  }
}
