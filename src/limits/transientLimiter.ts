import { BoundedMap } from './boundedMap.ts'
import type { Limits } from './plans.ts'
import {
  advance,
  consume,
  currentWindows,
  type Decision,
  emptyLimitState,
  type LimitState,
  toDecision,
  type Windows,
} from './window.ts'

/** Counts requests in memory only, for example by client address. Beyond `entriesMax` the least recently counted is dropped. */
export class TransientLimiter<Id> {
  readonly #limits: Limits
  readonly #states: BoundedMap<Id, LimitState>

  constructor(limits: Limits, entriesMax: number) {
    this.#limits = limits
    this.#states = new BoundedMap(entriesMax)
  }

  consume(id: Id, now: number): Decision {
    const before = this.#state(id, now)
    const consumed = consume(before, this.#limits, now)
    const after = consumed ?? before
    this.#states.set(id, after)
    return toDecision(after, this.#limits, now, consumed ? 'admitted' : 'limited')
  }

  peek(id: Id, now: number): Windows {
    return currentWindows(this.#state(id, now), this.#limits, now)
  }

  #state(id: Id, now: number): LimitState {
    return advance(this.#states.get(id) ?? emptyLimitState, now)
  }
}
