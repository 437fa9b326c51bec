import { setImmediate as nextIteration } from 'node:timers/promises'
import { DatabaseUnavailableError } from '../database/database.ts'
import type { MaybePromise } from '../maybePromise.ts'

const batchMax = 1_000
const waitingMax = 10_000

type Pending<Q, R> = PromiseWithResolvers<R> & { readonly request: Q }
type Queue<Q, R> = { readonly waiting: Pending<Q, R>[]; running: number }

/**
 * Runs a few batches per key at a time. Requests that arrive while the batches of their key run form the next one, so the
 * number of round trips does not grow with the number of requests.
 */
export class KeyedBatcher<Q, R> {
  readonly #run: (batch: readonly Q[]) => Promise<readonly MaybePromise<R>[]>
  readonly #batchesMax: number
  /** By key, while batches of the key run. */
  readonly #queues = new Map<string, Queue<Q, R>>()

  /**
   * `run` returns one result for each request, in the same order. At most `batchesMax` batches of one key run at
   * the same time. With more of them, batches would be smaller and the database would do more work.
   */
  constructor(run: (batch: readonly Q[]) => Promise<readonly MaybePromise<R>[]>, batchesMax: number) {
    this.#run = run
    this.#batchesMax = batchesMax
  }

  add(key: string, request: Q): Promise<R> {
    const pending = { ...Promise.withResolvers<R>(), request }
    const queue = this.#queues.get(key) ?? { waiting: [], running: 0 }
    this.#queues.set(key, queue)
    if (queue.waiting.length >= waitingMax)
      return Promise.reject(new DatabaseUnavailableError('Too many requests are waiting.'))
    queue.waiting.push(pending)
    // The first of the waiting requests starts a batch. The others of this iteration of the event loop join it.
    if (queue.waiting.length === 1 && queue.running < this.#batchesMax) void this.#runAll(key, queue)
    return pending.promise
  }

  async #runAll(key: string, queue: Queue<Q, R>): Promise<void> {
    queue.running++
    await nextIteration()
    while (queue.waiting.length > 0) {
      const batch = queue.waiting.splice(0, batchMax)
      try {
        const results = await this.#run(batch.map(({ request }) => request))
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as MaybePromise<R>)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queue.running--
    if (queue.running === 0) this.#queues.delete(key)
  }
}
