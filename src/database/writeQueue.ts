import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { DatabaseUnavailableError, OutcomeUnknownError } from './database.ts'
import type { Tables } from './tables.ts'
import { type Outcome, settle, settleUnknown, type WriteJob } from './writeJob.ts'

const writesWaitingMax = 10_000
const writesPerCommitMax = 256
/** Commits that may be made while the disk is still busy with earlier ones. */
const commitsAheadMax = 16
/** No other process can write during this time. */
const turnMaxMs = 500
/** For so long the event loop may be held before others have their turn. */
const holdMaxMs = 1
/** Who has waited in line for so long is refused: each before it may take as long as a commit may. */
const waitMaxMs = 10_000

/** One open transaction of an engine. */
export type Turn = {
  readonly trx: Kysely<Tables>
  /** Runs a statement of transactions, such as COMMIT. */
  run(statement: string): void | Promise<void>
  /** Whether the transaction still stands, so that what failed in it can be undone by itself. */
  readonly isOpen: boolean
  /** How many statements so far may have changed something, or have failed. */
  readonly traces: number
  /** Gives back what the turn stood on, after whatever end. */
  end(): void
}

/** Whether a statement leaves no trace: no function that is called anywhere does what a transaction could undo. */
export const isReading = (statement: string): boolean => /^\s*select\b/i.test(statement)

export type Engine = {
  /** Waits for this process to be the only writer, and opens a transaction. Throws where nothing may be written. */
  begin(): Promise<Turn>
  /** Whether an error before the commit is one that a second try would not meet. */
  isPassing(error: unknown): boolean
  /** Whether an error of the commit itself leaves open what became of it. */
  isOutcomeUnknown(error: unknown): boolean
  /** Settles when what was committed is on disk, where the commit itself does not wait for that. */
  sync?(): Promise<void> | undefined
}

/** Lets the event loop go round once it was held for long enough. */
class Turns {
  #heldSince = performance.now()

  async letIn(): Promise<void> {
    if (performance.now() - this.#heldSince < holdMaxMs) return
    await nextTurn()
    this.#heldSince = performance.now()
  }
}

/**
 * Writes run one after another, and all that wait at one moment share one commit, and with it one wait for the disk.
 * One that fails leaves nothing behind and does not touch its neighbours: mostly because it has changed nothing yet.
 * Otherwise all are undone and run again, each in a savepoint of its own, which is too dear to have for nothing.
 */
export class WriteQueue {
  readonly #engine: Engine
  readonly #waiting: WriteJob[] = []
  readonly #listeners: (() => void)[] = []
  #draining: Promise<void> | undefined
  /** Commits that are not known to be on disk yet. */
  readonly #unsynced = new Map<readonly Outcome[], Promise<void>>()
  #isStalled = false
  /** Ends the waits that a disk which is overdue must not prolong. */
  readonly #stallWaiters = new Set<() => void>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  add<T>(work: (trx: Kysely<Tables>) => Promise<T>, onDurable?: () => void): Promise<T> {
    if (this.#waiting.length >= writesWaitingMax) {
      return Promise.reject(new DatabaseUnavailableError('Too many writes are waiting.'))
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const addedAt = performance.now()
    this.#waiting.push({ addedAt, work, onDurable, resolve: resolve as WriteJob['resolve'], reject })
    this.#draining ??= this.#drain()
    return promise
  }

  onCommit(listener: () => void): void {
    this.#listeners.push(listener)
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Settles when nothing is left to do, or the disk is overdue. */
  async idle(): Promise<void> {
    while (this.#draining) await this.#draining
    await this.#untilSettledOrStalled(Promise.all(this.#unsynced.values()))
  }

  /**
   * The callers that wait for an overdue disk are told that the outcome is unknown. Should the disk respond after all,
   * what comes with a durable commit is still done.
   */
  setStalled(isStalled: boolean): void {
    this.#isStalled = isStalled
    if (!isStalled) return
    const error = new OutcomeUnknownError('The disk did not confirm the change in time.')
    for (const outcomes of this.#unsynced.keys())
      for (const outcome of outcomes) settleUnknown(outcome, error)
    for (const release of this.#stallWaiters) release()
  }

  /** Settles when the work has, or when the disk is overdue. */
  #untilSettledOrStalled(work: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const release = () => {
      this.#stallWaiters.delete(release)
      resolve()
    }
    this.#stallWaiters.add(release)
    if (this.#isStalled) release()
    work.then(release, release)
    return promise
  }

  async #drain(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        this.#refuseLate()
        // One turn of the event loop, so that requests that are already here join this commit.
        await nextTurn()
        await this.#commitBatch()
      }
    } finally {
      // With the last look, not a moment later: who comes in between would wait for nobody.
      this.#draining = undefined
    }
  }

  #refuseLate(): void {
    const inTime = this.#waiting.findIndex(({ addedAt }) => performance.now() - addedAt < waitMaxMs)
    for (const unit of this.#waiting.splice(0, inTime === -1 ? this.#waiting.length : inTime)) {
      unit.reject(new DatabaseUnavailableError('The change has waited too long.'))
    }
  }

  async #commitBatch(): Promise<void> {
    if (this.#waiting.length === 0) return
    const taken: WriteJob[] = []
    let outcomes: Outcome[]
    try {
      outcomes = await this.#commitTaken(taken)
    } catch (error) {
      // Who waited for a turn that never came has waited long enough, also those that a later commit would have had.
      const refused = taken.length > 0 ? taken : this.#waiting.splice(0)
      const failure =
        error instanceof DatabaseUnavailableError
          ? error
          : new DatabaseUnavailableError('The store did not take the change.', { cause: error })
      for (const unit of refused) unit.reject(failure)
      return
    }
    const sync = this.#engine.sync?.()
    if (!sync) {
      await this.#settle(outcomes)
      return
    }
    // The next commit need not wait for the disk to have taken this one; those who are answered do.
    const settled = sync
      .then(
        () => this.#settle(outcomes),
        (error: unknown) => {
          const failure = new OutcomeUnknownError('The disk did not take the change.', { cause: error })
          for (const outcome of outcomes) settleUnknown(outcome, failure)
        },
      )
      .finally(() => this.#unsynced.delete(outcomes))
    this.#unsynced.set(outcomes, settled)
    if (this.#unsynced.size > commitsAheadMax) await this.#untilSettledOrStalled(settled)
  }

  async #commitTaken(taken: WriteJob[]): Promise<Outcome[]> {
    let areApart = false
    let hasPassed = false
    for (;;) {
      try {
        return await this.#commit(await this.#engine.begin(), taken, areApart)
      } catch (error) {
        // Apart from each other none leaves a trace, so this happens once.
        if (error instanceof LeftTraces) areApart = true
        else if (!hasPassed && this.#engine.isPassing(error)) hasPassed = true
        else throw error
      }
    }
  }

  /** What waits behind an answer is done with it, so not all are given at once. */
  async #settle(outcomes: readonly Outcome[]): Promise<void> {
    const others = new Turns()
    for (const outcome of outcomes) {
      settle(outcome)
      await others.letIn()
    }
    for (const listener of this.#listeners) listener()
  }

  /** Runs the units that were taken before, then takes others while there is time: another process may want its turn. */
  async #commit(turn: Turn, taken: WriteJob[], areApart: boolean): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const deadline = performance.now() + turnMaxMs
    const others = new Turns()
    try {
      if (taken.length + this.#waiting.length === 1) {
        const only = taken[0] ?? (this.#waiting.shift() as WriteJob)
        taken[0] = only
        return [await this.#runAlone(turn, only)]
      }
      for (const unit of taken) outcomes.push(await this.#runUnit(turn, unit, areApart))
      while (taken.length < writesPerCommitMax && (taken.length === 0 || performance.now() < deadline)) {
        const unit = this.#waiting.shift()
        if (!unit) break
        taken.push(unit)
        outcomes.push(await this.#runUnit(turn, unit, areApart))
        await others.letIn()
      }
      await this.#end(turn)
      return outcomes
    } catch (error) {
      if (turn.isOpen) await turn.run('ROLLBACK')
      throw error
    } finally {
      turn.end()
    }
  }

  async #end(turn: Turn): Promise<void> {
    try {
      await turn.run('COMMIT')
    } catch (error) {
      if (!this.#engine.isOutcomeUnknown(error)) throw error
      const { message } = error as Error
      throw new OutcomeUnknownError(
        `The commit was not confirmed (${message}): check whether the change was applied before repeating it.`,
        { cause: error },
      )
    }
  }

  /** A unit without neighbours needs no savepoint: if it fails, all of the transaction goes. */
  async #runAlone(turn: Turn, unit: WriteJob): Promise<Outcome> {
    let result: unknown
    try {
      result = await unit.work(turn.trx)
    } catch (error) {
      if (!turn.isOpen || this.#engine.isPassing(error)) throw error
      await turn.run('ROLLBACK')
      return { unit, hasFailed: true, result: error }
    }
    await this.#end(turn)
    return { unit, hasFailed: false, result }
  }

  async #runUnit(turn: Turn, unit: WriteJob, isApart: boolean): Promise<Outcome> {
    const { traces } = turn
    if (isApart) await turn.run('SAVEPOINT unit')
    try {
      const result = await unit.work(turn.trx)
      if (isApart) await turn.run('RELEASE SAVEPOINT unit')
      return { unit, hasFailed: false, result }
    } catch (error) {
      if (!turn.isOpen || this.#engine.isPassing(error)) throw error
      if (isApart) {
        await turn.run('ROLLBACK TO SAVEPOINT unit')
        await turn.run('RELEASE SAVEPOINT unit')
      } else if (turn.traces > traces) throw new LeftTraces()
      return { unit, hasFailed: true, result: error }
    }
  }
}

/** A unit without a savepoint has failed after it had changed something. */
class LeftTraces extends Error {}
