import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { generateApiKey, hashApiKey } from '../../src/auth/apiKey.ts'
import { type ApiKey, ApiKeyCache } from '../../src/auth/apiKeyCache.ts'
import type { KeyResult, KeyStore } from '../../src/auth/keyStore.ts'
import { createKnownSecrets } from '../../src/auth/knownSecrets.ts'
import { postgresKeyStore } from '../../src/auth/postgresKeyStore.ts'
import { sqliteKeyStore } from '../../src/auth/sqliteKeyStore.ts'
import type { Clock } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import { openMigrated } from '../../src/database/open.ts'
import { type Plan, planNames } from '../../src/limits/plans.ts'
import { PostgresRateLimiter } from '../../src/limits/postgresRateLimiter.ts'
import { findLimitState } from '../../src/limits/queries.ts'
import type { RateLimiter } from '../../src/limits/rateLimiter.ts'
import { SqliteRateLimiter } from '../../src/limits/sqliteRateLimiter.ts'
import { addressLimits, dayMs, exemptLimits, minuteMs } from '../../src/limits/window.ts'
import { openDatabaseFor } from './engine.ts'
import { folderFor } from './servers.ts'

export const start = Date.UTC(2026, 10, 15)
export const hourMs = 60 * minuteMs
export const home = 'https://shelter.example'
export const otherHome = 'https://other-shelter.example'

export type Settings = { plan: Plan; perMinute: number | null; perDay: number | null; origins?: string[] }

/** A database with its rate limiter, of either engine. */
type Side = { database: Database; cache: ApiKeyCache; limiter: RateLimiter; keys: KeyStore }

export function postgresSide(database: Database, clock: Clock, banAfterRejections: number): Side {
  const cache = new ApiKeyCache(database, 'production')
  const limiter = new PostgresRateLimiter({ database, banAfterRejections, clock, limitClock: clock })
  return { database, cache, limiter, keys: postgresKeyStore(cache, limiter, createKnownSecrets(database)) }
}

function memorySide(database: Database, clock: Clock, banAfterRejections: number): Side {
  const cache = new ApiKeyCache(database, 'production')
  const limiter = new SqliteRateLimiter({ database, banAfterRejections, clock })
  return { database, cache, limiter, keys: sqliteKeyStore(cache, limiter, clock) }
}

type Request = { token: string | undefined; address: string; origin?: string | undefined; isExempt?: boolean }

export const consume = async ({ keys }: Side, { token, address, origin, isExempt = false }: Request) =>
  keys.consume(token, {
    authorization: undefined,
    address,
    origin,
    isChange: false,
    rateLimitExempt: isExempt,
  })

/** A result without what only one of the engines reports. */
function comparable({ databaseVersion: _version, key, ...result }: KeyResult) {
  return { ...result, decision: result.decision, key: key && comparableKey(key) }
}
/** An exempt request that would be rejected in any case is rejected without a round trip, and so without its key. */
const withoutKey = (result: KeyResult): KeyResult => ({
  ...result,
  isKeyUnchecked: true,
  key: undefined,
  decision: undefined,
})
const comparableKey = (key: ApiKey) => ({ ...key, streamsMax: undefined })

async function embeddedFor(t: TestContext): Promise<Database> {
  const database = await openMigrated({ dataDir: folderFor(t) }, 0)
  t.after(() => database.close())
  return database
}

const columns = ({ plan, perMinute, perDay, origins = [] }: Settings) => ({
  plan,
  per_minute: perMinute,
  per_day: perDay,
  origins: JSON.stringify(origins),
})

export async function addKey(
  { database }: Pick<Side, 'database'>,
  id: number,
  secret: string,
  settings: Settings,
) {
  await database.write(async (trx) => {
    await trx
      .insertInto('api_keys')
      .values({
        id,
        name: 'counted',
        ...columns(settings),
        scopes: '["pets:read"]',
        from_setting: 0,
        created_at: 0,
        unbanned_at: 0,
      })
      .execute()
    await trx
      .insertInto('api_key_secrets')
      .values({ hash: hashApiKey(secret), key_id: id, created_at: 0 })
      .execute()
  })
}

async function changeKey({ database, cache }: Side, id: number, change: Record<string, unknown>) {
  await database.write((trx) => trx.updateTable('api_keys').set(change).where('id', '=', id).execute())
  cache.invalidate()
}

/** Steps to the ends of windows and bans, to 1 ms before and after them, and to any time between. */
const forward = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...[1, 5, 10, 20].flatMap((minutes) => [-1, 0, 1].map((ms) => minutes * minuteMs + ms)),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(dayMs - 1, dayMs, dayMs + 1, dayMs + 5 * minuteMs) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 * dayMs }) },
)
const backward = fc.oneof(fc.integer({ min: -90_000, max: -1 }), fc.integer({ min: -2 * dayMs, max: -1 }))
const time = fc.oneof({ weight: 12, arbitrary: forward }, { weight: 1, arbitrary: backward })

const small = (max: number) => fc.option(fc.integer({ min: 1, max }), { freq: 8 })
const settings: fc.Arbitrary<Settings> = fc.record({
  plan: fc.oneof(
    { weight: 5, arbitrary: fc.constant<Plan>('enterprise') },
    { weight: 1, arbitrary: fc.constantFrom(...planNames) },
  ),
  perMinute: small(5),
  perDay: small(15),
  origins: fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.constantFrom<string[][]>([home], [otherHome, home]) },
  ),
})
const call = fc.record({
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constant('request' as const) },
    { weight: 1, arbitrary: fc.constant('exempt' as const) },
    { weight: 1, arbitrary: fc.constant('find' as const) },
  ),
  ms: time,
  origin: fc.constantFrom(undefined, home, home, home, otherHome, 'null', ''),
  times: fc.oneof(
    { weight: 9, arbitrary: fc.constant(1) },
    { weight: 3, arbitrary: fc.integer({ min: 2, max: 8 }) },
    // At and above the limit of exempt requests.
    { weight: 1, arbitrary: fc.constantFrom(...[0, 1, 2].map((more) => exemptLimits.perMinute + more)) },
  ),
})
const step = fc.oneof(
  { weight: 20, arbitrary: call },
  { weight: 2, arbitrary: settings.map((changed) => ({ kind: 'settings' as const, changed })) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('unban' as const),
      agoMs: fc.oneof(fc.constant(0), fc.nat(10_000)),
    }),
  },
)

const play = fc.record({
  first: settings,
  banAfter: fc.integer({ min: 1, max: 4 }),
  steps: fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
})
/** Run concurrently, each with a separate key, to hide the latency of the round trips. */
const concurrentPlays = 5

type Play = typeof play extends fc.Arbitrary<infer P> ? P : never

/** Random plays can have few requests of one outcome. These have at least this number of each. */
function fixedPlays(count: number): Play[] {
  const perMinute = 5
  const first: Settings = { plan: 'enterprise', perMinute, perDay: 15, origins: [] }
  const fixed: Play = {
    first,
    banAfter: 2,
    steps: [
      { kind: 'exempt', ms: 0, origin: undefined, times: exemptLimits.perMinute + count },
      // One that is limited, one that begins a ban, and one during it.
      ...Array.from({ length: count }, () => ({
        kind: 'request' as const,
        ms: 3 * dayMs,
        origin: undefined,
        times: perMinute + 3,
      })),
      { kind: 'settings', changed: { ...first, origins: [home] } },
      { kind: 'request', ms: 0, origin: otherHome, times: count },
    ],
  }
  return Array.from({ length: concurrentPlays }, () => fixed)
}

/** Compares every decision about keys and every stored row of the two engines. */
export async function compareKeyCounts(t: TestContext, runs: number): Promise<void> {
  const { database: shared } = await openDatabaseFor(t)
  const embedded = await embeddedFor(t)
  let lastId = 0
  let calls = 0
  const outcomes = new Map<string, number>()

  async function run({ first, banAfter, steps }: Play) {
    let now = start
    const id = ++lastId
    const token = generateApiKey('production')
    const address = `192.0.2.${id}`
    const sides = [postgresSide(shared, () => now, banAfter), memorySide(embedded, () => now, banAfter)]
    const change = (changed: Record<string, unknown>) =>
      Promise.all(sides.map((side) => changeKey(side, id, changed)))
    await Promise.all(sides.map((side) => addKey(side, id, token, first)))
    for (const next of steps) {
      if (next.kind === 'settings') await change(columns(next.changed))
      else if (next.kind === 'unban') await change({ unbanned_at: now - next.agoMs })
      else {
        now += next.ms
        if (next.kind === 'find') {
          const found = await Promise.all(sides.map(async ({ keys }) => keys.find(token)))
          const [actual, expected] = found.map((key) => key && comparableKey(key))
          assert.deepEqual(actual, expected)
          continue
        }
        const request = { token, address, origin: next.origin, isExempt: next.kind === 'exempt' }
        for (let n = 0; n < next.times; n++) {
          const results = await Promise.all(sides.map((side) => consume(side, request)))
          const [actual, expected] = results.map(comparable)
          assert.deepEqual(actual, results[0]?.isKeyUnchecked ? withoutKey(expected as KeyResult) : expected)
          note(results[0] as KeyResult)
        }
      }
    }
    for (const { limiter } of sides) await limiter.flush()
    const [stored, expected] = await Promise.all(
      sides.map(({ database }) => findLimitState(database.read, id)),
    )
    assert.deepEqual(stored, expected)
  }

  function note({ decision, addressDecision }: KeyResult) {
    const outcome = decision ? decision.outcome : 'wrong origin'
    const all = [
      outcome,
      decision?.isNewBan && 'new ban',
      decision && addressDecision && 'exempt, counted for the address',
    ]
    for (const each of all.filter((name) => typeof name === 'string'))
      outcomes.set(each, (outcomes.get(each) ?? 0) + 1)
    calls++
  }

  const plays = fc.array(play, { minLength: concurrentPlays, maxLength: concurrentPlays })
  await fc.assert(
    fc.asyncProperty(plays, async (each) => void (await Promise.all(each.map(run)))),
    { numRuns: runs, examples: [[fixedPlays(runs)]], endOnFailure: true },
  )
  t.diagnostic(`${lastId} sequences, ${calls} calls: ${JSON.stringify(Object.fromEntries(outcomes))}`)
  for (const outcome of [
    'admitted',
    'limited',
    'banned',
    'new ban',
    'wrong origin',
    'exempt, counted for the address',
  ])
    assert.ok((outcomes.get(outcome) ?? 0) > 2 * runs, `${outcome} was hardly tried`)
}

/** The same for addresses, with any token and when the clock is set back. */
export async function compareAddressCounts(t: TestContext, runs: number): Promise<void> {
  const { database: shared } = await openDatabaseFor(t)
  const embedded = await embeddedFor(t)
  let now = start
  let sequences = 0
  const outcomes = new Map<string, number>()
  const request = fc.record({
    ms: fc.oneof(forward, backward),
    times: fc.constantFrom(
      1,
      2,
      addressLimits.perMinute - 1,
      addressLimits.perMinute,
      addressLimits.perMinute + 1,
    ),
    // No key, an unknown key, a damaged key, and a key of another environment.
    token: fc.constantFrom(
      undefined,
      generateApiKey('production'),
      'ps_live_damaged',
      generateApiKey('staging'),
    ),
  })
  // Random requests can all stay within the limit.
  const overLimit = { ms: 0, times: addressLimits.perMinute + 1, token: undefined }
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 5, size: 'max' }), async (requests) => {
      now = start
      const address = `2001:db8:${(++sequences).toString(16)}::1`
      const sides = [postgresSide(shared, () => now, 3), memorySide(embedded, () => now, 3)]
      for (const { ms, times, token } of requests) {
        now += ms
        for (let n = 0; n < times; n++) {
          const results = await Promise.all(sides.map((side) => consume(side, { token, address })))
          const [actual, expected] = results.map(comparable)
          assert.deepEqual(actual, expected)
          const outcome = String(actual?.addressDecision?.outcome)
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }
        const [actual, expected] = sides.map(({ limiter }) => limiter.peekAddress(address))
        assert.deepEqual(actual, expected, 'a request that is not counted sees the same windows')
      }
    }),
    { numRuns: runs, examples: [[[overLimit, overLimit]]], endOnFailure: true },
  )
  t.diagnostic(`${sequences} sequences: ${JSON.stringify(Object.fromEntries(outcomes))}`)
  for (const outcome of ['admitted', 'limited'])
    assert.ok((outcomes.get(outcome) ?? 0) > runs / 3, `${outcome} was hardly tried`)
}
