import { type Selectable, sql } from 'kysely'
import type { Db } from '../database/db.ts'
import { preparedQuery } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import { effectiveLimits, type Plan, planLimits } from './plans.ts'
import {
  addressLimits,
  type Decision,
  emptyLimitState,
  exemptLimits,
  type LimitState,
  toDecision,
} from './window.ts'

/** The columns of a key that authentication and counting need, and the expiry of the secret that it was found by. */
export type KeyColumns = Omit<
  Selectable<Tables['api_keys']>,
  'id' | 'streams' | 'from_setting' | 'created_at'
> & {
  secret_expires_at: number | null
}

/** The state of an address after a count. */
export type AddressRow = {
  at: number
  /** The number of requests that were admitted. Null if none was counted for the address. */
  address_granted: number | null
  address_minute_ends_at: number
  address_minute_used: number
  address_day_ends_at: number
  address_day_used: number
}

/** What the SQL function admit_1 returns for one or more requests with one key. */
export type AdmitRow = KeyColumns &
  AddressRow &
  Pick<
    Tables['key_usage'],
    'minute_ends_at' | 'minute_used' | 'day_ends_at' | 'day_used' | 'banned_until'
  > & {
    /** Null if there is no such key. */
    key_id: number | null
    /** Null if no request was counted for the key. */
    admitted: number | null
    limited: number
    is_new_ban: boolean
    /** The number of requests that were admitted as exempt. */
    free: number
    /** When the key has exempt requests again; 0 while it has some left. */
    free_used_up_until: number
    database_version: number
  }

export const admitRequests = preparedQuery<
  [
    hash: string,
    isOtherEnvironment: boolean,
    count: number,
    origins: string[] | null,
    isExempt: boolean,
    address: string | null,
    banAfterRejections: number,
    now: number | null,
  ],
  AdmitRow
>(
  () => sql<AdmitRow>`
    SELECT * FROM admit_1(
      ${''}::text, ${''}::boolean, ${0}::bigint, ${''}::text[], ${''}::boolean, ${''}::text,
      ${sql.lit(JSON.stringify(planLimits))}::jsonb,
      ${sql.lit(addressLimits.perMinute)}, ${sql.lit(addressLimits.perDay)},
      ${sql.lit(exemptLimits.perMinute)}, ${sql.lit(exemptLimits.perDay)}, ${0}::bigint, ${0}::bigint)`,
)

/** Counts requests for an address. It waits for no disk, because the table is not logged. */
export const admitAddress = preparedQuery<[address: string, count: number, now: number | null], AddressRow>(
  () => sql<AddressRow>`
    SELECT
      at, granted AS address_granted,
      (usage).minute_ends_at AS address_minute_ends_at, (usage).minute_used AS address_minute_used,
      (usage).day_ends_at AS address_day_ends_at, (usage).day_used AS address_day_used
    FROM admit_address_1(
      ${''}::text, ${sql.lit(addressLimits.perMinute)}, ${sql.lit(addressLimits.perDay)}, ${0}::bigint,
      ${0}::bigint)`,
)

/**
 * The decision on the request at this index of a batch. The first requests are admitted, the next ones are limited, and
 * the ones after the ban starts are banned.
 */
export function decisionAt(row: AdmitRow, index: number): Decision {
  const { at, minute_ends_at, day_ends_at, banned_until, limited } = row
  const admitted = row.admitted ?? 0
  const isAdmitted = index < admitted
  const admittedLater = isAdmitted ? admitted - 1 - index : 0
  const used = { minute_used: row.minute_used - admittedLater, day_used: row.day_used - admittedLater }
  const state = { ...emptyLimitState, ...used, minute_ends_at, day_ends_at, banned_until }
  const limits = effectiveLimits(row.plan as Plan, { perMinute: row.per_minute, perDay: row.per_day })
  const isBanned = !isAdmitted && at < banned_until && index >= admitted + limited
  const outcome = isBanned ? 'banned' : isAdmitted || admitted + limited === 0 ? 'admitted' : 'limited'
  return toDecision(state, limits, at, outcome, row.is_new_ban && index === admitted + limited)
}

export const addressState = (row: AddressRow): LimitState => ({
  ...emptyLimitState,
  minute_ends_at: row.address_minute_ends_at,
  minute_used: row.address_minute_used,
  day_ends_at: row.address_day_ends_at,
  day_used: row.address_day_used,
})

/** The decision on the request at this index of a batch of one address. */
export function addressDecisionAt(row: AddressRow, index: number): Decision {
  const granted = row.address_granted ?? 0
  const isAdmitted = index < granted
  const admittedLater = isAdmitted ? granted - 1 - index : 0
  const state = addressState(row)
  const { minute_used, day_used } = state
  const then = { ...state, minute_used: minute_used - admittedLater, day_used: day_used - admittedLater }
  return toDecision(then, addressLimits, row.at, isAdmitted ? 'admitted' : 'limited')
}

const addressRowsMax = 100_000
export const deleteRowsMax = 1_000

/**
 * Deletes up to `deleteRowsMax` addresses whose windows have ended. While there are more than `addressRowsMax`, it also
 * deletes those whose windows end next. Returns the number of deleted rows.
 */
export async function deleteExpiredAddresses(db: Db, now: number | undefined): Promise<bigint> {
  const at = sql`coalesce(${now ?? null}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000))`
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM address_usage WHERE address IN (
      SELECT address FROM address_usage
      WHERE day_ends_at <= ${at} OR (SELECT count(*) FROM address_usage) > ${addressRowsMax}::bigint
      ORDER BY day_ends_at LIMIT ${deleteRowsMax} FOR UPDATE SKIP LOCKED)`.execute(db)
  return numAffectedRows
}
