import type { MaybePromise } from '../maybePromise.ts'

const batchMax = 1_000

type Pending<Q, R> = PromiseWithResolvers<R> & { readonly request: Q }

/**
 * Runs one batch per key at a time. Requests that arrive while a batch of their key runs form the next batch, so the
 * number of round trips does not grow with the number of requests.
 */
export class KeyedBatcher<Q, R> {
  readonly #run: (batch: readonly Q[]) => Promise<readonly MaybePromise<R>[]>
  /** The requests that wait for the running batch of their key. */
  readonly #queues = new Map<string, Pending<Q, R>[]>()

  /** `run` returns one result for each request, in the same order. */
  constructor(run: (batch: readonly Q[]) => Promise<readonly MaybePromise<R>[]>) {
    this.#run = run
  }

  add(key: string, request: Q): Promise<R> {
    const pending = { ...Promise.withResolvers<R>(), request }
    const queue = this.#queues.get(key)
    if (queue) queue.push(pending)
    else void this.#runAll(key, pending)
    return pending.promise
  }

  async #runAll(key: string, first: Pending<Q, R>): Promise<void> {
    const queue: Pending<Q, R>[] = []
    this.#queues.set(key, queue)
    for (let batch = [first]; batch.length > 0; batch = queue.splice(0, batchMax)) {
      try {
        const results = await this.#run(batch.map(({ request }) => request))
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as MaybePromise<R>)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#queues.delete(key)
  }
}
