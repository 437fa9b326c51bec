import { BoundedMap } from './boundedMap.ts'
import type { Limits } from './plans.ts'
import {
  advance,
  consume,
  currentWindows,
  type Decision,
  emptyUsage,
  toDecision,
  type Usage,
  type Windows,
} from './window.ts'

/** Counts requests in memory only, for example by client address. Beyond `entriesMax` the least recently counted is dropped. */
export class TransientLimiter<Id> {
  readonly #limits: Limits
  readonly #usages: BoundedMap<Id, Usage>

  constructor(limits: Limits, entriesMax: number) {
    this.#limits = limits
    this.#usages = new BoundedMap(entriesMax)
  }

  consume(id: Id, now: number): Decision {
    const before = this.#usage(id, now)
    const consumed = consume(before, this.#limits, now)
    const after = consumed ?? before
    this.#usages.set(id, after)
    return toDecision(after, this.#limits, now, consumed ? 'admitted' : 'limited')
  }

  peek(id: Id, now: number): Windows {
    return currentWindows(this.#usage(id, now), this.#limits, now)
  }

  #usage(id: Id, now: number): Usage {
    return advance(this.#usages.get(id) ?? emptyUsage, now)
  }
}
