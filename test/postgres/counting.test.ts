import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { hashApiKey, makeApiKey } from '../../src/auth/apiKey.ts'
import { ApiKeyCache } from '../../src/auth/apiKeyCache.ts'
import type { Clock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/database/database.ts'
import { openMigrated } from '../../src/database/open.ts'
import { type Plan, planNames } from '../../src/keys/plans.ts'
import { memoryRateLimiter } from '../../src/limits/memory.ts'
import { MemoryCounts } from '../../src/limits/memoryCounts.ts'
import { postgresRateLimiter } from '../../src/limits/postgres.ts'
import { findUsage } from '../../src/limits/queries.ts'
import type { RateLimiter, RateLimitResult } from '../../src/limits/rateLimiter.ts'
import { addressLimits, dayMs, freeLimits, minuteMs } from '../../src/limits/window.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { createClient } from '../support/client.ts'
import { databaseFor, type StoreEnv } from '../support/engine.ts'
import { folderFor } from '../support/servers.ts'

const start = Date.UTC(2026, 10, 15)
const hourMs = 60 * minuteMs
const home = 'https://shelter.example'
const otherHome = 'https://other-shelter.example'

type Settings = { plan: Plan; perMinute: number | null; perDay: number | null; origins?: string[] }

/** One store with its gate, whichever of the two it is. */
type Side = { database: Database; directory: ApiKeyCache; gate: RateLimiter }

function postgresSide(database: Database, clock: Clock, banAfterRefusals: number): Side {
  const directory = new ApiKeyCache(database, 'production')
  const gate = postgresRateLimiter({ database, directory, banAfterRefusals, clock, limitClock: clock })
  return { database, directory, gate }
}

function memorySide(database: Database, clock: Clock, banAfterRefusals: number): Side {
  const directory = new ApiKeyCache(database, 'production')
  const gate = memoryRateLimiter(directory, new MemoryCounts(database, banAfterRefusals), clock)
  return { database, directory, gate }
}

/** What was decided, without the state of the store that was seen on the way. */
const decided = ({ storeVersion: _version, ...verdict }: RateLimitResult): RateLimitResult => verdict

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

async function addKey({ database }: Pick<Side, 'database'>, id: number, secret: string, settings: Settings) {
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

async function changeKey({ database, directory }: Side, id: number, change: Record<string, unknown>) {
  await database.write((trx) => trx.updateTable('api_keys').set(change).where('id', '=', id).execute())
  directory.forget()
}

/** Steps that fall on, just before and just after the edges of windows and bans, and anywhere between. */
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
    { weight: 1, arbitrary: fc.constant('free' as const) },
    { weight: 1, arbitrary: fc.constant('look' as const) },
  ),
  ms: time,
  origin: fc.constantFrom(undefined, home, home, home, otherHome, 'null', ''),
  times: fc.oneof(
    { weight: 9, arbitrary: fc.constant(1) },
    { weight: 3, arbitrary: fc.integer({ min: 2, max: 8 }) },
    // More than are free of charge.
    { weight: 1, arbitrary: fc.constantFrom(...[0, 1, 2].map((more) => freeLimits.perMinute + more)) },
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
/** Played at the same time, each with a key of its own, so that none waits for the way to the store and back. */
const playsAtOnce = 5

test('PostgreSQL decides over keys as the arithmetic in memory does: each verdict and each stored row', async (t) => {
  const { database: shared } = await databaseFor(t)
  const embedded = await embeddedFor(t)
  let lastId = 0
  let calls = 0
  const outcomes = new Map<string, number>()

  async function run({ first, banAfter, steps }: typeof play extends fc.Arbitrary<infer P> ? P : never) {
    let now = start
    const id = ++lastId
    const token = makeApiKey('production')
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
        const ask = (gate: RateLimiter) =>
          next.kind === 'look'
            ? gate.peek(token)
            : gate.consume({ token, address, origin: next.origin, rateLimitExempt: next.kind === 'free' })
        for (let n = 0; n < next.times; n++) {
          const [counted, expected] = await Promise.all(
            sides.map(async ({ gate }) => decided(await ask(gate))),
          )
          assert.deepEqual(counted, expected)
          note(counted as RateLimitResult)
        }
      }
    }
    for (const { gate } of sides) await gate.flush()
    const [stored, expected] = await Promise.all(sides.map(({ database }) => findUsage(database.read, id)))
    assert.deepEqual(stored, expected)
  }

  function note({ known, wrongOriginKey, address }: RateLimitResult) {
    const outcome = wrongOriginKey ? 'foreign' : String(known?.decision.outcome)
    const all = [
      outcome,
      known?.decision.isNewBan && 'newly banned',
      known && address && 'charged to its address',
    ]
    for (const each of all.filter((name) => typeof name === 'string'))
      outcomes.set(each, (outcomes.get(each) ?? 0) + 1)
    calls++
  }

  const plays = fc.array(play, { minLength: playsAtOnce, maxLength: playsAtOnce })
  await fc.assert(
    fc.asyncProperty(plays, async (each) => void (await Promise.all(each.map(run)))),
    { numRuns: 50, endOnFailure: true },
  )
  t.diagnostic(`${lastId} sequences, ${calls} calls: ${JSON.stringify(Object.fromEntries(outcomes))}`)
  for (const outcome of [
    'admitted',
    'limited',
    'banned',
    'newly banned',
    'foreign',
    'charged to its address',
  ])
    assert.ok((outcomes.get(outcome) ?? 0) > 100, `${outcome} was hardly tried`)
})

test('PostgreSQL counts strangers by their address as memory does, whatever they send, wherever the clock goes', async (t) => {
  const { database: shared } = await databaseFor(t)
  const embedded = await embeddedFor(t)
  let now = start
  let sequences = 0
  const outcomes = new Map<string, number>()
  const knock = fc.record({
    ms: fc.oneof(forward, backward),
    times: fc.constantFrom(
      1,
      2,
      addressLimits.perMinute - 1,
      addressLimits.perMinute,
      addressLimits.perMinute + 1,
    ),
    // Nothing, a key that nobody has, and one that is damaged.
    token: fc.constantFrom(undefined, makeApiKey('production'), 'ps_live_damaged', makeApiKey('staging')),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(knock, { minLength: 1, maxLength: 5, size: 'max' }), async (knocks) => {
      now = start
      const address = `2001:db8:${(++sequences).toString(16)}::1`
      const sides = [postgresSide(shared, () => now, 3), memorySide(embedded, () => now, 3)]
      for (const { ms, times, token } of knocks) {
        now += ms
        for (let n = 0; n < times; n++) {
          const [counted, expected] = await Promise.all(
            sides.map(({ gate }) => gate.consume({ token, address, rateLimitExempt: false })),
          )
          assert.deepEqual(counted, expected)
          const outcome = String(counted?.address?.outcome)
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }
        const [looked, expected] = sides.map(({ gate: { peekAddress: lookAtAddress } }) => {
          const { now: at, windows } = lookAtAddress(address)
          return { at, windows }
        })
        assert.deepEqual(looked, expected, 'what is shown to whoever was not counted')
      }
    }),
    { numRuns: 25, endOnFailure: true },
  )
  t.diagnostic(`${sequences} sequences: ${JSON.stringify(Object.fromEntries(outcomes))}`)
  for (const outcome of ['admitted', 'limited'])
    assert.ok((outcomes.get(outcome) ?? 0) > 10, `${outcome} was hardly tried`)
})

test('an address that is used up when the clock is set back is held for a minute, not until the old end', async (t) => {
  const { database } = await databaseFor(t)
  let now = start
  const { gate } = postgresSide(database, () => now, 3)
  const knock = async () =>
    (await gate.consume({ token: undefined, address: '192.0.2.1', rateLimitExempt: false })).address?.outcome
  for (let n = 0; n < addressLimits.perMinute; n++) assert.equal(await knock(), 'admitted')
  assert.equal(await knock(), 'limited')
  now -= hourMs
  assert.equal(await knock(), 'limited')
  now += minuteMs
  assert.equal(await knock(), 'admitted')
})

const ample: Settings = { plan: 'enterprise', perMinute: 1_000_000, perDay: 1_000_000 }

test('a look takes nothing, from the key or from its address, and leaves no count of the key behind', async (t) => {
  const { database } = await databaseFor(t)
  let now = start
  const { gate } = postgresSide(database, () => now, 3)
  const token = makeApiKey('production')
  await addKey({ database }, 1, token, { ...ample, perMinute: 2 })
  const rows = async () => [
    await database.read.selectFrom('key_usage').selectAll().execute(),
    (await sql`SELECT address, minute_used FROM address_usage`.execute(database.read)).rows,
  ]
  for (let n = 0; n < 5; n++) {
    const seen = await gate.peek(token)
    assert.equal(seen.known?.decision.windows.minute.remaining, 2)
  }
  assert.deepEqual(await rows(), [[], []])
  for (let n = 0; n < 5; n++) {
    const free = await gate.consume({ token, address: '192.0.2.1', rateLimitExempt: true })
    assert.equal(free.known?.decision.windows.minute.remaining, 2)
  }
  assert.deepEqual(await rows(), [[], [{ address: 'key 1', minute_used: 5 }]])
  await gate.consume({ token, address: '192.0.2.1', rateLimitExempt: false })
  const before = await rows()
  assert.equal(before[0]?.length, 1)
  now += 1_000
  const seen = await gate.peek(token)
  assert.equal(seen.known?.decision.windows.minute.remaining, 1)
  assert.deepEqual(await rows(), before)
})

test('instances that count at the same moment let in exactly the allowance', async (t) => {
  const { env, database } = await databaseFor(t)
  const other = await openMigrated({ dataDir: env.PETSTORE_DATA_DIR, databaseUrl: env.DATABASE_URL }, 0)
  t.after(() => other.close())
  const token = makeApiKey('production')
  await addKey({ database }, 1, token, { plan: 'enterprise', perMinute: 50, perDay: 1_000 })
  const gates = [database, other].map((each) => postgresSide(each, () => start, 10).gate)
  const knocks = gates.flatMap((gate) =>
    Array.from({ length: 40 }, () => gate.consume({ token, address: '192.0.2.1', rateLimitExempt: false })),
  )
  const verdicts = await Promise.all(knocks)
  const count = (outcome: string) =>
    verdicts.filter(({ known }) => known?.decision.outcome === outcome).length
  assert.deepEqual([count('admitted'), count('limited'), count('banned')], [50, 9, 21])
  assert.equal(verdicts.filter(({ known }) => known?.decision.isNewBan).length, 1, 'a ban begins once')
})

test('instances that count free requests at the same moment give away exactly the allowance', async (t) => {
  const { env, database } = await databaseFor(t)
  const other = await openMigrated({ dataDir: env.PETSTORE_DATA_DIR, databaseUrl: env.DATABASE_URL }, 0)
  t.after(() => other.close())
  const token = makeApiKey('production')
  await addKey({ database }, 1, token, ample)
  const gates = [database, other].map((each) => postgresSide(each, () => start, 10).gate)
  const verdicts = await Promise.all(
    gates.flatMap((gate, instance) =>
      Array.from({ length: 100 }, () =>
        gate.consume({ token, address: `192.0.2.${instance}`, rateLimitExempt: true }),
      ),
    ),
  )
  assert.equal(verdicts.filter(({ address }) => address === undefined).length, freeLimits.perMinute)
  const paid = verdicts.filter(({ address }) => address?.outcome === 'admitted').length
  assert.equal(paid, 200 - freeLimits.perMinute, 'no address has paid twice, and none was let off')
})

test('a mixed crowd of one publishable key is counted for the key or for each address, as its origin says', async (t) => {
  const { database } = await databaseFor(t)
  const { gate } = postgresSide(database, () => start, 10)
  const token = makeApiKey('production')
  await addKey({ database }, 1, token, { ...ample, perMinute: 30, origins: [home] })
  const verdicts = await Promise.all(
    Array.from({ length: 120 }, async (_, n) => {
      const origin = [home, otherHome, undefined][n % 3]
      const address = `192.0.2.${n % 2}`
      return { origin, verdict: await gate.consume({ token, address, origin, rateLimitExempt: false }) }
    }),
  )
  const atHome = verdicts.filter(({ origin }) => origin === home).map(({ verdict }) => verdict)
  const left = atHome
    .filter(({ known }) => known?.decision.outcome === 'admitted')
    .map(({ known }) => known?.decision.windows.minute.remaining ?? Number.NaN)
  assert.deepEqual(
    left.toSorted((a, b) => b - a),
    Array.from({ length: 30 }, (_, n) => 29 - n),
  )
  assert.equal(atHome.filter(({ known }) => known?.decision.outcome === 'limited').length, 10)
  const foreign = verdicts.filter(({ origin }) => origin !== home).map(({ verdict }) => verdict)
  assert.ok(foreign.every(({ wrongOriginKey, known, address }) => wrongOriginKey && !known && address))
  for (const address of ['192.0.2.0', '192.0.2.1']) {
    const { windows } = gate.peekAddress(address)
    assert.equal(windows.minute.remaining, addressLimits.perMinute - 40)
  }
})

test('GET /limits is one round trip, shared by those that wait, and none once key and address are used up', async (t) => {
  const { database } = await databaseFor(t)
  let roundTrips = 0
  const counting: Database = {
    ...database,
    get read() {
      roundTrips++
      return database.read
    },
  }
  let now = start
  const { gate } = postgresSide(counting, () => now, 10)
  const token = makeApiKey('production')
  await addKey({ database }, 1, token, ample)
  const ask = () => gate.consume({ token, address: '192.0.2.1', rateLimitExempt: true })
  await ask()
  assert.equal(roundTrips, 1)
  await Promise.all(Array.from({ length: freeLimits.perMinute - 1 }, ask))
  assert.equal(roundTrips, 3, 'one for the first, one for all that came behind it')
  for (let n = 0; n < addressLimits.perMinute; n++) assert.equal((await ask()).address?.outcome, 'admitted')
  assert.equal((await ask()).address?.outcome, 'limited')
  const before = roundTrips
  for (let n = 0; n < 50; n++) assert.equal((await ask()).address?.outcome, 'limited')
  assert.equal(roundTrips, before)
  now += minuteMs
  assert.equal((await ask()).address, undefined, 'free again')
})

/** An instance of the service as it runs in earnest, save that its own clock is off. */
async function instanceFor(t: TestContext, env: StoreEnv, aheadMs: number) {
  const { log } = createLog({ level: 'silent', redact: (text) => text })
  const config = readConfig({ ...env, PORT: '0', PETSTORE_ADMIN_KEY: adminKey })
  const service = await startService({ config, clock: () => Date.now() + aheadMs, log })
  const client = createClient(`http://127.0.0.1:${service.port}`)
  t.after(async () => {
    client.closeConnections()
    await service.stop()
  })
  return client
}
const adminKey = 'the-admin-key-of-the-counting-test'

async function secondsOf(database: Database): Promise<number> {
  const { rows } = await sql<{ now: string }>`SELECT extract(epoch FROM clock_timestamp()) AS now`.execute(
    database.read,
  )
  return Number(rows[0]?.now)
}

test("the database's clock decides over windows: an instance whose own is an hour off shows the same", async (t) => {
  const { env, database } = await databaseFor(t)
  const right = await instanceFor(t, env, 0)
  const made = await right.request('POST', '/v1/keys', {
    key: adminKey,
    body: { name: 'counted', plan: 'enterprise', limits: { perMinute: 6, perDay: 1_000 } },
  })
  const { key } = made.json
  const instances = [right, await instanceFor(t, env, hourMs), await instanceFor(t, env, -hourMs)]
  const before = await secondsOf(database)
  const resets: string[] = []
  for (const [n, instance] of [...instances, ...instances].entries()) {
    const { status, headers } = await instance.request('GET', '/v1/pets', { key })
    assert.equal(status, 200)
    assert.equal(headers['x-ratelimit-remaining'], String(5 - n), 'all take from one window')
    resets.push(String(headers['x-ratelimit-reset']))
  }
  assert.equal(new Set(resets).size, 1, resets.join())
  const after = await secondsOf(database)
  const reset = Number(resets[0])
  assert.ok(reset >= before + 60 && reset <= after + 61, `${before} + 60 <= ${reset} <= ${after} + 61`)
  for (const instance of instances) {
    const refused = await instance.request('GET', '/v1/pets', { key })
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['x-ratelimit-reset'], resets[0])
    const seconds = Number(refused.headers['retry-after'])
    assert.ok(seconds >= 1 && seconds <= 61, `Retry-After ${seconds}`)
    const looked = await instance.request('GET', '/v1/limits', { key })
    assert.equal(looked.status, 200)
    assert.ok(Math.abs(Date.parse(looked.json.minute.resetsAt) / 1000 - reset) <= 1, looked.text)
    const stranger = await instance.request('GET', '/v1/pets')
    assert.equal(stranger.status, 401)
    // Answered without a question to the store, by what the instance has learnt of the store's clock.
    const preflight = await instance.request('OPTIONS', '/v1/pets')
    for (const answer of [stranger, preflight]) {
      const ahead = Number(answer.headers['x-ratelimit-reset']) - after
      assert.ok(ahead > 0 && ahead < 2 * 60, `resets in ${ahead} s`)
    }
  }
})

test('addresses whose windows have ended are swept from the store, and the others stay', async (t) => {
  const { database } = await databaseFor(t)
  let now = start
  const { gate } = postgresSide(database, () => now, 3)
  const rows = async () =>
    (
      await sql<{ address: string }>`SELECT address FROM address_usage ORDER BY address`.execute(
        database.read,
      )
    ).rows.map(({ address }) => address)
  const knock = (address: string) => gate.consume({ token: undefined, address, rateLimitExempt: false })
  // More than one round of sweeping takes.
  await sql`
    INSERT INTO address_usage SELECT 'old ' || n, ${start}, 1, ${start + dayMs - 1}, 1 FROM generate_series(1, 2500) AS n`.execute(
    database.read,
  )
  await knock('192.0.2.1')
  now += hourMs
  await knock('192.0.2.2')
  await gate.sweep()
  assert.equal((await rows()).length, 2_502, 'nothing has ended yet')
  now = start + dayMs - 1
  await gate.sweep()
  assert.deepEqual(await rows(), ['192.0.2.1', '192.0.2.2'])
  now = start + dayMs
  await gate.sweep()
  assert.deepEqual(await rows(), ['192.0.2.2'])
})

test('the addresses of strangers in the store are bounded: beyond a hundred thousand those go that end first', async (t) => {
  const { database } = await databaseFor(t)
  const { gate } = postgresSide(database, () => start, 3)
  const rowsMax = 100_000
  await database.migrate((trx) =>
    sql`
      INSERT INTO address_usage
      SELECT 'address ' || n, ${start}, 1, ${start}::bigint + n, 1 FROM generate_series(1, ${sql.lit(rowsMax + 1_500)}) AS n`.execute(
      trx,
    ),
  )
  await gate.sweep()
  const { rows } = await sql<{ count: number; first: number }>`
    SELECT count(*), min(day_ends_at) AS first FROM address_usage`.execute(database.read)
  const { count, first } = rows[0] as { count: number; first: number }
  assert.ok(count <= rowsMax && count > rowsMax - 2_000, `${count} rows`)
  assert.equal(first - start, rowsMax + 1_500 - count + 1, 'those that end first are gone')
})
