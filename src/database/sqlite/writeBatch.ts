import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { DatabaseUnavailableError, OutcomeUnknownError } from '../database.ts'
import { withRetry } from '../retry.ts'
import { isIoError, isLocked, SqliteTrx } from './driver.ts'
import type { Durability } from './durability.ts'
import { StatementCache } from './statementCache.ts'

const jobsPerCommitMax = 256
/** No other process can write during this time. */
const batchMaxMs = 500
/** The time that jobs may block the event loop. */
const blockMaxMs = 1

const lockRetry = { waitMaxMs: 5_000, retryMs: 20, isRetryable: isLocked }
/** In this time, a writer of another process that waits for the lock tries to take it. */
export const writerTurnMs = 1.5 * lockRetry.retryMs

/** One write that waits for a commit. */
export type WriteJob = {
  readonly addedAt: number
  readonly work: (trx: SqliteTrx) => Promise<unknown>
  readonly onDurable: (() => void) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The result of a job in a committed transaction. A job that failed has changed nothing. */
export type JobResult =
  | { readonly ok: true; readonly job: WriteJob; readonly value: unknown }
  | { readonly ok: false; readonly job: WriteJob; readonly error: unknown }

export type BatchWriterOptions = {
  /** The one connection that writes. */
  readonly writer: DatabaseSync
  /** Present in a server, which syncs commits in another thread. */
  durability(): Durability | undefined
  /** Reported synchronously after COMMIT. */
  readonly rowChanges: { report(): void }
}

/** Runs jobs in transactions of the one connection that writes. */
export class BatchWriter {
  readonly #options: BatchWriterOptions
  readonly #statements: StatementCache

  constructor(options: BatchWriterOptions) {
    this.#options = options
    this.#statements = new StatementCache(options.writer)
  }

  /**
   * Takes jobs from the queue, runs them in one transaction and commits it. Returns their results; if the transaction
   * fails, it rejects the jobs and returns none. A failed job must not affect the others. Most failed jobs have changed
   * nothing. After a partial write the transaction is rolled back and all jobs run again, each in a savepoint; savepoints
   * cost too much to use them always.
   */
  async commit(queue: WriteJob[]): Promise<readonly JobResult[]> {
    const jobs: WriteJob[] = []
    try {
      return (await this.#attempt(queue, jobs, false)) ?? (await this.#attempt(queue, jobs, true)) ?? []
    } catch (cause) {
      const error =
        cause instanceof DatabaseUnavailableError
          ? cause
          : new DatabaseUnavailableError('The database did not accept the change.', { cause })
      // If the write lock could not be acquired, all queued jobs have waited long enough.
      for (const job of jobs.length > 0 ? jobs : queue.splice(0)) job.reject(error)
      return []
    }
  }

  /** Returns undefined after a partial write. */
  async #attempt(queue: WriteJob[], jobs: WriteJob[], hasSavepoints: boolean) {
    await this.#begin()
    try {
      const results = await this.#runJobs(queue, jobs, hasSavepoints)
      if (results?.some(({ ok }) => ok)) this.#commit()
      else this.#execute('ROLLBACK')
      return results
    } catch (error) {
      this.#rollbackFailed()
      throw error
    }
  }

  /** Runs the jobs of the previous attempt, then takes more from the queue until a bound is reached. */
  async #runJobs(queue: WriteJob[], jobs: WriteJob[], hasSavepoints: boolean) {
    const deadline = performance.now() + batchMaxMs
    const results: JobResult[] = []
    const yieldToEventLoop = eventLoopYielder()
    for (;;) {
      let job = jobs[results.length]
      if (!job) {
        if (jobs.length >= jobsPerCommitMax || performance.now() >= deadline) return results
        job = queue.shift()
        if (!job) return results
        jobs.push(job)
      }
      const result = await this.#runJob(job, hasSavepoints)
      if (!result) return undefined
      results.push(result)
      await yieldToEventLoop()
    }
  }

  /** Returns undefined after a partial write. */
  async #runJob(job: WriteJob, hasSavepoint: boolean): Promise<JobResult | undefined> {
    if (hasSavepoint) this.#execute('SAVEPOINT job')
    const trx = new SqliteTrx(this.#options.writer, this.#statements)
    const result = await resultOf(job, trx)
    trx.sqlite.end()
    if (!result.ok) {
      // SQLite itself has rolled back the transaction.
      if (!this.#options.writer.isTransaction) throw result.error
      if (hasSavepoint) this.#execute('ROLLBACK TO SAVEPOINT job')
      else if (trx.sqlite.hasMutations) return undefined
    }
    if (hasSavepoint) this.#execute('RELEASE SAVEPOINT job')
    return result
  }

  /** Another process may hold the write lock. Retries outside SQLite, which would block the event loop. */
  async #begin(): Promise<void> {
    await withRetry(() => {
      this.#options.durability()?.assertWritable()
      this.#execute('BEGIN IMMEDIATE')
    }, lockRetry)
  }

  #commit(): void {
    const durability = this.#options.durability()
    // Failing before COMMIT guarantees that nothing was applied.
    durability?.assertWritable()
    try {
      this.#execute('COMMIT')
    } catch (error) {
      if (!isIoError(error)) throw error
      durability?.fail(error)
      // A commit that could not be written or synced may still be in the log, and a recovery may apply it.
      throw new OutcomeUnknownError(
        `The commit was not confirmed (${(error as Error).message}). Check whether the change was applied before retrying.`,
        { cause: error },
      )
    }
    this.#options.rowChanges.report()
  }

  #rollbackFailed(): void {
    try {
      if (this.#options.writer.isTransaction) this.#execute('ROLLBACK')
    } catch {
      // The first error is reported.
    }
  }

  #execute(statement: string): void {
    this.#statements.get(statement).statement.run()
  }
}

async function resultOf(job: WriteJob, trx: SqliteTrx): Promise<JobResult> {
  try {
    return { ok: true, job, value: await job.work(trx) }
  } catch (error) {
    return { ok: false, job, error }
  }
}

/** Returns a function that lets other events run if the event loop was blocked for longer than the bound. */
export function eventLoopYielder(): () => Promise<void> {
  let blockedSince = performance.now()
  return async () => {
    if (performance.now() - blockedSince < blockMaxMs) return
    await nextIteration()
    blockedSince = performance.now()
  }
}
