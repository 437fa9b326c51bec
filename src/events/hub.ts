/**
 * Wakes those who wait for something new: a commit here, a commit by another process, a change of keys.
 * It carries no data; whoever wakes looks for himself, so nothing can be missed or buffered.
 */
export class Hub {
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  wake(): void {
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

  /** Settles at the next wake, or when the time is up. */
  wait(ms: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
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
