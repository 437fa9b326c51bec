/**
 * Wakes those who wait for something new: a commit here, a commit by another process, a change of keys.
 * It carries no data; whoever wakes looks for himself, so nothing can be missed or buffered.
 */
export class Hub {
  readonly #waiting = new Set<() => void>()
  #wakes = 0
  #isClosed = false

  wake(): void {
    this.#wakes++
    for (const wake of [...this.#waiting]) wake()
  }

  /** Ends every wait, for good. */
  close(): void {
    this.#isClosed = true
    this.wake()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** How often it has woken anybody: asked before a look, so that a wake during the look is not missed. */
  get wakes(): number {
    return this.#wakes
  }

  /** Settles at the first wake after so many, or when the time is up. */
  wait(wakesBefore: number, ms: number): Promise<void> {
    if (this.#isClosed || this.#wakes !== wakesBefore) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#waiting.add(done)
    })
  }
}
