/** Requests wait for the start to finish: before that, a valid key may not be in the database yet. */
export class Startup {
  readonly #finished = Promise.withResolvers<void>()
  state: 'starting' | 'started' | 'stopping' = 'starting'

  wait(): Promise<void> | undefined {
    return this.state === 'starting' ? this.#finished.promise : undefined
  }

  finish(): void {
    this.state = 'started'
    this.#finished.resolve()
  }

  fail(error: Error): void {
    // A start can fail without any request waiting for it.
    this.#finished.promise.catch(() => {})
    this.#finished.reject(error)
  }

  stop(): void {
    this.state = 'stopping'
  }
}
