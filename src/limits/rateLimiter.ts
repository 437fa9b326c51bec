import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Decision, Windows } from './window.ts'

export type RateLimiterOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly banAfterRejections: number
}

export type RateLimitResult = {
  /** The time by the clock that decides. */
  readonly now: number
  /** Set if the key is usable. */
  readonly decision?: Decision | undefined
  /** Set if the request was counted for its address. */
  readonly addressDecision?: Decision
  /** The key was not looked up: the request is rejected for its address, whether or not the key is valid. */
  readonly isKeyUnchecked?: boolean
  readonly databaseVersion?: number
}

/** What counting in memory and counting in PostgreSQL have in common. */
export type RateLimiter = {
  /** The windows of an address as far as this instance knows them. Counts nothing. */
  peekAddress(address: string): { readonly windows: Windows; readonly now: number }
  /** Requests whose address is being counted. Those of one address wait for each other. Undefined if counting takes no time. */
  readonly addressWaiters?: { readonly read: number; readonly write: number }
  /** Writes pending counts to the database. */
  flush(): Promise<void>
  /** Deletes counts that are no longer needed, in bounded batches until the signal is aborted. */
  sweep(signal?: AbortSignal): Promise<void>
  /** Drops everything cached about keys, because the database was replaced. */
  forgetKeys(): void
}
