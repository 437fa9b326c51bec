import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { type Database, DatabaseUnavailableError } from '../../database/database.ts'
import { SharedRun } from '../../database/sharedRun.ts'
import { ConflictError } from '../../records/resource.ts'
import { applyNextBatch, splitOrSkipBatch, type Worker } from './apply.ts'
import { eraseSome, findApplying, hasErasable } from './queries.ts'

/** How long the importer pauses after a batch, in multiples of its duration: longer while other writes wait. */
const pauseRatio = 1
const waitedPauseRatio = 9
const pauseMaxMs = 1_000

export const defaultImporterBounds = {
  /** Another instance continues an import whose instance was silent for this long. */
  importClaimMs: 10_000,
}

type ImporterOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly importClaimMs: number
  onFault(error: unknown): void
}

/** Applies imports in batches, and erases those that have expired. */
export class Importer {
  readonly #options: ImporterOptions
  readonly #worker: Worker
  readonly #stopping = new AbortController()
  readonly #rounds = new SharedRun(() => this.#runRound())

  constructor(options: ImporterOptions) {
    this.#options = options
    this.#worker = { name: randomUUID(), claimMs: options.importClaimMs }
  }

  /** Starts a round. Calls during a round cause one more round. */
  wake(): void {
    if (!this.#stopping.signal.aborted) void this.#rounds.run()
  }

  /** The next start, or another instance, continues. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#rounds.ended()
  }

  async #runRound(): Promise<void> {
    const { database, onFault } = this.#options
    const { signal } = this.#stopping
    try {
      await this.#erase()
      // Read before writing, because there is usually nothing to do.
      const found = signal.aborted ? undefined : await findApplying(database.read)
      while (found && !signal.aborted && (await this.#applyBatch(found.id))) {
        // There may be more.
      }
    } catch (error) {
      onFault(error)
    }
  }

  async #applyBatch(id: string): Promise<boolean> {
    const { database, clock, onFault } = this.#options
    const startedAt = performance.now()
    const isContinued = await database
      .write((trx) => applyNextBatch(trx, id, this.#worker, clock()))
      .catch((error: unknown) => {
        // The next round tries again.
        if (error instanceof DatabaseUnavailableError) throw error
        if (!(error instanceof ConflictError)) onFault(error)
        return database.write((trx) => splitOrSkipBatch(trx, id, this.#worker, error, clock()))
      })
    // After each batch, so that the next reader of the feed does not wait for all of them.
    await database.readableThrough()
    const ratio = database.stats().writesWaiting > 0 ? waitedPauseRatio : pauseRatio
    const pauseMs = Math.min(ratio * (performance.now() - startedAt), pauseMaxMs)
    await sleep(pauseMs, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => {})
    return isContinued
  }

  async #erase(): Promise<void> {
    const { database, clock } = this.#options
    const { signal } = this.#stopping
    if (signal.aborted || !(await hasErasable(database.read, clock()))) return
    while (!signal.aborted && (await database.writeUnlogged((trx) => eraseSome(trx, clock()))) > 0) {
      // There may be more.
    }
    database.truncateWal()
  }
}
