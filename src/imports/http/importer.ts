import { randomUUID } from 'node:crypto'
import { DatabaseUnavailableError } from '../../database/database.ts'
import { Rounds, type RoundsOptions } from '../../database/rounds.ts'
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

/** Applies imports in batches, and erases those that have expired. */
export class Importer extends Rounds<RoundsOptions & typeof defaultImporterBounds> {
  readonly #worker: Worker = { name: randomUUID(), claimMs: this.options.importClaimMs }

  protected async runRound(): Promise<void> {
    const { signal } = this
    await this.#erase()
    // Read before writing, because there is usually nothing to do.
    const found = signal.aborted ? undefined : await findApplying(this.options.database.read)
    while (found && !signal.aborted && (await this.#applyBatch(found.id))) {
      // There may be more.
    }
  }

  async #applyBatch(id: string): Promise<boolean> {
    const { database, clock, onFault } = this.options
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
    await this.pause(Math.min(ratio * (performance.now() - startedAt), pauseMaxMs))
    return isContinued
  }

  async #erase(): Promise<void> {
    const { signal } = this
    const { database, clock } = this.options
    if (signal.aborted || !(await hasErasable(database.read, clock()))) return
    while (!signal.aborted && (await database.writeUnlogged((trx) => eraseSome(trx, clock()))) > 0) {
      // There may be more.
    }
    database.truncateWal()
  }
}
