import { type Clock, until } from './clock.ts'
import { type PetstoreError, RateLimitError } from './errors.ts'

/** The rate limit after the last response. */
export type RateLimit = {
  /** Requests that the window allows. Of the two windows, it is the one with fewer requests left. */
  readonly limit: number
  /** Requests left in the window. */
  readonly remaining: number
  /** When the window ends, by the clock of the service. */
  readonly resetsAt: Date
}

export type GateOptions = {
  readonly maxConcurrent: number
  readonly maxWaitMs: number
  readonly throttle: boolean
}

/** What is left of a rate limit window, and when it has ended for certain. */
type Window = { left: number; endsAt: number }

/**
 * Every attempt passes the gate. It bounds the requests in flight, and it sends nothing while the service has asked this
 * client to wait. With `throttle` it also sends no more than what is left of the rate limit.
 */
export class Gate {
  readonly #options: GateOptions
  readonly #clock: Clock
  /** Sends `GET /limits`, which is free of charge. Its headers reach `observe`. */
  readonly #learn: () => Promise<void>
  rateLimit: RateLimit | undefined
  /** Attempts that have a slot. */
  #active = 0
  readonly #queue: (() => void)[] = []
  #pausedUntil = Number.NEGATIVE_INFINITY
  #pauseError: PetstoreError | undefined
  /** Attempts without a response so far. `left` may or may not include them. */
  #inFlight = 0
  readonly #windows = new Map<string, Window>()
  #learning: Promise<void> | undefined
  #onChange: (() => void)[] = []

  constructor(options: GateOptions, clock: Clock, learn: () => Promise<void>) {
    this.#options = options
    this.#clock = clock
    this.#learn = learn
  }

  /** Runs an attempt when it may be sent. It passes the headers of a response that counts for this key to `observe`. */
  async run<T>(
    signal: AbortSignal | undefined,
    send: (observe: (headers: Headers) => void) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted()
    if (this.#active < this.#options.maxConcurrent) this.#active++
    else await this.#nextTurn(signal)
    let isObserved = false
    try {
      await this.#untilReady(signal)
      try {
        return await send((headers) => {
          isObserved = true
          this.observe(headers)
        })
      } finally {
        this.#inFlight--
        // Without the headers it must be assumed that the request has been counted.
        if (!isObserved) for (const window of this.#windows.values()) window.left--
        for (const wake of this.#onChange.splice(0)) wake()
      }
    } finally {
      this.#release()
    }
  }

  /** Sends nothing for this time. */
  pause(ms: number, error: PetstoreError): void {
    const until = this.#clock.now() + ms
    if (until <= this.#pausedUntil) return
    this.#pausedUntil = until
    this.#pauseError = error
  }

  observe(headers: Headers): void {
    const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
      Number(headers.get(`x-ratelimit-${name}`)),
    ) as [number, number, number]
    if (reset > 0) this.rateLimit = { limit, remaining, resetsAt: new Date(reset * 1000) }
    const now = this.#clock.now()
    for (const [, name = '', r, t] of (headers.get('ratelimit') ?? '').matchAll(/"(\w+)";r=(\d+);t=(\d+)/g)) {
      const known = this.#windows.get(name)
      const left = Number(r)
      const endsAt = now + Math.max(Number(t), 1) * 1000
      // Responses can arrive out of order. Within a window the smallest value is the latest.
      if (known && known.endsAt > now) {
        known.left = Math.min(known.left, left)
        known.endsAt = Math.min(known.endsAt, endsAt)
      } else this.#windows.set(name, { left, endsAt })
    }
  }

  #nextTurn(signal: AbortSignal | undefined): Promise<void> {
    let turn = () => {}
    return until<void>(signal, (resolve) => {
      turn = resolve
      this.#queue.push(turn)
    }).catch((error: unknown) => {
      const index = this.#queue.indexOf(turn)
      // Not in the queue: the slot was handed over at the same time.
      if (index === -1) this.#release()
      else this.#queue.splice(index, 1)
      throw error
    })
  }

  /** The next in the queue takes over the slot. */
  #release(): void {
    const next = this.#queue.shift()
    if (next) next()
    else this.#active--
  }

  async #untilReady(signal: AbortSignal | undefined): Promise<void> {
    for (let wait = this.#check(signal); wait; wait = this.#check(signal)) await wait
    // In the same turn as the last check.
    this.#inFlight++
  }

  /** What an attempt must wait for before it is checked again. */
  #check(signal: AbortSignal | undefined): Promise<void> | undefined {
    const now = this.#clock.now()
    if (this.#pausedUntil > now) return this.#wait(this.#pausedUntil - now, signal, this.#pauseError)
    if (!this.#options.throttle) return undefined
    const windows = [...this.#windows.values()]
    if (windows.length === 0 || windows.some(({ endsAt }) => endsAt <= now)) {
      this.#learning ??= this.#learnWindows()
      return this.#learning
    }
    const full = windows.filter(({ left }) => left <= this.#inFlight)
    if (full.length === 0) return undefined
    if (this.#inFlight > 0) return until<void>(signal, (resolve) => this.#onChange.push(resolve))
    return this.#wait(Math.max(...full.map(({ endsAt }) => endsAt)) - now, signal)
  }

  async #learnWindows(): Promise<void> {
    try {
      await this.#learn()
    } catch {
      // One request at a time tells as much.
      this.#windows.clear()
      this.#windows.set('unknown', { left: this.#inFlight + 1, endsAt: this.#clock.now() + 1000 })
    } finally {
      this.#learning = undefined
    }
  }

  #wait(ms: number, signal: AbortSignal | undefined, error: PetstoreError = exhausted(ms)): Promise<void> {
    if (ms > this.#options.maxWaitMs) throw error
    return this.#clock.sleep(ms, signal)
  }
}

const exhausted = (retryAfterMs: number) =>
  new RateLimitError(
    'rate_limit_exceeded',
    `The rate limit leaves no requests for ${Math.ceil(retryAfterMs / 1000)} seconds. Nothing was sent.`,
    { retryAfterMs },
  )
