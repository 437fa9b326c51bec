/** How many requests are counted by one call. */
const countMax = 1_000

export type Counted<R> = {
  result: R
  /** The place of the request among those of its call that were counted for the key; none where it was not. */
  index: number | undefined
  /** Whether the call was for this request alone. */
  isOnlyRequest: boolean
}
type Waiting<Q, R> = {
  request: Q
  resolve: (counted: Counted<R>) => void
  reject: (error: unknown) => void
}

/**
 * Requests with one key that come while others of it are being counted wait for those, and are then counted together:
 * a busy key costs as many round trips as there is time for, not as many as it has requests.
 */
export class KeyedBatcher<Q, R> {
  readonly #ask: (token: string, requests: readonly Q[]) => Promise<R>
  readonly #isCounted: (result: R, request: Q) => boolean
  /** Those who wait behind the call that is under way, by key. */
  readonly #waiting = new Map<string, Waiting<Q, R>[]>()

  /** `isCounted` tells whether a request was counted for the key. One that was not must be counted elsewhere. */
  constructor(
    ask: (token: string, requests: readonly Q[]) => Promise<R>,
    isCounted: (result: R, request: Q) => boolean,
  ) {
    this.#ask = ask
    this.#isCounted = isCounted
  }

  add(token: string, request: Q): Promise<Counted<R>> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(token)
      const one = { request, resolve, reject }
      if (waiting) waiting.push(one)
      else {
        this.#waiting.set(token, [])
        void this.#serve(token, [one])
      }
    })
  }

  async #serve(token: string, crowd: readonly Waiting<Q, R>[]): Promise<void> {
    try {
      const result = await this.#ask(
        token,
        crowd.map(({ request }) => request),
      )
      let counted = 0
      for (const { request, resolve } of crowd) {
        const index = this.#isCounted(result, request) ? counted++ : undefined
        resolve({ result, index, isOnlyRequest: crowd.length === 1 })
      }
    } catch (error) {
      for (const { reject } of crowd) reject(error)
    }
    const next = this.#waiting.get(token)?.splice(0, countMax) ?? []
    if (next.length > 0) void this.#serve(token, next)
    else this.#waiting.delete(token)
  }
}
