import { setImmediate as nextIteration } from 'node:timers/promises'
import { DatabaseUnavailableError } from './database.ts'

const batchMax = 256
const defaultWaitingMax = 10_000
const defaultBatchesMax = 4
/** A request that waits for longer is rejected. */
const waitMaxMs = 10_000

type BatcherOptions = {
  readonly waitingMax?: number
  /** Batches that run at the same time. Requests that arrive while they run form the next one. */
  readonly batchesMax?: number
}

type Waiting<Q, R> = PromiseWithResolvers<R> & { readonly request: Q; readonly addedAt: number }

/** Runs requests in batches, so that the number of round trips does not grow with the number of requests. */
export class Batcher<Q, R> {
  readonly #run: (requests: readonly Q[]) => Promise<readonly R[]>
  readonly #options: Required<BatcherOptions>
  readonly #waiting: Waiting<Q, R>[] = []
  #running = 0
  #isCollecting = false

  /** `run` returns one result for each request, in the same order. */
  constructor(
    run: (requests: readonly Q[]) => Promise<readonly R[]>,
    { waitingMax = defaultWaitingMax, batchesMax = defaultBatchesMax }: BatcherOptions = {},
  ) {
    this.#run = run
    this.#options = { waitingMax, batchesMax }
  }

  get waiting(): number {
    return this.#waiting.length
  }

  add(request: Q): Promise<R> {
    if (this.#waiting.length >= this.#options.waitingMax)
      return Promise.reject(new DatabaseUnavailableError('Too many requests are waiting.'))
    const waiting = { ...Promise.withResolvers<R>(), request, addedAt: performance.now() }
    this.#waiting.push(waiting)
    this.#start()
    return waiting.promise
  }

  #start(): void {
    const isBusy = this.#isCollecting || this.#running >= this.#options.batchesMax
    if (isBusy || this.#waiting.length === 0) return
    void this.#runBatch()
  }

  async #runBatch(): Promise<void> {
    this.#running++
    this.#isCollecting = true
    // Requests that have already arrived join this batch.
    await nextIteration()
    this.#isCollecting = false
    const batch = this.#waiting.splice(0, batchMax).filter((one) => !rejectExpired(one))
    this.#start()
    try {
      const results = batch.length > 0 ? await this.#run(batch.map(({ request }) => request)) : []
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as R)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#running--
    this.#start()
  }
}

function rejectExpired({ addedAt, reject }: Pick<Waiting<unknown, never>, 'addedAt' | 'reject'>): boolean {
  if (performance.now() - addedAt <= waitMaxMs) return false
  reject(new DatabaseUnavailableError('The request waited too long for its batch.'))
  return true
}
