import { pruneIdempotencyRecords } from './api/idempotency.ts'
import { pruneAuditEntries } from './audit/queries.ts'
import type { Clock } from './clock.ts'
import type { Database } from './database/database.ts'
import { pruneEvents } from './events/queries.ts'
import type { Importer } from './imports/http/importer.ts'
import type { RateLimiter } from './limits/rateLimiter.ts'
import type { ListingIndexer } from './listings/indexer.ts'
import { expireDueHolds, hasDueHolds } from './orders/queries.ts'
import { deleteOrphanedFiles, hasOrphanedFiles } from './photos/queries.ts'
import type { RestoreDetector } from './restoreDetector.ts'
import { type Log, logFailure } from './telemetry/log.ts'
import { pruneUsage } from './usage/queries.ts'
import type { UsageCounter } from './usage/usageCounter.ts'
import { applyCutoffs } from './webhooks/cutoffs.ts'
import type { Deliverer } from './webhooks/deliverer.ts'
import { pruneDeliveries } from './webhooks/deliveries.ts'

/** A run ends after its current batch when the signal is aborted. The next start continues it. */
type Job = { readonly intervalMs: number; run(signal: AbortSignal): Promise<void> }

export const defaultJobBounds = {
  /** How often the counts of SQLite's rate limiter are written. A crash loses those since then. */
  limiterFlushMs: 500,
  /** How late a hold expires, or a webhook is retried. */
  dueMs: 1_000,
  sweepMs: 60_000,
}

type JobsOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly bounds: Readonly<typeof defaultJobBounds>
  readonly limiter: RateLimiter
  readonly usage: UsageCounter
  readonly deliverer: Deliverer
  readonly indexer: ListingIndexer
  readonly importer: Importer
  readonly restore: RestoreDetector
}

export function createJobs(options: JobsOptions): Job[] {
  const { database, clock, log, bounds, limiter, usage, deliverer, indexer, importer, restore } = options
  const { limiterFlushMs, dueMs, sweepMs } = bounds
  return [
    {
      intervalMs: limiterFlushMs,
      // Together, so that they share a commit: with SQLite every commit drops the cached pages.
      run: async () => void (await Promise.all([limiter.flush(), usage.flushDue()])),
    },
    { intervalMs: sweepMs, run: (signal) => limiter.sweep(signal) },
    { intervalMs: sweepMs, run: (signal) => pruneExpired(database, clock, signal, logFailure(log)) },
    { intervalMs: dueMs, run: (signal) => expireHolds(database, clock, signal) },
    { intervalMs: dueMs, run: async () => deliverer.wake() },
    { intervalMs: dueMs, run: async () => indexer.wake() },
    { intervalMs: dueMs, run: async () => importer.wake() },
    { intervalMs: dueMs, run: (signal) => deletePhotoFiles(database, signal) },
    { intervalMs: dueMs, run: (signal) => applyCutoffs(database, clock, signal, logFailure(log)) },
    { intervalMs: dueMs, run: async () => void (restore.isPending() && (await restore.check())) },
  ]
}

/**
 * Runs each job at its interval, one run at a time. A failed run is logged, and the next one tries again. Returns a
 * function that stops them and waits for those that run.
 */
export function startSchedule(jobs: readonly Job[], log: Log): () => Promise<void> {
  const stopping = new AbortController()
  const running = new Map<Job, Promise<void>>()
  const timers = jobs.map((job) =>
    setInterval(() => {
      if (running.has(job)) return
      const run = job
        .run(stopping.signal)
        .catch(logFailure(log))
        .finally(() => running.delete(job))
      running.set(job, run)
    }, job.intervalMs),
  )
  return async () => {
    stopping.abort()
    for (const timer of timers) clearInterval(timer)
    await Promise.all(running.values())
  }
}

const prunes = [pruneEvents, pruneDeliveries, pruneAuditEntries, pruneUsage, pruneIdempotencyRecords]

/** Deletes what is past its retention, in bounded batches. If that fails for one table, the others are still pruned. */
export async function pruneExpired(
  database: Database,
  clock: Clock,
  signal: AbortSignal | undefined,
  onFailure: (error: unknown) => void,
): Promise<void> {
  for (const prune of prunes) {
    try {
      // PostgreSQL gives events their ids here, and only events with an id are deleted: there may be no other reader.
      if (prune === pruneEvents) await database.allReadableThrough(signal)
      while (!signal?.aborted && (await database.writeUnlogged((trx) => prune(trx, clock()))) > 0) {
        // There may be more.
      }
    } catch (error) {
      onFailure(error)
    }
  }
}

/** Deletes the files of photos whose animals were removed. Reads first, because there is usually nothing to do. */
export async function deletePhotoFiles(database: Database, signal?: AbortSignal): Promise<void> {
  if (!(await hasOrphanedFiles(database.read))) return
  while (!signal?.aborted && (await database.writeUnlogged((trx) => deleteOrphanedFiles(trx))) > 0) {
    // There may be more.
  }
  database.truncateWal()
}

/** Expires holds that are due. Reads first, because there is usually nothing to do. */
export async function expireHolds(database: Database, clock: Clock, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted && (await hasDueHolds(database.read, clock()))) {
    const expired = await database.write((trx) => expireDueHolds(trx, clock()))
    // Other transactions have locked the rest.
    if (expired === 0) return
  }
}
