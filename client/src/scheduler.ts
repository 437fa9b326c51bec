import { abortable } from './abort.ts'
import type { Clock } from './clock.ts'
import { type PetstoreError, RateLimitError } from './errors.ts'
import { Slots } from './slots.ts'

/** The rate limit after the last response. */
export type RateLimit = {
  /** Requests that the window allows. Of the two windows, it is the one with fewer requests left. */
  readonly limit: number
  /** Requests left in the window. */
  readonly remaining: number
  /** When the window ends, by the clock of the service. */
  readonly resetsAt: Date
}

export type SchedulerOptions = {
  readonly maxConcurrent: number
  readonly maxWaitMs: number
  readonly throttle: boolean
}

/** The requests left in a rate limit window, and the time at which it has certainly ended. */
type Window = { left: number; endsAt: number }

/** Passes the headers of a response that counts for this key to `observe`. */
type Send<T> = (observe: (headers: Headers) => void) => Promise<T>

/**
 * Decides when an attempt is sent. It bounds the requests in flight, and it sends nothing while the service has asked this
 * client to wait. With `throttle` it also sends no more than what is left of the rate limit.
 */
export class RequestScheduler {
  readonly #options: SchedulerOptions
  readonly #clock: Clock
  /** Sends `GET /limits`. Its headers reach `observe`. */
  readonly #readLimits: () => Promise<void>
  rateLimit: RateLimit | undefined
  readonly #slots: Slots
  readonly #exemptSlots: Slots
  #pausedUntil = Number.NEGATIVE_INFINITY
  #pauseError: PetstoreError | undefined
  /** Attempts that wait for a response. `left` may or may not include them. */
  #inFlight = 0
  readonly #windows = new Map<string, Window>()
  #reading: Promise<void> | undefined
  /** Attempts that wait for the response to another one. */
  readonly #waiting: (() => void)[] = []

  constructor(options: SchedulerOptions, clock: Clock, readLimits: () => Promise<void>) {
    this.#options = options
    this.#clock = clock
    this.#readLimits = readLimits
    this.#slots = new Slots(options.maxConcurrent)
    this.#exemptSlots = new Slots(options.maxConcurrent)
  }

  /** Runs an attempt when it may be sent. */
  run<T>(signal: AbortSignal | undefined, send: Send<T>): Promise<T> {
    return this.#slots.run(signal, async () => {
      await this.#untilReady(signal)
      let isObserved = false
      try {
        return await send((headers) => {
          isObserved = true
          this.observe(headers)
        })
      } finally {
        this.#inFlight--
        // Without the headers it must be assumed that the request has been counted.
        if (!isObserved) for (const window of this.#windows.values()) window.left--
        this.#wakeNext()
      }
    })
  }

  /** Runs an attempt that the rate limit does not count. It waits for no pause and no counted attempt. */
  runExempt<T>(signal: AbortSignal | undefined, send: Send<T>): Promise<T> {
    return this.#exemptSlots.run(signal, () => send((headers) => this.observe(headers)))
  }

  /** Sends nothing for `delayMs`, which is `namedMs`, the time that the service named, and a random time. */
  pause(namedMs: number, delayMs: number, error: PetstoreError): void {
    const now = this.#clock.now()
    // One random time for all requests that are rejected together. With one for each request, the largest would count, and
    // it is nearly the same in every process.
    if (now + namedMs <= this.#pausedUntil) return
    this.#pausedUntil = now + delayMs
    this.#pauseError = error
  }

  observe(headers: Headers): void {
    const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
      Number(headers.get(`x-ratelimit-${name}`)),
    ) as [number, number, number]
    if (reset > 0) this.rateLimit = { limit, remaining, resetsAt: new Date(reset * 1000) }
    const now = this.#clock.now()
    for (const { name, left, endsInMs } of rateLimitWindows(headers)) {
      const known = this.#windows.get(name)
      const endsAt = now + endsInMs
      // Responses can arrive out of order. Within a window the smallest value is the latest.
      if (known && known.endsAt > now) {
        known.left = Math.min(known.left, left)
        known.endsAt = Math.min(known.endsAt, endsAt)
      } else this.#windows.set(name, { left, endsAt })
    }
  }

  async #untilReady(signal: AbortSignal | undefined): Promise<void> {
    for (let wait = this.#check(signal); wait; wait = this.#check(signal)) await wait
    // Synchronously after the last check, so that no other attempt is sent in between.
    this.#inFlight++
  }

  /** What an attempt must wait for before it is checked again. */
  #check(signal: AbortSignal | undefined): Promise<void> | undefined {
    const now = this.#clock.now()
    if (this.#pausedUntil > now) return this.#wait(this.#pausedUntil - now, signal, this.#pauseError)
    if (!this.#options.throttle) return undefined
    const windows = [...this.#windows.values()]
    if (windows.length === 0 || windows.some(({ endsAt }) => endsAt <= now)) {
      this.#reading ??= this.#readWindows()
      const reading = this.#reading
      return abortable<void>(signal, (resolve) => void reading.then(resolve))
    }
    const full = windows.filter(({ left }) => left <= this.#inFlight)
    if (full.length === 0) return undefined
    if (this.#inFlight > 0) return abortable<void>(signal, (resolve) => this.#waiting.push(resolve))
    return this.#wait(Math.max(...full.map(({ endsAt }) => endsAt)) - now, signal)
  }

  /** Wakes as many as can be sent now, or all if they have to wait for something else. */
  #wakeNext(): void {
    const now = this.#clock.now()
    const windows = [...this.#windows.values()]
    const waitForResponse = this.#inFlight > 0 && windows.every(({ endsAt }) => endsAt > now)
    const left = Math.min(...windows.map((window) => window.left))
    const count = waitForResponse ? Math.max(left - this.#inFlight, 0) : this.#waiting.length
    for (const wake of this.#waiting.splice(0, count)) wake()
  }

  async #readWindows(): Promise<void> {
    this.#windows.clear()
    await this.#readLimits().catch(() => {})
    this.#reading = undefined
    // If the limits cannot be read, one request is sent at a time: its response has them.
    if (this.#windows.size === 0)
      this.#windows.set('unknown', { left: this.#inFlight + 1, endsAt: this.#clock.now() + 1000 })
  }

  #wait(ms: number, signal: AbortSignal | undefined, cause?: PetstoreError): Promise<void> {
    if (ms > this.#options.maxWaitMs) throw waitTooLong(ms, cause)
    return this.#clock.sleep(ms, signal)
  }
}

/** The windows in the header `RateLimit`. */
export const rateLimitWindows = (headers: Headers) =>
  [...(headers.get('ratelimit') ?? '').matchAll(/"(\w+)";r=(\d+);t=(\d+)/g)].map(([, name = '', r, t]) => ({
    name,
    left: Number(r),
    endsInMs: Math.max(Number(t), 1) * 1000,
  }))

const waitTooLong = (retryAfterMs: number, cause: PetstoreError | undefined) =>
  new RateLimitError(
    cause?.code ?? 'rate_limit_exceeded',
    `${cause?.code === 'key_banned' ? 'The API key is banned' : 'The rate limit leaves no requests'} for ${Math.ceil(retryAfterMs / 1000)} seconds. Nothing was sent.`,
    { status: cause?.status, retryAfterMs, cause },
  )
