import type { MaybePromise } from '../maybePromise.ts'
import type { Caller, Lane } from './lanes.ts'
import { type WaitBounds, WaitingRequests } from './waitingRequests.ts'

type TurnOptions<T> = {
  readonly bounds: WaitBounds
  readonly perTurnMax: number
  /** The request is in progress until the promise settles. */
  run(item: T): MaybePromise<void>
  /** Rejects a request that has waited, or would wait, for too long. */
  reject(item: T): void
  laneOf(item: T): Lane
  callerOf(item: T): Caller
  /** How many requests of a lane can be in progress at the same time, without those whose body is awaited. */
  inProgressMax(lane: Lane): number
  isBodyAwaited(item: T): boolean
  /** Connections accepted so far. */
  accepted?(): number
  /** Milliseconds of a monotonic clock. */
  now?(): number
}

/** The time for the requests of one turn. After it, no further request is started. */
const turnMaxMs = 5
/** The part of this time that rejections can take. If more are due, the newest requests are served in the rest of it. */
const rejectMaxMs = 2
/** At most this many wait to be rejected. When one more arrives, the oldest is rejected at once, in addition to `rejectMaxMs`. */
const toRejectMax = 2_000
/** The newest ones are rejected first, until the oldest has waited for this time. */
const toRejectMaxMs = 500
/**
 * libuv accepts one connection in a turn. While connections arrive, up to this many turns in a row start no requests. Otherwise
 * a new caller would wait for a long turn for each caller before it, and get no response in time.
 */
const acceptTurnsMax = 20
/** The smallest weight of a lane with waiting requests. With three lanes it gets at least a sixth of the requests. */
const laneShareMin = 0.25
/** For probes, which are rejected only if their queue is full. */
const unbounded = { waitMaxMs: Number.POSITIVE_INFINITY, burstMaxMs: Number.POSITIVE_INFINITY }
/** How many requests that do not respond at once can be started in one turn, after the first. */
const stepsMax = 50
/** Requests that wait because too many are in progress: after this time, they are checked again. */
const recheckMs = 50

class LaneState<T> {
  readonly waiting: WaitingRequests<T>
  readonly inProgress = new Set<T>()
  /** How many more can run in this turn. */
  room = Number.POSITIVE_INFINITY
  /** The sum of its weights, minus what it has used. The lane with the highest credit runs next. */
  credit = 0

  constructor(bounds: WaitBounds) {
    this.waiting = new WaitingRequests(bounds)
  }

  get isRunnable(): boolean {
    return this.room > 0 && this.waiting.length > 0
  }

  /** A request whose body is awaited takes no room. Looks at each request only if the lane would be full. */
  measureRoom(max: number, isBodyAwaited: (item: T) => boolean): void {
    let count = this.inProgress.size
    if (count >= max) for (const item of this.inProgress) if (isBodyAwaited(item)) count--
    this.room = max - count
  }
}

/**
 * Runs a limited number of requests in a turn of the event loop. Further ones wait for the next turns. Without the limit,
 * libuv reads from busy connections up to 48 times in a turn, and immediates and timers wait for seconds. Requests that have
 * waited, or would wait, for too long are rejected.
 */
export class Turns<T> {
  readonly #options: TurnOptions<T>
  readonly #now: () => number
  readonly #lanes: Readonly<Record<Lane, LaneState<T>>>
  readonly #rejectable: LaneState<T>[]
  /** How many requests can still run as soon as they are added. */
  #leftOnArrival: number
  /** How many requests that wait can still run in this turn. */
  #leftInTurn = 0
  #turnEndsAt = 0
  #isScheduled = false
  #accepted = 0
  #acceptTurns = 0
  #recheck: NodeJS.Timeout | undefined
  /** To be rejected in the next turn: a body that was read together with its request has been parsed by then. */
  readonly #toReject: { readonly item: T; readonly addedAt: number }[] = []

  constructor(options: TurnOptions<T>) {
    this.#options = options
    this.#leftOnArrival = options.perTurnMax
    this.#now = options.now ?? (() => performance.now())
    const lane = (bounds = options.bounds) => new LaneState<T>(bounds)
    this.#lanes = { probe: lane(unbounded), read: lane(), write: lane() }
    this.#rejectable = [this.#lanes.read, this.#lanes.write]
  }

  add(item: T): void {
    const now = this.#now()
    if (!this.#isScheduled) this.#beginTurn(now)
    this.#schedule()
    const lane = this.#lanes[this.#options.laneOf(item)]
    const isTurnOver = this.#leftOnArrival === 0 || now > this.#turnEndsAt
    const mustWait = isTurnOver || lane.room <= 0 || lane.waiting.length > 0
    if (mustWait) {
      if (!lane.waiting.add(item, this.#options.callerOf(item), now)) this.#rejectLater(item, now)
      return
    }
    this.#leftOnArrival--
    this.#run(lane, item)
  }

  #rejectLater(item: T, addedAt: number): void {
    this.#toReject.push({ item, addedAt })
    if (this.#toReject.length > toRejectMax) this.#rejectOne('oldest')
  }

  #rejectOne(which: 'oldest' | 'newest'): void {
    const taken = which === 'oldest' ? this.#toReject.shift() : this.#toReject.pop()
    if (taken) this.#options.reject(taken.item)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#runTurn)
  }

  #beginTurn(now: number): void {
    const { inProgressMax, isBodyAwaited } = this.#options
    for (const lane of ['read', 'write'] as const)
      this.#lanes[lane].measureRoom(inProgressMax(lane), isBodyAwaited)
    this.#turnEndsAt = now + turnMaxMs
  }

  readonly #runTurn = (): void => {
    if (this.#mustAcceptFirst()) {
      this.#leftInTurn = 0
      return void setImmediate(this.#runTurn)
    }
    this.#beginTurn(this.#now())
    // What is added now waits behind the others.
    this.#leftOnArrival = 0
    this.#leftInTurn = this.#options.perTurnMax
    this.#rejectDue()
    this.#runStep()
    const lanes = Object.values(this.#lanes)
    const runnable = lanes.reduce((sum, lane) => sum + (lane.isRunnable ? lane.waiting.length : 0), 0)
    if (runnable > 0) {
      // In the next iteration of the event loop: first the turn, then its steps.
      setImmediate(this.#runTurn)
      for (let steps = Math.min(runnable, stepsMax); steps > 0; steps--) setImmediate(this.#runStep)
      return
    }
    this.#isScheduled = false
    this.#leftOnArrival = this.#leftInTurn
    if (this.#toReject.length > 0) this.#schedule()
    if (lanes.some(({ waiting }) => waiting.length > 0))
      this.#recheck ??= setTimeout(this.#recheckLanes, recheckMs)
  }

  /**
   * Runs requests up to the first that does not respond at once. Most of the work of such a request follows in microtasks.
   * Node runs them between two immediates, so the next step knows how long they took.
   */
  readonly #runStep = (): void => {
    while (this.#leftInTurn > 0 && this.#now() <= this.#turnEndsAt) {
      const lane = this.#nextLane()
      if (!lane) return
      this.#leftInTurn--
      if (this.#run(lane, lane.waiting.next(this.#now()) as T)) return
    }
  }

  /** Whether connections arrive, while requests wait. */
  #mustAcceptFirst(): boolean {
    const accepted = this.#options.accepted?.() ?? 0
    const hasAccepted = accepted !== this.#accepted
    this.#accepted = accepted
    this.#acceptTurns = hasAccepted && this.#acceptTurns < acceptTurnsMax ? this.#acceptTurns + 1 : 0
    return this.#acceptTurns > 0 && this.#leftOnArrival === 0
  }

  readonly #recheckLanes = (): void => {
    this.#recheck = undefined
    this.#schedule()
  }

  #rejectDue(): void {
    const endsAt = this.#now() + rejectMaxMs
    const hasTime = () => this.#now() < endsAt
    for (const { waiting } of this.#rejectable)
      while (hasTime()) {
        const overdue = waiting.takeOverdue(this.#now())
        if (overdue === undefined) break
        this.#options.reject(overdue)
      }
    // The other queue is first in the next turn: neither waits until all of the other have been rejected.
    this.#rejectable.reverse()
    // The newest first: they are rejected in time, and their objects are still in the caches of the processor.
    while (this.#toReject.length > 0 && hasTime()) {
      const waitedMs = this.#now() - (this.#toReject[0]?.addedAt ?? 0)
      this.#rejectOne(waitedMs > toRejectMaxMs ? 'oldest' : 'newest')
    }
  }

  /** Chooses lanes in proportion to the requests that wait, so that an overload does not change the mix of requests. */
  #nextLane(): LaneState<T> | undefined {
    const runnable = Object.values(this.#lanes).filter(({ isRunnable }) => isRunnable)
    const waiting = runnable.reduce((sum, lane) => sum + lane.waiting.length, 0)
    let total = 0
    for (const lane of runnable) {
      const weight = Math.max(lane.waiting.length / waiting, laneShareMin)
      lane.credit += weight
      total += weight
    }
    const [next] = runnable.sort((a, b) => b.credit - a.credit)
    if (next) next.credit -= total
    return next
  }

  /** Returns whether the request is still in progress. */
  #run(lane: LaneState<T>, item: T): boolean {
    const running = this.#options.run(item)
    if (!(running instanceof Promise)) return false
    lane.room--
    lane.inProgress.add(item)
    const end = () => {
      lane.inProgress.delete(item)
      if (lane.waiting.length > 0) this.#schedule()
    }
    running.then(end, end)
    return true
  }
}
