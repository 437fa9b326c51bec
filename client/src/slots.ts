import { abortable } from './abort.ts'

/** Bounds the number of concurrent tasks. Others wait in order. */
export class Slots {
  readonly #max: number
  #used = 0
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.#max = max
  }

  async run<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted()
    if (this.#used < this.#max) this.#used++
    else await this.#waitForSlot(signal)
    try {
      return await task()
    } finally {
      this.#release()
    }
  }

  #waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    let take = () => {}
    return abortable<void>(signal, (resolve) => {
      take = resolve
      this.#waiting.push(take)
    }).catch((error: unknown) => {
      const index = this.#waiting.indexOf(take)
      // Not in the queue: it has got the slot already.
      if (index === -1) this.#release()
      else this.#waiting.splice(index, 1)
      throw error
    })
  }

  /** Gives the slot to the next task in the queue, if any. */
  #release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#used--
  }
}
