import type { Caller } from './lanes.ts'

export type WaitBounds = {
  /** How long a request may wait during an overload. */
  readonly waitMaxMs: number
  /** When requests have waited at all times for longer than this, it is not a burst but an overload. */
  readonly burstMaxMs: number
}

type Entry<T> = Caller & { readonly item: T; readonly addedAt: number }

/** The share of a caller with an average number of waiting requests is 1. Below this value it is small. */
const smallShareMax = 0.5
/** A request of a caller with a small share may wait for this many times longer. */
const smallShareWaitFactor = 4

/**
 * Requests that wait, in the order of arrival. The oldest one is overdue when it has waited for too long. It may wait longer
 * if its caller has a small share of the waiting requests. So an address or a key that sends too many requests is rejected
 * first. A caller that shares its address with such a key, or its key with such an address, is not.
 */
export class WaitingRequests<T> {
  readonly #bounds: WaitBounds
  readonly #entries: Entry<T>[] = []
  readonly #byAddress = new Map<string, number>()
  readonly #byKey = new Map<string, number>()
  /** At least one request has waited at all times since then. */
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
    const waitedMs = now - oldest.addedAt
    if (isBurst || waitedMs <= waitMaxMs) return false
    return waitedMs > smallShareWaitFactor * waitMaxMs || this.#shareOf(oldest) >= smallShareMax
  }

  /** The requests of its address divided by the mean of all addresses, multiplied by the same for its key. */
  #shareOf({ address, key }: Caller): number {
    const total = this.#entries.length
    const ofMean = (counts: ReadonlyMap<string, number>, name: string) =>
      ((counts.get(name) ?? 0) * counts.size) / total
    return ofMean(this.#byAddress, address) * ofMean(this.#byKey, key)
  }
}

function add(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const count = (counts.get(name) ?? 0) + change
  if (count > 0) counts.set(name, count)
  else counts.delete(name)
}
