/** Limits the rest of a request whose time passed while reading was paused: Node reports that only once for each request. */
export class RestTimer {
  readonly #ms: number
  readonly #completeCount: () => number
  /** How many requests were complete when the time passed. */
  readonly #countAtTimeout: number
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number, completeCount: () => number) {
    this.#ms = ms
    this.#completeCount = completeCount
    this.#countAtTimeout = completeCount()
  }

  /** Called when reading has resumed. It has no effect while the timer runs, or after it has run. */
  start(onTimeout: () => void): void {
    this.#timer ??= setTimeout(() => {
      if (this.#completeCount() === this.#countAtTimeout) onTimeout()
    }, this.#ms)
  }

  /** Called when reading is paused again. */
  clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
