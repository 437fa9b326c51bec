import { type Kysely, sql } from 'kysely'
import { addressGroup } from '../api/clientAddress.ts'
import { ApiError } from '../api/errors.ts'
import { environmentOf, hashApiKey, isWellFormed, looksLikeApiKey } from '../auth/apiKey.ts'
import { type ApiKeyCache, type ApiKeyRecord, toApiKeyRecord } from '../auth/apiKeyCache.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { isUsableFrom } from '../keys/key.ts'
import { planLimits } from '../keys/plans.ts'
import { KeyedBatcher } from './batcher.ts'
import {
  type AdmissionRow,
  addressDecision,
  callAdmit,
  decisionOf,
  keyDecision,
  keyRow,
} from './postgresAdmission.ts'
import type { RateLimiter, RateLimitResult, Subject } from './rateLimiter.ts'
import { addressLimits, advance, freeLimits, minuteMs, noUsage, type Windows, windowsOf } from './window.ts'

/** A body that was there with its headers took no longer than this; nobody can say what came first. */
const currentMs = 1
const rememberedMax = 10_000
const addressRowsMax = 100_000
const sweepRowsMax = 1_000
const plans = JSON.stringify(planLimits)

type PostgresGateOptions = {
  readonly database: Database
  readonly directory: ApiKeyCache
  readonly banAfterRefusals: number
  readonly clock: Clock
  /** Decides over windows in place of the database's own clock. */
  readonly limitClock: Clock | undefined
}

/**
 * Keys and windows in a PostgreSQL that several instances share: one round trip for each request, which PostgreSQL
 * decides by its own clock. Nothing of a key is remembered here but that its free requests are used up, so a change of it
 * holds at once and everywhere.
 */
export function postgresRateLimiter({
  database,
  directory,
  banAfterRefusals,
  clock,
  limitClock,
}: PostgresGateOptions): RateLimiter {
  const addresses = new Map<string, Windows>()
  /** By the hash of the secret. */
  const freeUsedUpUntil = new Map<string, number>()
  /** How far the clock that decides is ahead of ours, as of the last answer. */
  let aheadMs = 0

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
    const settled = advance(usage, now)
    return { now, windows: windowsOf(settled, addressLimits, now), isCurrent: settled === usage }
  }

  /** An address that has used up its allowance is refused without a round trip: it can only be used up more. */
  function refusedFromMemory(address: string): Paid | undefined {
    const { now, windows, isCurrent } = lookAtGroup(address)
    // If a clock was set back, the store has to settle what that means.
    const isUsedUp = windows.minute.remaining === 0 || windows.day.remaining === 0
    return isCurrent && isUsedUp ? { now, address: decisionOf('limited', windows) } : undefined
  }

  async function pay(address: string): Promise<Paid> {
    return refusedFromMemory(address) ?? paidIn((await ask(undefined, [{ address }], false)).row, address)
  }

  function paidIn(row: AdmissionRow, address: string): Paid {
    const decision = addressDecision(row)
    // Results of calls that run at the same time can arrive out of order: within one window the lowest count is the newest.
    const known = addresses.get(address)?.minute
    const { minute } = decision.windows
    const isOlder = known?.resetsAt === minute.resetsAt && known.remaining < minute.remaining
    if (!isOlder) remember(addresses, address, decision.windows)
    return { now: row.at, address: decision }
  }

  async function admit({
    token,
    origin,
    rateLimitExempt: isFree,
    ...visitor
  }: Subject): Promise<RateLimitResult> {
    const address = addressGroup(visitor.address)
    if (token === undefined) return { ...(await pay(address)), problem: new ApiError('missing_api_key') }
    if (looksLikeApiKey(token) && !isWellFormed(token))
      return { ...(await pay(address)), problem: invalidKey() }
    if (isFree && isFreeUsedUp(token)) {
      const refused = refusedFromMemory(address)
      if (refused) return refused
    }
    const counted = await (isFree ? freeRequests : requests).add(token, { address, origin })
    const { result, index, isOnlyRequest } = counted
    const { row, key } = result
    const known = index === undefined ? undefined : knownIn(result, isFree ? 0 : index)
    const storeVersion = row.feed_id ?? 0
    if (known && index !== undefined && (!isFree || index < row.free))
      return { now: row.at, known, storeVersion }
    const paid = isOnlyRequest ? paidIn(row, address) : await pay(address)
    return known ? { ...paid, known, storeVersion } : { ...paid, ...problemOf(key, paid.now) }
  }

  const requests = new KeyedBatcher(
    (token: string, all: readonly Request[]) => ask(token, all, false),
    isCounted,
  )
  const freeRequests = new KeyedBatcher(
    (token: string, all: readonly Request[]) => ask(token, all, true),
    isCounted,
  )

  /** Whether this instance knows that the key has no free request left: then only its address can pay. */
  function isFreeUsedUp(token: string): boolean {
    const aheadOfNowMs = (freeUsedUpUntil.get(hashApiKey(token)) ?? 0) - (clock() + aheadMs)
    return aheadOfNowMs > 0 && aheadOfNowMs <= minuteMs
  }

  /** One round trip for any number of requests with one key. With no requests it only reads. */
  async function ask(token: string | undefined, all: readonly Request[], isFree: boolean): Promise<Found> {
    const isElsewhere = token !== undefined && !directory.isOfThisEnvironment(environmentOf(token))
    const hash = token === undefined ? null : hashApiKey(token)
    const origins = all.flatMap(({ origin }) => origin ?? [])
    const [row] = await callAdmit(
      database.read,
      hash,
      isElsewhere,
      all.length,
      origins.length > 0 ? origins : null,
      isFree,
      // Several may come from different addresses: those that are not counted for the key pay by themselves.
      (all.length === 1 && all[0]?.address) || null,
      plans,
      addressLimits.perMinute,
      addressLimits.perDay,
      freeLimits.perMinute,
      freeLimits.perDay,
      banAfterRefusals,
      limitClock?.() ?? null,
    )
    if (!row) throw new Error('Invariant violated: admit_1 returned no row.')
    aheadMs = row.at - clock()
    if (hash !== null && row.free_used_up_until > 0) remember(freeUsedUpUntil, hash, row.free_used_up_until)
    const key = row.key_id === null || token === undefined ? undefined : toApiKeyRecord(keyRow(row), token)
    return { row, key }
  }

  const invalidKey = (problem = directory.unknown()) => new ApiError('invalid_api_key', problem)

  /** Why nothing was counted for a key. */
  function problemOf(
    key: ApiKeyRecord | undefined,
    now: number,
  ): Pick<RateLimitResult, 'problem' | 'wrongOriginKey'> {
    if (!key) return { problem: invalidKey() }
    const problem = directory.problemOf(key, now)
    return problem === undefined
      ? { wrongOriginKey: key, problem: new ApiError('origin_not_allowed') }
      : { problem: invalidKey(problem) }
  }

  async function look(token: string): Promise<RateLimitResult> {
    const found = await ask(token, [], false)
    const known = found.row.admitted === null ? undefined : knownIn(found, 0)
    return known ? { now: found.row.at, known } : { now: found.row.at, ...problemOf(found.key, found.row.at) }
  }

  return {
    consume: admit,
    peek: look,
    isCurrent: (agoMs) => agoMs < currentMs,
    peekAddress: lookAtAddress,
    async flush() {},
    sweep: () => sweepAddresses(database, limitClock),
    forgetKeys() {},
  }
}

type Request = { readonly address: string; readonly origin?: string | undefined }
type Found = { readonly row: AdmissionRow; readonly key: ApiKeyRecord | undefined }
type Paid = Required<Pick<RateLimitResult, 'now' | 'address'>>

const isCounted = ({ row, key }: Found, { origin }: Request): boolean =>
  row.admitted !== null && key !== undefined && isUsableFrom(key, origin)

const knownIn = ({ row, key }: Found, index: number): RateLimitResult['known'] =>
  key && { key, decision: keyDecision(row, key, index) }

/** Keeps the most recent ones, up to a bound. */
function remember<V>(map: Map<string, V>, name: string, value: V): void {
  map.delete(name)
  map.set(name, value)
  if (map.size > rememberedMax) map.delete(map.keys().next().value as string)
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
    const { numAffectedRows = 0n } = await database.writeConcurrently(forget)
    if (numAffectedRows < sweepRowsMax) return
  }
}
