import type { RateLimiter } from '../limits/rateLimiter.ts'

/**
 * Holds API requests until the start is finished: before that a valid key may not be in the store yet, and would get
 * 401. The start has one write left by then, whose wait is bounded. If it fails, the requests fail too.
 */
export function createStartup() {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // A failed start without any request is not an unhandled rejection.
  promise.catch(() => {})
  let isFinished = false
  return {
    isFinished: () => isFinished,
    delayUntilStarted: (gate: RateLimiter): RateLimiter => ({
      ...gate,
      consume: (visitor) => (isFinished ? gate.consume(visitor) : promise.then(() => gate.consume(visitor))),
    }),
    finish() {
      isFinished = true
      resolve()
    },
    fail: (error: Error) => reject(error),
  }
}
