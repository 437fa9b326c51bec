import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import type { Trx } from '../database/db.ts'
import { SharedRun } from '../database/sharedRun.ts'
import { indexStep, needsIndexing } from './indexing.ts'
import { searchIndexOf } from './searchIndexes.ts'

/** Steps between two merges, while there is more to index. */
const stepsPerMerge = 4
/** After the last step. The commit of a merge wakes the indexer, so merges go on until there is nothing to merge. */
const mergesPerRound = 8
/** How long the indexer pauses after a write while others wait, in multiples of its duration. */
const pauseRatio = 9
const pauseMaxMs = 1_000

type IndexerOptions = {
  readonly database: Database
  /** Changes of this time are indexed together, so that single writes do not cause as many commits of the index. */
  readonly indexDelayMs: number
  onFault(error: unknown): void
}

/** Keeps the search index up to date, by the event log. */
export class ListingIndexer {
  readonly #options: IndexerOptions
  readonly #stopping = new AbortController()
  readonly #rounds = new SharedRun(() => this.#runRound())
  #steps = 0
  #mayMerge = false

  constructor(options: IndexerOptions) {
    this.#options = options
  }

  /** Starts a round that looks for changes. Calls during a round cause one more round. */
  wake(): void {
    if (!this.#stopping.signal.aborted) void this.#rounds.run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#rounds.ended()
  }

  async #runRound(): Promise<void> {
    const { database, indexDelayMs, onFault } = this.#options
    const { signal } = this.#stopping
    try {
      await sleep(indexDelayMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      const through = await database.readableThrough()
      // Read before writing: every commit wakes the indexer, so a write without need would never end.
      while (!signal.aborted && (await needsIndexing(database.read, through)))
        await this.#write(async (trx) => {
          await indexStep(trx, through)
          if (++this.#steps % stepsPerMerge === 0) await searchIndexOf(trx).merge?.(trx)
          this.#mayMerge = true
        })
      await this.#merge()
    } catch (error) {
      onFault(error)
    }
  }

  async #merge(): Promise<void> {
    const { database } = this.#options
    const index = searchIndexOf(database.read)
    if (!index.merge) return
    for (let merge = 0; merge < mergesPerRound && this.#mayMerge && !this.#stopping.signal.aborted; merge++)
      await this.#write(async (trx) => {
        this.#mayMerge = (await index.merge?.(trx)) ?? false
      })
  }

  /** While other writes wait, they get most of the time: creates would take a third longer otherwise. */
  async #write(work: (trx: Trx) => Promise<void>): Promise<void> {
    const { database } = this.#options
    const startedAt = performance.now()
    await database.write(work)
    if (database.stats().writesWaiting === 0) return
    const pauseMs = Math.min(pauseRatio * (performance.now() - startedAt), pauseMaxMs)
    await sleep(pauseMs, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => {})
  }
}
