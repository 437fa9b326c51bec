import { type Kysely, type Selectable, sql } from 'kysely'
import { preparedQuery } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import { effectiveLimits, type Plan } from './plans.ts'
import { addressLimits, type Decision, decide, noUsage, type Usage } from './window.ts'

/** The columns of a key that authentication and counting need. */
export type KeyColumns = Pick<
  Selectable<Tables['api_keys']>,
  | 'name'
  | 'plan'
  | 'per_minute'
  | 'per_day'
  | 'scopes'
  | 'origins'
  | 'expires_at'
  | 'revoked_at'
  | 'unbanned_at'
> & { secret_expires_at: number | null }

/** What the SQL function admit_1 returns for one or more requests with one key. */
export type AdmitRow = KeyColumns & {
  at: number
  /** Null if there is no such key. */
  key_id: number | null
  /** Null if no request was counted for the key. */
  admitted: number | null
  limited: number
  is_new_ban: boolean
  minute_ends_at: number
  minute_used: number
  day_ends_at: number
  day_used: number
  banned_until: number
  /** The number of requests that were admitted as exempt. */
  free: number
  /** When the key has exempt requests again; 0 while it has some left. */
  free_used_up_until: number
  feed_id: number | null
  address_granted: number | null
  address_minute_ends_at: number
  address_minute_used: number
  address_day_ends_at: number
  address_day_used: number
}

export const callAdmit = preparedQuery<
  [
    hash: string | null,
    isOtherEnvironment: boolean,
    count: number,
    origins: string[] | null,
    isExempt: boolean,
    address: string | null,
    plans: string,
    addressPerMinute: number,
    addressPerDay: number,
    exemptPerMinute: number,
    exemptPerDay: number,
    banAfterRejections: number,
    now: number | null,
  ],
  AdmitRow
>((db) => ({
  compile: () =>
    sql<AdmitRow>`
      SELECT * FROM admit_1(
        ${''}::text, ${''}::boolean, ${0}::bigint, ${''}::text[], ${''}::boolean, ${''}::text, ${''}::jsonb,
        ${0}::bigint, ${0}::bigint, ${0}::bigint, ${0}::bigint, ${0}::bigint, ${0}::bigint)`.compile(db),
}))

/**
 * The decision on the request at this index of a batch. The first requests are admitted, the next ones are limited, and
 * the ones after the ban starts are banned.
 */
export function keyDecision(row: AdmitRow, index: number): Decision {
  const { at, banned_until, limited } = row
  const admitted = row.admitted ?? 0
  const isAdmitted = index < admitted
  const admittedLater = isAdmitted ? admitted - 1 - index : 0
  const usage = {
    ...noUsage,
    minuteEndsAt: row.minute_ends_at,
    minuteUsed: row.minute_used - admittedLater,
    dayEndsAt: row.day_ends_at,
    dayUsed: row.day_used - admittedLater,
    bannedUntil: banned_until,
  }
  const limits = effectiveLimits(row.plan as Plan, { perMinute: row.per_minute, perDay: row.per_day })
  const isBanned = !isAdmitted && at < banned_until && index >= admitted + limited
  const outcome = isBanned ? 'banned' : isAdmitted || admitted + limited === 0 ? 'admitted' : 'limited'
  return decide(usage, limits, at, outcome, row.is_new_ban && index === admitted + limited)
}

export const addressUsage = (row: AdmitRow): Usage => ({
  ...noUsage,
  minuteEndsAt: row.address_minute_ends_at,
  minuteUsed: row.address_minute_used,
  dayEndsAt: row.address_day_ends_at,
  dayUsed: row.address_day_used,
})

export const addressDecision = (row: AdmitRow): Decision =>
  decide(addressUsage(row), addressLimits, row.at, row.address_granted === 1 ? 'admitted' : 'limited')

/**
 * Deletes up to `limit` addresses whose windows have ended. While there are more than `rowsMax`, also those whose windows
 * end next. Returns how many it deleted.
 */
export async function deleteEndedAddresses(
  db: Kysely<Tables>,
  { now, limit, rowsMax }: { now: number | undefined; limit: number; rowsMax: number },
): Promise<bigint> {
  const at = sql`coalesce(${now ?? null}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000))`
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM address_usage WHERE address IN (
      SELECT address FROM address_usage
      WHERE day_ends_at <= ${at} OR (SELECT count(*) FROM address_usage) > ${rowsMax}::bigint
      ORDER BY day_ends_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`.execute(db)
  return numAffectedRows
}
