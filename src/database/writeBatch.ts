import { setImmediate as nextIteration } from 'node:timers/promises'
import { DatabaseUnavailableError, OutcomeUnknownError } from './database.ts'
import type { Db } from './tables.ts'
import type { JobResult, WriteJob } from './writeJob.ts'

const jobsPerCommitMax = 256
/** No other process can write during this time. */
const batchMaxMs = 500
/** The time that jobs may block the event loop. */
const blockMaxMs = 1

/** The transaction as one job uses it. */
type JobTransaction = {
  readonly trx: Db
  readonly connection: {
    /** Whether a statement may have changed something, or has failed. */
    readonly hasMutations: boolean
    /** Rejects all further statements: a job that fails may leave some that would run in the next job. */
    end(): void
  }
}

/** An open write transaction. */
export type Transaction = {
  openJob(): JobTransaction
  /** Executes a transaction control statement, such as COMMIT. */
  execute(statement: string): void | Promise<void>
  /** Whether the transaction can still be rolled back, in whole or to a savepoint. */
  readonly isOpen: boolean
  /** Releases the connection, whether or not the transaction has ended. */
  release(): void
}

export type WriteEngine = {
  /** Acquires the write lock and begins a transaction. */
  begin(): Promise<Transaction>
  /** Whether a second attempt may succeed after this error. */
  isRetryable(error: unknown): boolean
  /** Whether the outcome of COMMIT is unknown after this error. */
  isOutcomeUnknown(error: unknown): boolean
  /** Resolves when all commits are durable. Undefined if COMMIT waits for that. */
  sync?(): Promise<void> | undefined
}

type BatchResult =
  | { readonly ok: true; readonly results: readonly JobResult[] }
  | { readonly ok: false; readonly jobs: readonly WriteJob[]; readonly error: DatabaseUnavailableError }

type Failure =
  /** A job failed after it had changed something. */
  { readonly kind: 'partialWrite' } | { readonly kind: 'failed'; readonly error: unknown }
type Attempt = { readonly kind: 'committed'; readonly results: readonly JobResult[] } | Failure
type JobRun = { readonly kind: 'finished'; readonly result: JobResult } | Failure

/** How the changes of a failed job are undone: with the whole transaction, not at all, or with a savepoint. */
type Isolation = 'transaction' | 'none' | 'savepoint'

/**
 * Takes jobs from the queue, runs them in one transaction and commits it. A failed job must not affect the others. Most
 * failed jobs have changed nothing. After a partial write the transaction is rolled back and all jobs run again, each in
 * a savepoint; savepoints cost too much to use them always.
 */
export async function commitBatch(engine: WriteEngine, queue: WriteJob[]): Promise<BatchResult> {
  const jobs: WriteJob[] = []
  let useSavepoints = false
  let isRetry = false
  for (;;) {
    const attempt = await attemptCommit(engine, queue, jobs, useSavepoints)
    if (attempt.kind === 'committed') return { ok: true, results: attempt.results }
    if (attempt.kind === 'partialWrite') {
      useSavepoints = true
      continue
    }
    if (isRetry || !engine.isRetryable(attempt.error)) {
      // If the write lock could not be acquired, all queued jobs have waited long enough.
      return { ok: false, jobs: jobs.length > 0 ? jobs : queue.splice(0), error: unavailable(attempt.error) }
    }
    isRetry = true
  }
}

const unavailable = (error: unknown): DatabaseUnavailableError =>
  error instanceof DatabaseUnavailableError
    ? error
    : new DatabaseUnavailableError('The database did not accept the change.', { cause: error })

async function attemptCommit(
  engine: WriteEngine,
  queue: WriteJob[],
  jobs: WriteJob[],
  useSavepoints: boolean,
): Promise<Attempt> {
  let transaction: Transaction | undefined
  let attempt: Attempt
  try {
    transaction = await engine.begin()
    attempt = await runJobs(engine, transaction, queue, jobs, useSavepoints)
    const hasChanges = attempt.kind === 'committed' && attempt.results.some(({ ok }) => ok)
    if (hasChanges) await commit(engine, transaction)
  } catch (error) {
    attempt = { kind: 'failed', error }
  }
  try {
    if (transaction?.isOpen) await transaction.execute('ROLLBACK')
  } catch (error) {
    if (attempt.kind !== 'failed') attempt = { kind: 'failed', error }
  }
  transaction?.release()
  return attempt
}

/** Runs the jobs of the previous attempt, then takes more from the queue until a bound is reached. */
async function runJobs(
  engine: WriteEngine,
  transaction: Transaction,
  queue: WriteJob[],
  jobs: WriteJob[],
  useSavepoints: boolean,
): Promise<Attempt> {
  const isOnly = jobs.length + queue.length === 1
  const isolation = isOnly ? 'transaction' : useSavepoints ? 'savepoint' : 'none'
  const deadline = performance.now() + batchMaxMs
  const results: JobResult[] = []
  const yieldToEventLoop = eventLoopYielder()
  for (;;) {
    let job = jobs[results.length]
    if (!job) {
      const isFull = jobs.length >= (isOnly ? 1 : jobsPerCommitMax)
      if (isFull || (jobs.length > 0 && performance.now() >= deadline)) break
      job = queue.shift()
      if (!job) break
      jobs.push(job)
    }
    const run = await runJob(engine, transaction, job, isolation)
    if (run.kind !== 'finished') return run
    results.push(run.result)
    await yieldToEventLoop()
  }
  return { kind: 'committed', results }
}

async function runJob(
  engine: WriteEngine,
  transaction: Transaction,
  job: WriteJob,
  isolation: Isolation,
): Promise<JobRun> {
  if (isolation === 'savepoint') await transaction.execute('SAVEPOINT job')
  const { trx, connection } = transaction.openJob()
  const result = await resultOf(job, trx)
  connection.end()
  if (!result.ok) {
    const { error } = result
    if (!transaction.isOpen || engine.isRetryable(error)) return { kind: 'failed', error }
    if (isolation === 'none' && connection.hasMutations) return { kind: 'partialWrite' }
    if (isolation === 'savepoint') await transaction.execute('ROLLBACK TO SAVEPOINT job')
  }
  if (isolation === 'savepoint') await transaction.execute('RELEASE SAVEPOINT job')
  return { kind: 'finished', result }
}

async function resultOf(job: WriteJob, trx: Db): Promise<JobResult> {
  try {
    return { ok: true, job, value: await job.work(trx) }
  } catch (error) {
    return { ok: false, job, error }
  }
}

async function commit(engine: WriteEngine, transaction: Transaction): Promise<void> {
  try {
    await transaction.execute('COMMIT')
  } catch (error) {
    if (!engine.isOutcomeUnknown(error)) throw error
    const { message } = error as Error
    throw new OutcomeUnknownError(
      `The commit was not confirmed (${message}). Check whether the change was applied before retrying.`,
      { cause: error },
    )
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
