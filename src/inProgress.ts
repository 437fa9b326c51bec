import type { Database } from './database/database.ts'
import type { RateLimiter } from './limits/rateLimiter.ts'
import type { Lane } from './server/lanes.ts'

/** See docs/decisions/0060-load-shedding.md. */
const defaultInProgressMax = 100
/** When the search index is this far behind, only `changesMin` changes can be in progress. At 5 seconds, searches fail. */
const indexBehindMaxMs = 3_000
const changesMin = 2
const waitersMax = 1_000
const noWaiters = { read: 0, write: 0 }

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
    // Requests that wait for others with the same subject or address hardly use the database, and must not block others.
    const { read, write } = limiter.addressWaiters ?? noWaiters
    const addressWaiters = Math.min(lane === 'write' ? write : read, waitersMax)
    // On SQLite one write runs after another, so those of the index take turns with the others.
    if (lane !== 'write' || !database.subjectWaiters) return max + addressWaiters
    // The further the index is behind, the fewer changes can be in progress.
    const part = Math.min(1, Math.max(0, 1 - indexer.behindMs / indexBehindMaxMs))
    const subjectWaiters = Math.min(database.subjectWaiters(), waitersMax)
    const changesMax = Math.max(Math.min(changesMin, max), Math.round(part * max))
    return changesMax + addressWaiters + subjectWaiters
  }
