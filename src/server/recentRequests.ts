import type { Caller } from './lanes.ts'

const periodMs = 1_000
/**
 * At most this many callers are counted separately. Others, and those with longer names, count as one. With keys and addresses
 * in two periods, the counts take up to 20 MB for each queue.
 */
const callersMax = 10_000
const callerLengthMax = 100
/** Contains a line break, so it differs from every header and address. */
const otherCallers = '\n'

class Period {
  readonly byAddress = new Map<string, number>()
  readonly byKey = new Map<string, number>()
  readonly byCaller = new Map<string, number>()
  served = 0
  /** For how long at least one request waited. */
  waitedMs = 0
}

/** Counts the requests that had to wait in the current period and in the one before. A period ends after at least a second. */
export class RecentRequests {
  #current = new Period()
  #previous = new Period()
  #since = 0
  /** How long the previous period was. */
  #previousMs = 0
  #updatedAt = 0
  /** How many requests of one caller could be served in the previous period. */
  #fairShare = Number.POSITIVE_INFINITY

  /** Called before each change of the queue. */
  update(now: number, isWaiting: boolean): void {
    if (isWaiting) this.#current.waitedMs += now - this.#updatedAt
    this.#updatedAt = now
    const elapsedMs = now - this.#since
    if (elapsedMs < periodMs) return
    // A stall of the event loop, with requests that wait, does not discard what was measured.
    const isRecent = isWaiting || elapsedMs < 2 * periodMs
    this.#previous = isRecent ? this.#current : new Period()
    this.#previousMs = isRecent ? elapsedMs : 0
    this.#fairShare = fairShareOf([...this.#previous.byCaller.values()], this.#previous.served)
    this.#current = new Period()
    this.#since = now
  }

  countArrival(caller: Caller): void {
    increment(this.#current.byAddress, caller.address)
    increment(this.#current.byKey, caller.key)
    increment(this.#current.byCaller, this.#callerNameOf(caller))
  }

  countServed(): void {
    this.#current.served++
  }

  /** The rate at which requests are served while at least one waits. */
  get servedPerMs(): number {
    return this.#sum('served') / Math.max(1, this.#sum('waitedMs'))
  }

  /** The part of the time in which at least one request waited. */
  get waitingRatio(): number {
    return this.#sum('waitedMs') / Math.max(1, this.#windowMs)
  }

  get #windowMs(): number {
    return this.#previousMs + this.#updatedAt - this.#since
  }

  /** Whether a caller sends less than its fair share. */
  isBelowFairShare(caller: Caller): boolean {
    const name = this.#callerNameOf(caller)
    const counted = countOf(this.#current.byCaller, name) + countOf(this.#previous.byCaller, name)
    // All requests of a key, also those that counted for its address before.
    const requests = name === caller.key ? Math.max(counted, this.#separateCountOf('byKey', name)) : counted
    return requests * this.#previousMs < this.#fairShare * this.#windowMs
  }

  /**
   * A request counts for its key if that sends at least half of the requests of its address, otherwise for its address. So
   * made-up keys count for the address that sends them, and a key that floods does not count for an address that it shares.
   */
  #callerNameOf({ address, key }: Caller): string {
    const ofKey = this.#separateCountOf('byKey', key)
    return ofKey > 0 && ofKey >= this.#separateCountOf('byAddress', address) / 2
      ? key
      : `\naddress ${address}`
  }

  /** Zero for a name that is not counted separately. */
  #separateCountOf(by: 'byAddress' | 'byKey', name: string): number {
    return (this.#current[by].get(name) ?? 0) + (this.#previous[by].get(name) ?? 0)
  }

  #sum(of: 'served' | 'waitedMs'): number {
    return this.#current[of] + this.#previous[of]
  }
}

/** The name itself, or the one that stands for all callers that are not counted separately. */
const entryName = (counts: ReadonlyMap<string, number>, name: string): string =>
  name.length <= callerLengthMax && (counts.size < callersMax || counts.has(name)) ? name : otherCallers

const countOf = (counts: ReadonlyMap<string, number>, name: string): number =>
  counts.get(entryName(counts, name)) ?? 0

function increment(counts: Map<string, number>, name: string): void {
  const counted = entryName(counts, name)
  counts.set(counted, (counts.get(counted) ?? 0) + 1)
}

/**
 * The number x for which `served` requests are served if each caller gets at most x. Callers with less leave the rest to the
 * others. Infinite if all requests can be served.
 */
function fairShareOf(counts: number[], served: number): number {
  counts.sort((a, b) => a - b)
  let left = served
  for (const [at, count] of counts.entries()) {
    const share = left / (counts.length - at)
    if (count >= share) return share
    left -= count
  }
  return Number.POSITIVE_INFINITY
}
