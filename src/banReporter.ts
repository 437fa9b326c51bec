import { byService } from './audit/audit.ts'
import { recordAudit } from './audit/queries.ts'
import { type Clock, timestamp } from './clock.ts'
import type { Database } from './database/database.ts'
import { recordEvent } from './events/queries.ts'
import { type Log, logFailure } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

type BanReporterOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** PostgreSQL records the event and the audit entry together with the ban. */
  readonly recordsBans: boolean
}

/** Counts, logs and records the ban of a key. */
export const createBanReporter =
  ({ database, clock, log, metrics, recordsBans }: BanReporterOptions) =>
  (id: number, untilMs: number): void => {
    metrics.bans.increment()
    const bannedUntil = timestamp(untilMs)
    log.warn({ keyId: id, until: bannedUntil }, 'key banned')
    if (!recordsBans) return
    database
      .write(async (trx) => {
        const now = clock()
        await recordEvent(trx, now, 'key.banned', { id, bannedUntil })
        await recordAudit(trx, byService(now), 'key.banned', `key ${id}`)
      })
      .catch(logFailure(log))
  }
