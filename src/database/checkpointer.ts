import { statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** From this size on the log is moved into the store. */
export const logBytesUsual = 4 * 1024 * 1024
/** Looking at the size of the log costs a little; a commit adds a little. */
const commitsPerLook = 32

/**
 * Moves SQLite's log into its store from a thread of its own, for that waits for the disk. The thread begins when there
 * is something to do for the first time: many stores never get there.
 */
export class Checkpointer {
  readonly #databaseFile: string
  #commits = 0
  #worker: Worker | undefined

  constructor(databaseFile: string) {
    this.#databaseFile = databaseFile
  }

  noteCommit(): void {
    if (this.#worker || ++this.#commits % commitsPerLook !== 0) return
    if (logBytes(this.#databaseFile) < logBytesUsual) return
    this.#worker = new Worker(new URL('./checkpointerThread.js', import.meta.url), {
      workerData: { file: this.#databaseFile, logBytesUsual },
      resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 },
    })
    this.#worker.unref()
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate()
  }
}

const logBytes = (databaseFile: string): number =>
  statSync(`${databaseFile}-wal`, { throwIfNoEntry: false })?.size ?? 0
