import type { MaybePromise } from '../maybePromise.ts'
import type { Caller, Lane } from './lanes.ts'
import { type WaitBounds, WaitingRequests } from './waitingRequests.ts'

type TurnOptions<T> = {
  readonly bounds: WaitBounds
  readonly perTurnMax: number
  /** The request is in progress until the promise settles. */
  run(item: T): MaybePromise<void>
  /** Rejects a request that has waited for too long. */
  shed(item: T): void
  laneOf(item: T): Lane
  callerOf(item: T): Caller
  /** How many requests of a lane can be in progress at the same time, without those whose body is still arriving. */
  inProgressMax(lane: Lane): number
  /** Whether all of it has arrived. */
  isComplete(item: T): boolean
  /** Connections accepted so far. */
  accepted?(): number
  /** Milliseconds of a monotonic clock. */
  now?(): number
}

/** The time for the requests of one turn. After it, no further request is started. */
const turnMaxMs = 5
/** The part of this time that rejections can take. If more are due, the newest requests are served in the rest of it. */
const shedMaxMs = 2
/**
 * libuv accepts one connection in a turn. While connections arrive, up to this many turns in a row run no requests. Otherwise
 * a new caller would wait for a long turn for each caller before it, and get no response in time.
 */
const acceptTurnsMax = 20
/** The smallest weight of a lane with waiting requests. With three lanes it gets at least a sixth of the requests. */
const laneShareMin = 0.25
/** How many requests that do not respond at once can be started in one turn. */
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

  /** A request whose body is still arriving takes no room. Looks at each request only if the lane would be full. */
  measureRoom(max: number, isComplete: (item: T) => boolean): void {
    let count = this.inProgress.size
    if (count >= max)
      count = this.inProgress
        .values()
        .filter(isComplete)
        .reduce((sum) => sum + 1, 0)
    this.room = max - count
  }
}

/**
 * Runs a limited number of requests in a turn of the event loop. Further ones wait for the next turns. Without the limit,
 * libuv reads from busy connections up to 48 times in a turn, and immediates and timers wait for seconds. Requests that have
 * waited for too long are rejected.
 */
export class Turns<T> {
  readonly #options: TurnOptions<T>
  readonly #now: () => number
  readonly #lanes: Readonly<Record<Lane, LaneState<T>>>
  /** How many requests can still run as soon as they are added. */
  #leftOnArrival: number
  /** How many requests that wait can still run in this turn. */
  #leftInTurn = 0
  #turnEndsAt = 0
  #isScheduled = false
  #accepted = 0
  #acceptTurns = 0
  #recheck: NodeJS.Timeout | undefined

  constructor(options: TurnOptions<T>) {
    this.#options = options
    this.#leftOnArrival = options.perTurnMax
    this.#now = options.now ?? (() => performance.now())
    const lane = () => new LaneState<T>(options.bounds)
    this.#lanes = { probe: lane(), read: lane(), write: lane() }
  }

  add(item: T): void {
    const now = this.#now()
    if (!this.#isScheduled) this.#beginTurn(now)
    this.#schedule()
    const lane = this.#lanes[this.#options.laneOf(item)]
    const isTurnOver = this.#leftOnArrival === 0 || now > this.#turnEndsAt
    const mustWait = isTurnOver || lane.room <= 0 || lane.waiting.length > 0
    if (mustWait) return void lane.waiting.push(item, this.#options.callerOf(item), now)
    this.#leftOnArrival--
    this.#run(lane, item)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#startTurn)
  }

  #beginTurn(now: number): void {
    const { inProgressMax, isComplete } = this.#options
    for (const lane of ['read', 'write'] as const)
      this.#lanes[lane].measureRoom(inProgressMax(lane), isComplete)
    this.#turnEndsAt = now + turnMaxMs
  }

  readonly #startTurn = (): void => {
    if (this.#mustAcceptFirst()) return void setImmediate(this.#startTurn)
    this.#beginTurn(this.#now())
    // What is added now waits behind the others.
    this.#leftOnArrival = 0
    this.#leftInTurn = this.#options.perTurnMax
    this.#shedOverdue()
    this.#runStep()
    const lanes = Object.values(this.#lanes)
    const runnable = lanes.reduce((sum, lane) => sum + (lane.isRunnable ? lane.waiting.length : 0), 0)
    if (runnable > 0) {
      // All of these run in the next turn, in this order.
      setImmediate(this.#startTurn)
      for (let steps = Math.min(runnable, stepsMax); steps > 0; steps--) setImmediate(this.#runStep)
      return
    }
    this.#isScheduled = false
    this.#leftOnArrival = this.#leftInTurn
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
      if (this.#runNext(lane)) return
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

  #shedOverdue(): void {
    const endsAt = this.#now() + shedMaxMs
    for (const { waiting } of [this.#lanes.read, this.#lanes.write])
      for (let now = this.#now(); now < endsAt && waiting.isOverdue(now); now = this.#now())
        this.#options.shed(waiting.shift() as T)
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

  #runNext(lane: LaneState<T>): boolean {
    const { waiting } = lane
    // If the oldest one cannot be served in time, the newest one still can.
    const isLate = lane !== this.#lanes.probe && waiting.isOverdue(this.#now())
    return this.#run(lane, (isLate ? waiting.pop() : waiting.shift()) as T)
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
