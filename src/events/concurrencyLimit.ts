/** Runs at most `max` tasks at the same time. Others wait in order. */
export class ConcurrencyLimit {
  readonly #max: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(max: number) {
    this.#max = max
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    while (this.#running >= this.#max) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#running++
    try {
      return await task()
    } finally {
      this.#running--
      this.#waiting.shift()?.()
    }
  }
}
