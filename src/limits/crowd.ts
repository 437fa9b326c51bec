/** How many requests are counted by one call. */
const countMax = 1_000

type Ask<R> = (token: string, count: number, addressOf: () => string) => Promise<R>
type Place<R> = { row: R; index: number; count: number }
type Waiting<R> = {
  addressOf: () => string
  resolve: (place: Place<R>) => void
  reject: (error: unknown) => void
}

/**
 * Requests with one key that come while others of it are being counted wait for those, and are then counted together:
 * a busy key costs as many round trips as there is time for, not as many as it has requests.
 */
export class Crowd<R> {
  readonly #ask: Ask<R>
  /** Those who wait behind the call that is under way, by key. */
  readonly #waiting = new Map<string, Waiting<R>[]>()

  constructor(ask: Ask<R>) {
    this.#ask = ask
  }

  join(token: string, addressOf: () => string): Promise<Place<R>> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(token)
      const one = { addressOf, resolve, reject }
      if (waiting) waiting.push(one)
      else {
        this.#waiting.set(token, [])
        void this.#count(token, [one])
      }
    })
  }

  async #count(token: string, crowd: readonly Waiting<R>[]): Promise<void> {
    const [first] = crowd
    try {
      const row = await this.#ask(token, crowd.length, () => first?.addressOf() ?? '')
      for (const [index, { resolve }] of crowd.entries()) resolve({ row, index, count: crowd.length })
    } catch (error) {
      for (const { reject } of crowd) reject(error)
    }
    const next = this.#waiting.get(token)?.splice(0, countMax) ?? []
    if (next.length > 0) void this.#count(token, next)
    else this.#waiting.delete(token)
  }
}
