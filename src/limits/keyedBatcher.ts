import { setImmediate as nextIteration } from 'node:timers/promises'
import type { MaybePromise } from '../maybePromise.ts'

const batchMax = 1_000
/** Batches of one key that run at the same time. More would be smaller, and cost the database more. */
const batchesMax = 2

type Pending<Q, R> = PromiseWithResolvers<R> & { readonly request: Q }
type Queue<Q, R> = { readonly waiting: Pending<Q, R>[]; running: number }

/**
 * Runs a few batches per key at a time. Requests that arrive while the batches of their key run form the next one, so the
 * number of round trips does not grow with the number of requests.
 */
export class KeyedBatcher<Q, R> {
  readonly #run: (batch: readonly Q[]) => Promise<readonly MaybePromise<R>[]>
  /** By key, while batches of the key run. */
  readonly #queues = new Map<string, Queue<Q, R>>()

  /** `run` returns one result for each request, in the same order. */
  constructor(run: (batch: readonly Q[]) => Promise<readonly MaybePromise<R>[]>) {
    this.#run = run
  }

  add(key: string, request: Q): Promise<R> {
    const pending = { ...Promise.withResolvers<R>(), request }
    const queue = this.#queues.get(key) ?? { waiting: [], running: 0 }
    this.#queues.set(key, queue)
    queue.waiting.push(pending)
    // The first of the waiting requests starts a batch. The others of this iteration of the event loop join it.
    if (queue.waiting.length === 1 && queue.running < batchesMax) void this.#runAll(key, queue)
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
