import type { Caller } from './lanes.ts'

export type WaitBounds = {
  /** How long a request may wait while there are more requests than can be served. */
  readonly waitMaxMs: number
  /** Requests that arrive together may wait for this time: after it, the rest is not a burst. */
  readonly burstMaxMs: number
}

type Entry<T> = Caller & { readonly item: T; readonly addedAt: number }

/** A request of a calm caller may wait for this many times longer. */
const patience = 4
/** A caller is calm if it has less than this part of the requests that callers have on average. */
const calmShareMax = 0.5

/**
 * Requests that wait, in the order of arrival. The oldest one is overdue when it has waited for too long. If its caller is
 * calm, it may wait longer. So one address or one key that sends too many requests is rejected first. A caller that shares its
 * address with such a key, or its key with such an address, is not.
 */
export class WaitingRequests<T> {
  readonly #bounds: WaitBounds
  readonly #entries: Entry<T>[] = []
  readonly #byAddress = new Map<string, number>()
  readonly #byKey = new Map<string, number>()
  /** Requests have waited at all times since. */
  #waitingSince = 0

  constructor(bounds: WaitBounds) {
    this.#bounds = bounds
  }

  get length(): number {
    return this.#entries.length
  }

  push(item: T, { address, key }: Caller, now: number): void {
    if (this.#entries.length === 0) this.#waitingSince = now
    this.#entries.push({ item, address, key, addedAt: now })
    add(this.#byAddress, address, 1)
    add(this.#byKey, key, 1)
  }

  /** Takes the oldest one. */
  shift(): T | undefined {
    return this.#removed(this.#entries.shift())
  }

  /** Takes the newest one. */
  pop(): T | undefined {
    return this.#removed(this.#entries.pop())
  }

  #removed(entry: Entry<T> | undefined): T | undefined {
    if (!entry) return undefined
    add(this.#byAddress, entry.address, -1)
    add(this.#byKey, entry.key, -1)
    return entry.item
  }

  /** Whether the oldest one must not be served any more. */
  isOverdue(now: number): boolean {
    const [oldest] = this.#entries
    if (!oldest) return false
    const { waitMaxMs, burstMaxMs } = this.#bounds
    const isBurst = now - this.#waitingSince <= burstMaxMs
    const limitMs = isBurst ? burstMaxMs : waitMaxMs
    const waitedMs = now - oldest.addedAt
    if (waitedMs <= limitMs) return false
    return waitedMs > patience * limitMs || !this.#isCalm(oldest)
  }

  /** How its number of requests compares with the mean of the addresses, multiplied by the same for the keys. */
  #isCalm({ address, key }: Caller): boolean {
    const total = this.#entries.length
    const ofMean = (counts: ReadonlyMap<string, number>, name: string) =>
      ((counts.get(name) ?? 0) * counts.size) / total
    return ofMean(this.#byAddress, address) * ofMean(this.#byKey, key) < calmShareMax
  }
}

function add(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const count = (counts.get(name) ?? 0) + change
  if (count > 0) counts.set(name, count)
  else counts.delete(name)
}
