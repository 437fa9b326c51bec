/** How many requests are counted by one call. */
const countMax = 1_000

type Ask<R> = (token: string, count: number, address: string | null) => Promise<R>
type Place<R> = { row: R; index: number }
type Waiting<R> = {
  address: string
  resolve: (place: Place<R>) => void
  reject: (error: unknown) => void
}

/**
 * Requests with one key that come while others of it are being counted wait for those, and are then counted together:
 * a busy key costs as many round trips as there is time for, not as many as it has requests.
 */
export class Crowd<R> {
  readonly #ask: Ask<R>
  readonly #isCounted: (row: R) => boolean
  /** Those who wait behind the call that is under way, by key. */
  readonly #waiting = new Map<string, Waiting<R>[]>()

  /** `isCounted` tells whether a key was found that could be counted for. */
  constructor(ask: Ask<R>, isCounted: (row: R) => boolean) {
    this.#ask = ask
    this.#isCounted = isCounted
  }

  join(token: string, address: string): Promise<Place<R>> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(token)
      const one = { address, resolve, reject }
      if (waiting) waiting.push(one)
      else {
        this.#waiting.set(token, [])
        void this.#serve(token, [one])
      }
    })
  }

  async #serve(token: string, crowd: readonly Waiting<R>[]): Promise<void> {
    const [first] = crowd
    try {
      const row = await this.#ask(token, crowd.length, crowd.length === 1 && first ? first.address : null)
      if (crowd.length === 1 || this.#isCounted(row)) {
        for (const [index, { resolve }] of crowd.entries()) resolve({ row, index })
      } else {
        // Nobody has paid for a crowd with a key that is not valid: each does so for his own address.
        for (const { address, resolve } of crowd)
          resolve({ row: await this.#ask(token, 1, address), index: 0 })
      }
    } catch (error) {
      for (const { reject } of crowd) reject(error)
    }
    const next = this.#waiting.get(token)?.splice(0, countMax) ?? []
    if (next.length > 0) void this.#serve(token, next)
    else this.#waiting.delete(token)
  }
}
