/**
 * Work that never runs twice at the same time. A call during a run does not join it, because the run may have started
 * before what the caller needs it to see: all such calls share the next run. So one run at most waits, and a call waits
 * for two at most.
 */
export class SharedRun<T> {
  readonly #work: () => Promise<T>
  /** Never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  #next: Promise<T> | undefined

  constructor(work: () => Promise<T>) {
    this.#work = work
  }

  run(): Promise<T> {
    this.#next ??= this.#startNext()
    return this.#next
  }

  /** Resolves when the runs that were requested before the call have ended. */
  async ended(): Promise<void> {
    await this.#next?.catch(() => {})
    await this.#last
  }

  async #startNext(): Promise<T> {
    await this.#last
    this.#next = undefined
    const running = this.#work()
    this.#last = running.catch(() => {})
    return running
  }
}
