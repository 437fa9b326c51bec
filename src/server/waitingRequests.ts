import type { Caller } from './lanes.ts'
import { RecentRequests } from './recentRequests.ts'

export type WaitBounds = {
  /** How long a request may wait during an overload. */
  readonly waitMaxMs: number
  /**
   * An overload begins when requests have been waiting without a break for longer than this. It ends when the queue has been
   * empty at least once and none was rejected for this time, or when the queue is often empty.
   */
  readonly burstMaxMs: number
}

type Entry<T> = { readonly item: T; readonly caller: Caller; readonly addedAt: number }

/** Requests of a caller that sends less than its fair share may wait for this many times longer. */
const belowShareWaitFactor = 4
/** A new request is rejected if its expected wait is longer than `waitMaxMs` times this. It is less than 1, so few become overdue. */
const expectedWaitFactor = 0.5
/** It is not an overload if requests waited for less than this part of the last one to two seconds. */
const overloadRatioMin = 0.9
/** The only bound for probes and for a burst. */
const lengthMax = 10_000

/**
 * Requests that wait, in the order of arrival. During an overload, a new request is rejected if it would wait for too long,
 * and the oldest one is overdue when it has waited for too long. Requests of callers that send less than their fair share may
 * wait longer. So an address or a key that sends too many requests is rejected first.
 */
export class WaitingRequests<T> {
  readonly #bounds: WaitBounds
  readonly #entries: Entry<T>[] = []
  readonly #recent = new RecentRequests()
  /** At least one request has waited at all times since then. */
  #waitingSince = 0
  /** When the last one was rejected. */
  #rejectedAt = Number.NEGATIVE_INFINITY

  constructor(bounds: WaitBounds) {
    this.#bounds = bounds
  }

  get length(): number {
    return this.#entries.length
  }

  /** Returns false, and does not add it, if it must be rejected. */
  add(item: T, caller: Caller, now: number): boolean {
    this.#recent.update(now, this.length > 0)
    this.#recent.countArrival(caller)
    if (this.length === 0) this.#waitingSince = now
    const isTooLong =
      this.length > 0 && this.#isTooLong(this.#expectedWaitMs(now), expectedWaitFactor, caller, now)
    if (isTooLong) this.#rejectedAt = now
    if (isTooLong || this.length >= lengthMax) return false
    this.#entries.push({ item, caller, addedAt: now })
    return true
  }

  /** Takes the oldest one to reject it, if it must not be served any more. */
  takeOverdue(now: number): T | undefined {
    this.#recent.update(now, this.length > 0)
    if (!this.#isOverdue(now)) return undefined
    this.#rejectedAt = now
    return this.#entries.shift()?.item
  }

  /** Takes the oldest one to serve it. If that one cannot be served in time, the newest one still can. */
  next(now: number): T | undefined {
    if (this.length === 0) return undefined
    this.#recent.update(now, true)
    this.#recent.countServed()
    return (this.#isOverdue(now) ? this.#entries.pop() : this.#entries.shift())?.item
  }

  #expectedWaitMs(now: number): number {
    const { servedPerMs } = this.#recent
    return servedPerMs > 0 ? this.#countBefore(now) / servedPerMs : Number.POSITIVE_INFINITY
  }

  /** How many would be served before a new one. Those that are overdue are rejected instead. */
  #countBefore(now: number): number {
    if (!this.#isOverdue(now)) return this.length
    const since = now - this.#bounds.waitMaxMs
    let [from, to] = [0, this.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((this.#entries[middle] as Entry<T>).addedAt < since) from = middle + 1
      else to = middle
    }
    return this.length - from
  }

  #isOverdue(now: number): boolean {
    const [oldest] = this.#entries
    return oldest !== undefined && this.#isTooLong(now - oldest.addedAt, 1, oldest.caller, now)
  }

  #isTooLong(waitMs: number, factor: number, caller: Caller, now: number): boolean {
    const waitMaxMs = factor * this.#bounds.waitMaxMs
    if (waitMs <= waitMaxMs || !this.#isOverload(now)) return false
    return waitMs > belowShareWaitFactor * waitMaxMs || !this.#recent.isBelowFairShare(caller)
  }

  #isOverload(now: number): boolean {
    const { burstMaxMs } = this.#bounds
    if (now - this.#waitingSince > burstMaxMs) return true
    // The queue of an overload is short and sometimes empty.
    return now - this.#rejectedAt <= burstMaxMs && this.#recent.waitingRatio >= overloadRatioMin
  }
}
