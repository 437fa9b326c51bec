import type { Clock } from './clock.ts'
import type { Database } from './database/database.ts'
import { pruneEvents } from './events/queries.ts'
import { expireDueHolds, hasDueHolds } from './orders/queries.ts'
import type { Log } from './telemetry/log.ts'
import { pruneDeliveries } from './webhooks/deliveries.ts'

type Job = { readonly everyMs: number; run(): Promise<void> }

/** Runs each job again and again, never twice at the same time. A run that fails is logged, and the next one tries again. */
export function startSchedule(jobs: readonly Job[], log: Log): { stop(): void } {
  const timers = jobs.map(({ everyMs, run }) => {
    let isRunning = false
    return setInterval(async () => {
      if (isRunning) return
      isRunning = true
      await run().catch((error: unknown) => log.error({ err: error }, 'background work failed'))
      isRunning = false
    }, everyMs)
  })
  return {
    stop() {
      for (const timer of timers) clearInterval(timer)
    },
  }
}

/** Deletes events and deliveries that are older than promised, a bounded number at a time. */
export async function pruneAll(database: Database, clock: Clock): Promise<void> {
  for (const prune of [pruneEvents, pruneDeliveries]) {
    while ((await database.write((trx) => prune(trx, clock()))) > 0) {
      // There may be more.
    }
  }
}

/** Expires holds that are due. It reads before it writes, since there is seldom anything to do. */
export async function expireHolds(database: Database, clock: Clock): Promise<void> {
  while (await hasDueHolds(database.read, clock())) {
    await database.write((trx) => expireDueHolds(trx, clock()))
  }
}
