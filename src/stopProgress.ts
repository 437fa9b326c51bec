/** Remembers what a stop waits for, so that a stop that takes too long can name it. */
export class StopProgress {
  #step = 'the first step'

  /** What the stop waits for at this time. */
  get step(): string {
    return this.#step
  }

  async wait<T>(step: string, work: Promise<T>): Promise<T> {
    this.#step = step
    return await work
  }
}

/** The stop took too long. The message names what it waited for. */
export class StopTimeoutError extends Error {}
