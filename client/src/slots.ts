import { abortable } from './clock.ts'

/** Bounds the tasks at the same time. Others wait in order. */
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
    else await this.#nextTurn(signal)
    try {
      return await task()
    } finally {
      this.#release()
    }
  }

  #nextTurn(signal: AbortSignal | undefined): Promise<void> {
    let turn = () => {}
    return abortable<void>(signal, (resolve) => {
      turn = resolve
      this.#waiting.push(turn)
    }).catch((error: unknown) => {
      const index = this.#waiting.indexOf(turn)
      // Not in the queue: the slot was handed over at the same time.
      if (index === -1) this.#release()
      else this.#waiting.splice(index, 1)
      throw error
    })
  }

  /** The next in the queue takes over the slot. */
  #release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#used--
  }
}
