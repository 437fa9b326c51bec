import { Rounds, type RoundsOptions } from '../database/rounds.ts'
import { indexStep, isLate, needsIndexing } from './indexing.ts'
import { searchIndexOf } from './searchIndexes.ts'

/** Steps between two merges, while there is more to index. */
const stepsPerMerge = 4
/** After the last step. The commit of a merge wakes the indexer, so merges go on until there is nothing to merge. */
const mergesPerRound = 8
/** How long the indexer pauses after a write while others wait, in multiples of its duration. */
const pauseRatio = 9
const pauseMaxMs = 500
/** Otherwise the index falls behind when many changes wait. */
const withPriority = { hasPriority: true }

type IndexerOptions = RoundsOptions & {
  /** Changes of this time are indexed together, so that single writes do not cause as many commits of the index. */
  readonly indexDelayMs: number
}

/** Keeps the search index up to date, by the event log. */
export class ListingIndexer extends Rounds<IndexerOptions> {
  #steps = 0
  #mayMerge = false
  /** When the first commit was made after the last read of the event log. */
  #committedAt: number | undefined
  #lastCommitAt = 0
  /** Approximately when the oldest change was made that the index lacks, of those before the last read of the event log. */
  #pendingSince: number | undefined

  /**
   * Approximately the age of the oldest change that is not indexed, at the time of the last commit. It grows during a step, which
   * takes long under load, but not while the database does not respond: then there are no commits.
   */
  get behindMs(): number {
    const since = this.#pendingSince ?? this.#committedAt
    return since === undefined ? 0 : this.#lastCommitAt - since
  }

  onCommit(): void {
    this.#lastCommitAt = this.options.clock()
    this.#committedAt ??= this.#lastCommitAt
    this.wake()
  }

  protected async runRound(): Promise<void> {
    const { signal } = this
    const { database, indexDelayMs } = this.options
    await this.pause(indexDelayMs)
    if (signal.aborted) return
    let through = await this.#readableThrough()
    // Read before writing: every commit wakes the indexer, so a write without need would never end.
    let isBehind = await needsIndexing(database.read, through)
    if (!isBehind) this.#pendingSince = undefined
    while (isBehind && !signal.aborted) {
      isBehind = await this.#step(through)
      // After each step: on PostgreSQL this gives changes their ids, and a search finds the oldest change by its id.
      if (isBehind) through = await this.#readableThrough()
    }
    await this.#merge()
  }

  async #readableThrough(): Promise<number> {
    this.#pendingSince ??= this.#committedAt
    this.#committedAt = undefined
    return this.options.database.readableThrough()
  }

  /** Returns whether there is more to index. */
  async #step(through: number): Promise<boolean> {
    const { database, clock } = this.options
    const startedAt = performance.now()
    const progress = await database.write(async (trx) => {
      const reached = await indexStep(trx, through, clock)
      // A late step adds more to merge.
      if (isLate(reached) || ++this.#steps % stepsPerMerge === 0) await searchIndexOf(trx).merge?.(trx)
      return reached
    }, withPriority)
    this.#mayMerge = true
    this.#pendingSince = progress.isCurrent ? undefined : progress.indexedUntil
    // A late index takes the time that it needs: otherwise it would never keep up with continuous changes.
    if (!isLate(progress)) await this.#pauseForOthers(startedAt)
    return !progress.isCurrent
  }

  async #merge(): Promise<void> {
    const { database } = this.options
    const { merge } = searchIndexOf(database.read)
    if (!merge) return
    for (let merges = 0; merges < mergesPerRound && this.#mayMerge && !this.signal.aborted; merges++) {
      const startedAt = performance.now()
      this.#mayMerge = await database.write((trx) => merge(trx), withPriority)
      await this.#pauseForOthers(startedAt)
    }
  }

  /** After a write. While other writes wait, they get most of the time: creates would take a third longer otherwise. */
  async #pauseForOthers(startedAt: number): Promise<void> {
    if (this.options.database.stats().writesWaiting === 0) return
    await this.pause(Math.min(pauseRatio * (performance.now() - startedAt), pauseMaxMs))
  }
}
