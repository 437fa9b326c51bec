import { type Kysely, sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { compiledOnce } from '../database/compiled.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { addressGroup } from '../http/address.ts'
import { environmentOf, hashApiKey, isWellFormed, looksLikeApiKey } from '../keys/apiKey.ts'
import { type KeyDirectory, type KeyRow, type KnownKey, knownKey } from '../keys/directory.ts'
import { planLimits } from '../keys/plans.ts'
import { Crowd } from './crowd.ts'
import type { Decision, Gate, Outcome, Verdict, Visitor } from './gate.ts'
import { addressLimits, noUsage, settle, type Windows, windowsOf } from './window.ts'

/** A body that was there with its headers took no longer than this; nobody can say what came first. */
const currentMs = 1
const addressesKeptMax = 10_000
const addressRowsMax = 100_000
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

  const lookAtAddress = (address: string) => lookAtGroup(addressGroup(address))

  function lookAtGroup(address: string) {
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

  async function admit({ token, isFree, ...visitor }: Visitor): Promise<Verdict> {
    const address = addressGroup(visitor.address)
    const isKeyLike = token !== undefined && !(looksLikeApiKey(token) && !isWellFormed(token))
    if (!isKeyLike) {
      // Whoever has used up his allowance stays out without a question to the store: it can only be used up more. But
      // if a clock was set back, the store has to settle what that means.
      const { now, windows, isCurrent } = lookAtGroup(address)
      if (isCurrent && (windows.minute.remaining === 0 || windows.day.remaining === 0)) {
        return { now, ...problemOf(undefined, token, now), address: decision('limited', windows) }
      }
    }
    if (!isKeyLike || isFree)
      return verdictOf(await ask(isKeyLike ? token : undefined, isFree ? 0 : 1, address), token, address)
    const { row, index } = await crowd.join(token, address)
    return verdictOf(row, token, address, index)
  }

  const crowd = new Crowd(ask, ({ admitted }) => admitted !== null)

  /** One round trip, for so many requests with one key; for none of them it is only a look. */
  async function ask(
    token: string | undefined,
    count: number,
    address: string | null,
  ): Promise<AdmissionRow> {
    const isElsewhere = token !== undefined && !directory.isOfThisEnvironment(environmentOf(token))
    const hash = token === undefined ? null : hashApiKey(token)
    const [row] = await callAdmit(
      database.read,
      hash,
      isElsewhere,
      count,
      address,
      plans,
      addressLimits.perMinute,
      addressLimits.perDay,
      banAfterRefusals,
      limitClock?.() ?? null,
    )
    if (!row) throw new Error('Nobody was counted.')
    aheadMs = row.at - clock()
    return row
  }

  /** What the answer means for one of those that it was asked for, in the order in which they came. */
  function verdictOf(
    row: AdmissionRow,
    token: string | undefined,
    address: string | null,
    index = 0,
  ): Verdict {
    const now = row.at
    const key = row.key_id === null || token === undefined ? undefined : knownKey(keyRow(row), token)
    const paid = row.address_has_room === null ? undefined : addressDecision(row)
    if (paid && address !== null) remember(address, paid.windows)
    if (!key || row.admitted === null)
      return { now, ...problemOf(key, token, now), ...(paid && { address: paid }) }
    const decision = keyDecision(row, key, index)
    return { now, known: { key, decision }, storeVersion: row.feed_id ?? 0, ...(paid && { address: paid }) }
  }

  const problemOf = (key: KnownKey | undefined, token: string | undefined, now: number) =>
    token === undefined ? {} : { problem: (key && directory.problemOf(key, now)) ?? directory.unknown() }

  return {
    admit,
    look: async (token) => verdictOf(await ask(token, 0, null), token, null),
    isCurrent: (agoMs) => agoMs < currentMs,
    lookAtAddress,
    async flush() {},
    sweep: () => sweepAddresses(database, limitClock),
    forgetKeys() {},
  }
}

/** What PostgreSQL answers of a request, or of several with one key. */
export type AdmissionRow = {
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
  admitted: number | null
  limited: number
  is_new_ban: boolean
  minute_ends_at: number
  minute_used: number
  day_ends_at: number
  day_used: number
  banned_until: number
  feed_id: number | null
  address_has_room: boolean | null
  address_minute_ends_at: number
  address_minute_used: number
  address_day_ends_at: number
  address_day_used: number
}

const callAdmit = compiledOnce<
  [
    hash: string | null,
    isElsewhere: boolean,
    count: number,
    address: string | null,
    plans: string,
    addressPerMinute: number,
    addressPerDay: number,
    banAfter: number,
    now: number | null,
  ],
  AdmissionRow
>((db) => ({
  compile: () =>
    sql<AdmissionRow>`
      SELECT * FROM admit_1(
        ${''}::text, ${''}::boolean, ${0}::bigint, ${''}::text, ${''}::jsonb, ${0}::bigint, ${0}::bigint, ${0}::bigint,
        ${0}::bigint)`.compile(db),
}))

/** The first are admitted, each with one less left; the next are refused; whoever comes after a ban is banned. */
function keyDecision(row: AdmissionRow, key: KnownKey, index: number): Decision {
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
    bannedUntil: banned_until,
    isNewBan: row.is_new_ban && index === admitted + limited,
  }
}

const keyRow = (row: AdmissionRow): KeyRow => ({ ...row, id: row.key_id as number })

const decision = (outcome: Outcome, windows: Windows): Decision => ({
  outcome,
  windows,
  bannedUntil: 0,
  isNewBan: false,
})

const addressDecision = (row: AdmissionRow): Decision => {
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
