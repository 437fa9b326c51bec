import { abortable } from './abort.ts'

/** Time and randomness. Tests replace them. */
export type Clock = {
  /** Milliseconds, monotonic. */
  now(): number
  /** Rejects with the reason of the signal when it is aborted. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** From 0 to 1. */
  random(): number
  /** An event stream without data for this long is lost. The service sends something every 15 seconds. */
  readonly streamIdleTimeoutMs: number
}

/** A timer for longer than this would fire at once. */
export const timerMaxMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => performance.now(),
  async sleep(ms, signal) {
    for (let leftMs = ms; leftMs > 0; leftMs -= timerMaxMs) {
      let timer: ReturnType<typeof setTimeout> | undefined
      await abortable<void>(signal, (resolve) => {
        timer = setTimeout(resolve, Math.min(leftMs, timerMaxMs))
      }).finally(() => clearTimeout(timer))
    }
  },
  random: Math.random,
  streamIdleTimeoutMs: 40_000,
}

/** The time before the next attempt: exponential with full jitter. */
export const backoffMs = (clock: Clock, attempt: number, minMs: number, maxMs: number): number =>
  Math.min(minMs * 2 ** attempt, maxMs) * clock.random()

/**
 * A time that the service names, and up to a tenth of it or a second more, so that many clients with one key do not
 * resume together. Never shorter than the time of the service. What is added does not make it longer than `maxMs`.
 */
export const jitteredMs = (clock: Clock, ms: number, maxMs: number): number =>
  Math.max(ms, Math.min(ms + Math.max(ms / 10, 1000) * clock.random(), maxMs))
