import { DatabaseUnavailableError } from '../database.ts'

const waitingMax = 10_000
/** A write that waits for longer is rejected. */
export const waitMaxMs = 10_000

/** Bounds the number of transactions that run at the same time. The others wait in order. */
export class TransactionSlots {
  #free: number
  readonly #waiting: { readonly addedAt: number; start(): void; reject(error: Error): void }[] = []

  constructor(slots: number) {
    this.#free = slots
  }

  get waiting(): number {
    return this.#waiting.length
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#acquire()
    try {
      return await work()
    } finally {
      this.#release()
    }
  }

  #acquire(): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--
      return undefined
    }
    if (this.#waiting.length >= waitingMax) throw new DatabaseUnavailableError('Too many writes are waiting.')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ addedAt: performance.now(), start: resolve, reject })
    return promise
  }

  #release(): void {
    for (;;) {
      const next = this.#waiting.shift()
      if (!next) {
        this.#free++
        return
      }
      if (performance.now() - next.addedAt <= waitMaxMs) {
        next.start()
        return
      }
      next.reject(new DatabaseUnavailableError('The change waited too long for a connection.'))
    }
  }
}
