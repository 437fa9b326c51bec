/**
 * Runs a limited number of items in a turn of the event loop. Further ones wait for the next turns, in order. Without the
 * limit, libuv reads from busy connections up to 48 times in a turn, and immediates and timers wait for seconds.
 */
export class Turns<T> {
  readonly #run: (item: T) => void
  readonly #perTurnMax: number
  readonly #waiting: T[] = []
  #left: number
  #isScheduled = false

  constructor(run: (item: T) => void, perTurnMax: number) {
    this.#run = run
    this.#perTurnMax = perTurnMax
    this.#left = perTurnMax
  }

  add(item: T): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(this.#startTurn)
    }
    if (this.#left === 0) return void this.#waiting.push(item)
    this.#left--
    this.#run(item)
  }

  readonly #startTurn = (): void => {
    // What is added now waits behind the others.
    this.#left = 0
    const taken = this.#waiting.splice(0, this.#perTurnMax)
    for (const item of taken) this.#run(item)
    this.#isScheduled = this.#waiting.length > 0
    if (this.#isScheduled) setImmediate(this.#startTurn)
    else this.#left = this.#perTurnMax - taken.length
  }
}
