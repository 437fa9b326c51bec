import { setTimeout as sleep } from 'node:timers/promises'
import type { MaybePromise } from '../maybePromise.ts'

type RetryOptions = {
  readonly waitMaxMs: number
  readonly retryMs: number
  isRetryable(error: unknown): boolean
}

/** Repeats the work while it fails with a retryable error. After the time limit the last error is thrown. */
export async function withRetry<T>(work: () => MaybePromise<T>, options: RetryOptions): Promise<T> {
  const deadline = performance.now() + options.waitMaxMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!options.isRetryable(error) || performance.now() > deadline) throw error
      await sleep(options.retryMs)
    }
  }
}
