import type { Clock } from './clock.ts'
import type { Database } from './database/database.ts'
import { pruneEvents } from './events/queries.ts'
import { expireDueHolds, hasDueHolds } from './orders/queries.ts'
import type { Log } from './telemetry/log.ts'
import { pruneDeliveries } from './webhooks/deliveries.ts'

export type Job = { readonly intervalMs: number; run(): Promise<void> }

/**
 * Runs each job at its interval, one run at a time. A failed run is logged, and the next one tries again. Returns a
 * function that stops them.
 */
export function startSchedule(jobs: readonly Job[], log: Log): () => void {
  const timers = jobs.map(({ intervalMs, run }) => {
    let isRunning = false
    return setInterval(async () => {
      if (isRunning) return
      isRunning = true
      await run().catch((error: unknown) => log.error({ err: error }, 'background work failed'))
      isRunning = false
    }, intervalMs)
  })
  return () => {
    for (const timer of timers) clearInterval(timer)
  }
}

/** Deletes events and deliveries whose retention has ended, in bounded batches. */
export async function pruneEventsAndDeliveries(database: Database, clock: Clock): Promise<void> {
  // PostgreSQL gives events their ids here, and only events with an id are deleted: there may be no other reader.
  await database.readableThrough()
  for (const prune of [pruneEvents, pruneDeliveries]) {
    while ((await database.writeUnlogged((trx) => prune(trx, clock()))) > 0) {
      // There may be more.
    }
  }
}

/** Expires holds that are due. Reads first, because there is usually nothing to do. */
export async function expireHolds(database: Database, clock: Clock): Promise<void> {
  while (await hasDueHolds(database.read, clock())) {
    const expired = await database.write((trx) => expireDueHolds(trx, clock()))
    // Other transactions have locked the rest.
    if (expired === 0) return
  }
}
