import { setImmediate as nextIteration } from 'node:timers/promises'
import type { MaybePromise } from '../maybePromise.ts'
import { DatabaseUnavailableError } from './database.ts'

const defaultBounds = {
  /** Requests in one batch. */
  batchMax: 256,
  /** Batches of one key that run at the same time. With more, they would be smaller and the database would do more work. */
  batchesMax: 4,
  /** Requests of all keys that wait. */
  waitingMax: 10_000,
  /** A request that waits for longer is rejected. */
  waitMaxMs: 10_000,
}

type Waiting<Q, R> = PromiseWithResolvers<R> & { readonly request: Q; readonly addedAt: number }
type Queue<Q, R> = { readonly waiting: Waiting<Q, R>[]; running: number; isCollecting: boolean }

/**
 * Runs requests in batches, so that the number of round trips does not grow with the number of requests. Requests that
 * arrive while the batches of their key run form the next one.
 */
export class Batcher<Q, R> {
  readonly #run: (requests: readonly Q[]) => Promise<readonly MaybePromise<R>[]>
  readonly #bounds: Readonly<typeof defaultBounds>
  /** By key, while requests of the key wait or run. */
  readonly #queues = new Map<string, Queue<Q, R>>()
  waiting = 0

  /** `run` returns one result for each request, in the same order. */
  constructor(
    run: (requests: readonly Q[]) => Promise<readonly MaybePromise<R>[]>,
    bounds: Partial<typeof defaultBounds> = {},
  ) {
    this.#run = run
    this.#bounds = { ...defaultBounds, ...bounds }
  }

  /** All requests of a batch have the same key. */
  add(request: Q, key = ''): Promise<R> {
    if (this.waiting >= this.#bounds.waitingMax)
      return Promise.reject(new DatabaseUnavailableError('Too many requests are waiting.'))
    const queue = this.#queues.get(key) ?? { waiting: [], running: 0, isCollecting: false }
    this.#queues.set(key, queue)
    const waiting = { ...Promise.withResolvers<R>(), request, addedAt: performance.now() }
    queue.waiting.push(waiting)
    this.waiting++
    this.#start(key, queue)
    return waiting.promise
  }

  #start(key: string, queue: Queue<Q, R>): void {
    const isBusy = queue.isCollecting || queue.running >= this.#bounds.batchesMax
    if (!isBusy && queue.waiting.length > 0) void this.#runBatch(key, queue)
    else if (queue.running === 0) this.#queues.delete(key)
  }

  async #runBatch(key: string, queue: Queue<Q, R>): Promise<void> {
    queue.running++
    queue.isCollecting = true
    // Requests that have already arrived join this batch.
    await nextIteration()
    queue.isCollecting = false
    const taken = queue.waiting.splice(0, this.#bounds.batchMax)
    this.waiting -= taken.length
    const batch = taken.filter((one) => !this.#rejectExpired(one))
    this.#start(key, queue)
    try {
      const results = batch.length > 0 ? await this.#run(batch.map(({ request }) => request)) : []
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as MaybePromise<R>)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    queue.running--
    this.#start(key, queue)
  }

  #rejectExpired({ addedAt, reject }: Waiting<Q, R>): boolean {
    if (performance.now() - addedAt <= this.#bounds.waitMaxMs) return false
    reject(new DatabaseUnavailableError('The request waited too long for its batch.'))
    return true
  }
}
