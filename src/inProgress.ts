import type { Database } from './database/database.ts'
import type { RateLimiter } from './limits/rateLimiter.ts'
import type { Lane } from './server/lanes.ts'

/** See docs/decisions/0060-load-shedding.md. */
const defaultInProgressMax = 100
/** Searches fail when the search index is 5 seconds behind. Before that, it gets the time of the changes. */
const indexBehindMaxMs = 4_000
const changesMin = 2
const lockWaitersMax = 1_000

type InProgressOptions = {
  readonly database: Database
  readonly limiter: RateLimiter
  readonly indexer: { readonly behindMs: number }
  readonly inProgressMax?: number
}

/** How many requests of a lane can be in progress at the same time. */
export const createInProgressMax =
  ({ database, limiter, indexer, inProgressMax: max = defaultInProgressMax }: InProgressOptions) =>
  (lane: Lane): number => {
    const addressWaiters = limiter.addressWaiters ?? 0
    if (lane !== 'write') return max + Math.min(addressWaiters, lockWaitersMax)
    // Requests that wait for the lock of an animal or an address do not use the database, and must not stop others.
    const waiters = Math.min(addressWaiters + (database.lockWaiters?.() ?? 0), lockWaitersMax)
    // The more the index is behind, the fewer changes.
    const part = Math.max(0, 1 - indexer.behindMs / indexBehindMaxMs)
    return Math.max(Math.min(changesMin, max), part * max) + waiters
  }
