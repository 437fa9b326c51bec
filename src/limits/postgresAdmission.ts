import { sql } from 'kysely'
import type { ApiKeyRecord, KeyRow } from '../auth/apiKeyCache.ts'
import { preparedQuery } from '../database/preparedQuery.ts'
import type { Decision, Outcome } from './rateLimiter.ts'
import { addressLimits, noUsage, type Windows, windowsOf } from './window.ts'

/** The call of the counting function of database/migrations/0001-rate-limits.postgres.sql, and what its result means. */

/** What PostgreSQL answers of a request, or of several with one key. */
export type AdmissionRow = {
  at: number
  key_id: number | null
  name: string
  plan: string
  per_minute: number | null
  per_day: number | null
  scopes: string
  origins: string
  expires_at: number | null
  revoked_at: number | null
  unbanned_at: number
  secret_expires_at: number | null
  /** Null where nothing was counted for the key. */
  admitted: number | null
  limited: number
  is_new_ban: boolean
  minute_ends_at: number
  minute_used: number
  day_ends_at: number
  day_used: number
  banned_until: number
  /** How many requests were free of charge. */
  free: number
  /** When the key has free requests again; 0 while it has some. */
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
    isElsewhere: boolean,
    count: number,
    origins: string[] | null,
    isFree: boolean,
    address: string | null,
    plans: string,
    addressPerMinute: number,
    addressPerDay: number,
    freePerMinute: number,
    freePerDay: number,
    banAfter: number,
    now: number | null,
  ],
  AdmissionRow
>((db) => ({
  compile: () =>
    sql<AdmissionRow>`
      SELECT * FROM admit_1(
        ${''}::text, ${''}::boolean, ${0}::bigint, ${''}::text[], ${''}::boolean, ${''}::text, ${''}::jsonb,
        ${0}::bigint, ${0}::bigint, ${0}::bigint, ${0}::bigint, ${0}::bigint, ${0}::bigint)`.compile(db),
}))

export const keyRow = (row: AdmissionRow): KeyRow => ({ ...row, id: row.key_id as number })

/** The first are admitted, each with one less left; the next are refused. Requests after the ban starts are banned. */
export function keyDecision(row: AdmissionRow, key: ApiKeyRecord, index: number): Decision {
  const { at, banned_until, limited } = row
  const admitted = row.admitted ?? 0
  const isAdmitted = index < admitted
  // Those admitted after this one.
  const later = isAdmitted ? admitted - 1 - index : 0
  const usage = {
    ...noUsage,
    minuteEndsAt: row.minute_ends_at,
    minuteUsed: row.minute_used - later,
    dayEndsAt: row.day_ends_at,
    dayUsed: row.day_used - later,
  }
  const isBanned = !isAdmitted && at < banned_until && index >= admitted + limited
  return {
    outcome: isBanned ? 'banned' : isAdmitted || admitted + limited === 0 ? 'admitted' : 'limited',
    windows: windowsOf(usage, key.limits, at),
    bannedUntil: isBanned ? banned_until : 0,
    isNewBan: row.is_new_ban && index === admitted + limited,
  }
}

export function addressDecision(row: AdmissionRow): Decision {
  const usage = {
    ...noUsage,
    minuteEndsAt: row.address_minute_ends_at,
    minuteUsed: row.address_minute_used,
    dayEndsAt: row.address_day_ends_at,
    dayUsed: row.address_day_used,
  }
  const windows = windowsOf(usage, addressLimits, row.at)
  return decisionOf(row.address_granted === 1 ? 'admitted' : 'limited', windows)
}

export const decisionOf = (outcome: Outcome, windows: Windows): Decision => ({
  outcome,
  windows,
  bannedUntil: 0,
  isNewBan: false,
})
