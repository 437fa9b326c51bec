import { type Kysely, sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { environmentOf, hashApiKey, isWellFormed, looksLikeApiKey } from '../keys/apiKey.ts'
import { type KeyDirectory, type KeyRow, type KnownKey, knownKey } from '../keys/directory.ts'
import { planLimits } from '../keys/plans.ts'
import type { Decision, Gate, Outcome, Verdict, Visitor } from './gate.ts'
import { addressLimits, noUsage, settle, type Windows, windowsOf } from './window.ts'

/** A body that was there with its headers took no longer than this; nobody can say what came first. */
const currentMs = 1
const addressesKeptMax = 10_000
const addressRowsMax = 1_000_000
const sweepRowsMax = 1_000
const plans = JSON.stringify(planLimits)

export type PostgresGateOptions = {
  readonly database: Database
  readonly directory: KeyDirectory
  readonly banAfterRefusals: number
  readonly clock: Clock
  /** Decides over windows in place of the database's own clock. */
  readonly limitClock: Clock | undefined
}

/**
 * Keys and windows in a PostgreSQL that several instances share: one round trip for each request, which PostgreSQL
 * decides by its own clock. Nothing of a key is remembered here, so a change of it holds at once and everywhere.
 */
export function postgresGate({
  database,
  directory,
  banAfterRefusals,
  clock,
  limitClock,
}: PostgresGateOptions): Gate {
  const addresses = new Map<string, Windows>()
  /** How far the clock that decides is ahead of ours, as of the last answer. */
  let aheadMs = 0

  function remember(address: string, windows: Windows): void {
    addresses.delete(address)
    addresses.set(address, windows)
    if (addresses.size > addressesKeptMax) addresses.delete(addresses.keys().next().value as string)
  }

  function lookAtAddress(address: string) {
    const now = clock() + aheadMs
    const { minute, day } = addresses.get(address) ?? windowsOf(noUsage, addressLimits, now)
    const usage = {
      ...noUsage,
      minuteEndsAt: minute.isOpen ? minute.resetsAt : 0,
      minuteUsed: minute.limit - minute.remaining,
      dayEndsAt: day.isOpen ? day.resetsAt : 0,
      dayUsed: day.limit - day.remaining,
    }
    const settled = settle(usage, now)
    return { now, windows: windowsOf(settled, addressLimits, now), isCurrent: settled === usage }
  }

  async function admit({ token, address, isFree }: Visitor): Promise<Verdict> {
    const isKeyLike = token !== undefined && !(looksLikeApiKey(token) && !isWellFormed(token))
    if (!isKeyLike) {
      // Whoever has used up his allowance stays out without a question to the store: it can only be used up more. But
      // if a clock was set back, the store has to settle what that means.
      const { now, windows, isCurrent } = lookAtAddress(address)
      if (isCurrent && (windows.minute.remaining === 0 || windows.day.remaining === 0)) {
        return { now, ...problemOf(undefined, token, now), address: decision('limited', windows) }
      }
    }
    return ask(isKeyLike ? token : undefined, isFree, address, token)
  }

  async function ask(
    keyToken: string | undefined,
    isLook: boolean,
    address: string | null,
    token = keyToken,
  ): Promise<Verdict> {
    const isElsewhere = keyToken !== undefined && !directory.isOfThisEnvironment(environmentOf(keyToken))
    const hash = keyToken === undefined ? null : hashApiKey(keyToken)
    const { rows } = await sql<Row>`
      SELECT * FROM admit_1(
        ${hash}::text, ${isElsewhere}::boolean, ${isLook}::boolean, ${address}::text, ${plans}::jsonb,
        ${addressLimits.perMinute}::bigint, ${addressLimits.perDay}::bigint, ${banAfterRefusals}::bigint,
        ${limitClock?.() ?? null}::bigint)`.execute(database.read)
    const row = rows[0] as Row
    aheadMs = row.at - clock()
    return verdictOf(row, token, address)
  }

  function verdictOf(row: Row, token: string | undefined, address: string | null): Verdict {
    const now = row.at
    const key = row.key_id === null || token === undefined ? undefined : knownKey(keyRow(row), token)
    const paid = row.address_has_room === null ? undefined : addressDecision(row)
    if (paid && address !== null) remember(address, paid.windows)
    if (!key || row.outcome === null)
      return { now, ...problemOf(key, token, now), ...(paid && { address: paid }) }
    const usage = {
      ...noUsage,
      minuteEndsAt: row.minute_ends_at,
      minuteUsed: row.minute_used,
      dayEndsAt: row.day_ends_at,
      dayUsed: row.day_used,
    }
    const counted: Decision = {
      outcome: row.outcome,
      windows: windowsOf(usage, key.limits, now),
      bannedUntil: row.banned_until,
      isNewBan: row.is_new_ban,
    }
    return { now, known: { key, decision: counted }, ...(paid && { address: paid }) }
  }

  const problemOf = (key: KnownKey | undefined, token: string | undefined, now: number) =>
    token === undefined ? {} : { problem: (key && directory.problemOf(key, now)) ?? directory.unknown() }

  return {
    admit,
    look: (token) => ask(token, true, null),
    isCurrent: (agoMs) => agoMs < currentMs,
    lookAtAddress,
    async flush() {},
    sweep: () => sweepAddresses(database, limitClock),
    forgetKeys() {},
  }
}

type Row = {
  at: number
  key_id: number | null
  plan: string
  per_minute: number | null
  per_day: number | null
  scopes: string
  origins: string
  expires_at: number | null
  revoked_at: number | null
  unbanned_at: number
  secret_expires_at: number | null
  outcome: Outcome | null
  is_new_ban: boolean
  minute_ends_at: number
  minute_used: number
  day_ends_at: number
  day_used: number
  banned_until: number
  address_has_room: boolean | null
  address_minute_ends_at: number
  address_minute_used: number
  address_day_ends_at: number
  address_day_used: number
}

const keyRow = (row: Row): KeyRow => ({ ...row, id: row.key_id as number })

const decision = (outcome: Outcome, windows: Windows): Decision => ({
  outcome,
  windows,
  bannedUntil: 0,
  isNewBan: false,
})

const addressDecision = (row: Row): Decision => {
  const usage = {
    ...noUsage,
    minuteEndsAt: row.address_minute_ends_at,
    minuteUsed: row.address_minute_used,
    dayEndsAt: row.address_day_ends_at,
    dayUsed: row.address_day_used,
  }
  return decision(row.address_has_room ? 'admitted' : 'limited', windowsOf(usage, addressLimits, row.at))
}

/** Forgets addresses whose windows have ended, and beyond a bound those that are nearest to it. */
async function sweepAddresses(database: Database, limitClock: Clock | undefined): Promise<void> {
  const now = sql`coalesce(${limitClock?.() ?? null}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000))`
  const forget = (trx: Kysely<Tables>) =>
    sql`
      DELETE FROM address_usage WHERE address IN (
        SELECT address FROM address_usage
        WHERE day_ends_at <= ${now} OR (SELECT count(*) FROM address_usage) > ${addressRowsMax}::bigint
        ORDER BY day_ends_at LIMIT ${sweepRowsMax} FOR UPDATE SKIP LOCKED)`.execute(trx)
  for (;;) {
    const { numAffectedRows = 0n } = await database.writeApart(forget)
    if (numAffectedRows < sweepRowsMax) return
  }
}
