import type { OutcomeUnknownError } from './database.ts'
import type { Db } from './tables.ts'

/** One write that waits for a commit. */
export type WriteJob = {
  readonly addedAt: number
  readonly work: (trx: Db) => Promise<unknown>
  readonly onDurable: (() => void) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The result of a job in a committed transaction. A job that failed has changed nothing. */
export type JobResult =
  | { readonly ok: true; readonly job: WriteJob; readonly value: unknown }
  | { readonly ok: false; readonly job: WriteJob; readonly error: unknown }

/** Settles the promise of a job whose transaction is durable. */
export function settleJob(result: JobResult): void {
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
export const rejectWithUnknownOutcome = (result: JobResult, error: OutcomeUnknownError): void =>
  result.job.reject(result.ok ? error : result.error)
