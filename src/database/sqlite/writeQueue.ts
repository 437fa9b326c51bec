import { setImmediate as nextIteration } from 'node:timers/promises'
import { DatabaseUnavailableError, OutcomeUnknownError } from '../database.ts'
import type { SqliteTrx } from './driver.ts'
import {
  BatchWriter,
  type BatchWriterOptions,
  eventLoopYielder,
  type JobResult,
  type WriteJob,
} from './writeBatch.ts'

const jobsQueuedMax = 10_000
/** Commits that may follow before an earlier one is durable. */
const unsyncedCommitsMax = 16
/** A job that is queued for longer is rejected. */
const queuedMaxMs = 10_000

/** Serializes writes. Jobs that are queued at the same time share one commit and one sync. */
export class WriteQueue {
  readonly #writer: BatchWriter
  readonly #durability: BatchWriterOptions['durability']
  readonly #queue: WriteJob[] = []
  readonly #commitListeners: (() => void)[] = []
  #draining: Promise<void> | undefined
  /** Commits that are not known to be durable yet. */
  readonly #unsynced = new Map<readonly JobResult[], Promise<void>>()
  #isStalled = false
  #isClosed = false
  /** End the waits for a sync when the disk becomes unresponsive. */
  readonly #stallListeners = new Set<() => void>()

  constructor(options: BatchWriterOptions) {
    this.#writer = new BatchWriter(options)
    this.#durability = options.durability
  }

  add<T>(work: (trx: SqliteTrx) => Promise<T>, onDurable?: () => void): Promise<T> {
    if (this.#isClosed) return Promise.reject(new DatabaseUnavailableError('The database is closed.'))
    if (this.#queue.length >= jobsQueuedMax) {
      return Promise.reject(new DatabaseUnavailableError('Too many writes are waiting.'))
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const addedAt = performance.now()
    this.#queue.push({ addedAt, work, onDurable, resolve: resolve as WriteJob['resolve'], reject })
    this.#draining ??= this.#drain()
    return promise
  }

  onCommit(listener: () => void): void {
    this.#commitListeners.push(listener)
  }

  get length(): number {
    return this.#queue.length
  }

  /** Resolves when all jobs are settled, or the disk is unresponsive. Jobs that are added later are rejected. */
  async close(): Promise<void> {
    // A job that is settled may be followed by another one.
    while (this.#draining || (this.#unsynced.size > 0 && !this.#isStalled)) {
      await this.#draining
      await this.#settledOrStalled(Promise.all(this.#unsynced.values()))
    }
    this.#isClosed = true
  }

  /** While the disk is unresponsive, jobs that wait for a sync are rejected. If it completes, `onDurable` still runs. */
  setStalled(isStalled: boolean): void {
    this.#isStalled = isStalled
    if (!isStalled) return
    const error = new OutcomeUnknownError('The disk did not confirm the change in time.')
    for (const results of this.#unsynced.keys())
      for (const result of results) rejectWithUnknownOutcome(result, error)
    for (const listener of this.#stallListeners) listener()
  }

  #settledOrStalled(work: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const done = () => {
      this.#stallListeners.delete(done)
      resolve()
    }
    this.#stallListeners.add(done)
    if (this.#isStalled) done()
    work.then(done, done)
    return promise
  }

  async #drain(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        this.#rejectExpired()
        // Requests that have already arrived join this commit.
        await nextIteration()
        if (this.#queue.length > 0) await this.#commitBatch()
      }
    } finally {
      // In the same tick as the last check of the queue: a job that is added later starts the next run.
      this.#draining = undefined
    }
  }

  #rejectExpired(): void {
    const firstValid = this.#queue.findIndex(({ addedAt }) => performance.now() - addedAt < queuedMaxMs)
    for (const job of this.#queue.splice(0, firstValid === -1 ? this.#queue.length : firstValid)) {
      job.reject(new DatabaseUnavailableError('The change waited too long for a commit.'))
    }
  }

  async #commitBatch(): Promise<void> {
    const results = await this.#writer.commit(this.#queue)
    if (results.length === 0) return
    const sync = this.#durability()?.sync()
    if (!sync) return this.#settle(results)
    // The next commit does not wait for this sync, but the callers do.
    const settled = sync
      .then(
        () => this.#settle(results),
        (cause: unknown) => {
          const error = new OutcomeUnknownError('The disk did not confirm the change.', { cause })
          for (const result of results) rejectWithUnknownOutcome(result, error)
        },
      )
      .finally(() => this.#unsynced.delete(results))
    this.#unsynced.set(results, settled)
    if (this.#unsynced.size > unsyncedCommitsMax) await this.#settledOrStalled(settled)
  }

  /** Each settled job continues a request, so other events run in between. */
  async #settle(results: readonly JobResult[]): Promise<void> {
    const yieldToEventLoop = eventLoopYielder()
    for (const result of results) {
      settleJob(result)
      await yieldToEventLoop()
    }
    for (const listener of this.#commitListeners) listener()
  }
}

/** Settles the promise of a job whose transaction is durable. */
function settleJob(result: JobResult): void {
  const { job } = result
  if (!result.ok) {
    job.reject(result.error)
    return
  }
  try {
    job.onDurable?.()
    job.resolve(result.value)
  } catch (error) {
    job.reject(error)
  }
}

/** Rejects a job whose transaction may not be durable. A job that failed keeps its error. */
const rejectWithUnknownOutcome = (result: JobResult, error: OutcomeUnknownError): void =>
  result.job.reject(result.ok ? error : result.error)
