import type { Kysely } from 'kysely'
import type { OutcomeUnknownError } from './database.ts'
import type { Tables } from './tables.ts'

/** One piece of work that waits for its commit. */
export type WriteJob = {
  addedAt: number
  work: (trx: Kysely<Tables>) => Promise<unknown>
  onDurable: (() => void) | undefined
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

/** How a unit ended; its caller is told once the commit is on disk. `result` is the error where it failed. */
export type Outcome = { readonly unit: WriteJob; readonly hasFailed: boolean; readonly result: unknown }

export function settle({ unit, hasFailed, result }: Outcome): void {
  if (hasFailed) {
    unit.reject(result)
    return
  }
  try {
    unit.onDurable?.()
  } catch (error) {
    unit.reject(error)
    return
  }
  unit.resolve(result)
}

/** A unit that failed has changed nothing, so its own error stands. */
export const settleUnknown = ({ unit, hasFailed, result }: Outcome, error: OutcomeUnknownError): void =>
  unit.reject(hasFailed ? result : error)
