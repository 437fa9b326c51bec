import { setTimeout as sleep } from 'node:timers/promises'
import type { MaybePromise } from '../maybePromise.ts'

type RetryOptions = {
  readonly waitMaxMs: number
  readonly attemptsMax?: number
  /** The pause before the next attempt. */
  readonly retryMs: number | (() => number)
  isRetryable(error: unknown): boolean
}

/** Repeats the work while it fails with a retryable error. After the time limit the last error is thrown. */
export async function withRetry<T>(work: () => MaybePromise<T>, options: RetryOptions): Promise<T> {
  const deadline = performance.now() + options.waitMaxMs
  const { retryMs, attemptsMax = Number.POSITIVE_INFINITY } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const isLast = attempt === attemptsMax || performance.now() > deadline
      if (isLast || !options.isRetryable(error)) throw error
      await sleep(typeof retryMs === 'number' ? retryMs : retryMs())
    }
  }
}
