/** Limits the rest of a request whose time passed while reading was paused: Node reports that only once. */
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

  /** Called when reading has resumed. */
  start(onTimeout: () => void): void {
    this.#timer ??= setTimeout(() => {
      if (this.#completeCount() === this.#countAtTimeout) onTimeout()
    }, this.#ms)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
