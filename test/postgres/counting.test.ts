import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { generateApiKey } from '../../src/auth/apiKey.ts'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/database/database.ts'
import { openMigrated } from '../../src/database/open.ts'
import { addressLimits, dayMs, exemptLimits, minuteMs } from '../../src/limits/window.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { createClient } from '../support/client.ts'
import {
  addKey,
  compareAddressCounts,
  compareKeyCounts,
  consume,
  home,
  hourMs,
  otherHome,
  postgresSide,
  type Settings,
  start,
} from '../support/counting.ts'
import { type DatabaseEnv, openDatabaseFor } from '../support/engine.ts'

// counting.slow.test.ts compares more of them.
test('PostgreSQL counts keys exactly as memory does: every decision and every stored row', (t) =>
  compareKeyCounts(t, 5))

test('PostgreSQL counts addresses exactly as memory does, for any token and when the clock is set back', (t) =>
  compareAddressCounts(t, 4))

test('an address with no requests left waits at most a minute after the clock is set back', async (t) => {
  const { database } = await openDatabaseFor(t)
  let now = start
  const side = postgresSide(database, () => now, 3)
  const send = async () =>
    (await consume(side, { token: undefined, address: '192.0.2.1' })).addressDecision?.outcome
  for (let n = 0; n < addressLimits.perMinute; n++) assert.equal(await send(), 'admitted')
  assert.equal(await send(), 'limited')
  now -= hourMs
  assert.equal(await send(), 'limited')
  now += minuteMs
  assert.equal(await send(), 'admitted')
})

const ample: Settings = { plan: 'enterprise', perMinute: 1_000_000, perDay: 1_000_000 }

test('finding a key and exempt requests consume nothing from the key, and leave no count of it behind', async (t) => {
  const { database } = await openDatabaseFor(t)
  let now = start
  const side = postgresSide(database, () => now, 3)
  const token = generateApiKey('production')
  await addKey({ database }, 1, token, { ...ample, perMinute: 2 })
  const rows = async () => [
    await database.read.selectFrom('key_usage').selectAll().execute(),
    (await sql`SELECT address, minute_used FROM address_usage`.execute(database.read)).rows,
  ]
  const remaining = async () => {
    const { decision } = await consume(side, { token, address: '192.0.2.1', isExempt: true })
    return decision?.windows.minute.remaining
  }
  for (let n = 0; n < 5; n++) assert.equal((await side.keys.find(token))?.id, 1)
  assert.deepEqual(await rows(), [[], []])
  for (let n = 0; n < 5; n++) assert.equal(await remaining(), 2)
  assert.deepEqual(await rows(), [[], [{ address: 'key 1', minute_used: 5 }]])
  await consume(side, { token, address: '192.0.2.1' })
  const before = await rows()
  assert.equal(before[0]?.length, 1)
  now += 1_000
  await side.keys.find(token)
  assert.deepEqual(await rows(), before)
  assert.equal(await remaining(), 1)
  assert.deepEqual((await rows())[0], before[0])
})

test('instances that count concurrently admit exactly the limit', async (t) => {
  const { env, database } = await openDatabaseFor(t)
  const other = await openMigrated({ dataDir: env.PETSTORE_DATA_DIR, databaseUrl: env.DATABASE_URL }, 0)
  t.after(() => other.close())
  const token = generateApiKey('production')
  await addKey({ database }, 1, token, { plan: 'enterprise', perMinute: 50, perDay: 1_000 })
  const sides = [database, other].map((each) => postgresSide(each, () => start, 10))
  const results = await Promise.all(
    sides.flatMap((side) => Array.from({ length: 40 }, () => consume(side, { token, address: '192.0.2.1' }))),
  )
  const count = (outcome: string) => results.filter(({ decision }) => decision?.outcome === outcome).length
  assert.deepEqual([count('admitted'), count('limited'), count('banned')], [50, 9, 21])
  assert.equal(results.filter(({ decision }) => decision?.isNewBan).length, 1, 'a ban starts once')
})

test('instances that count exempt requests concurrently admit exactly the limit', async (t) => {
  const { env, database } = await openDatabaseFor(t)
  const other = await openMigrated({ dataDir: env.PETSTORE_DATA_DIR, databaseUrl: env.DATABASE_URL }, 0)
  t.after(() => other.close())
  const token = generateApiKey('production')
  await addKey({ database }, 1, token, ample)
  const sides = [database, other].map((each) => postgresSide(each, () => start, 10))
  const results = await Promise.all(
    sides.flatMap((side, instance) =>
      Array.from({ length: 100 }, () =>
        consume(side, { token, address: `192.0.2.${instance}`, isExempt: true }),
      ),
    ),
  )
  const exempt = results.filter(({ addressDecision }) => addressDecision === undefined).length
  assert.equal(exempt, exemptLimits.perMinute)
  const byAddress = results.filter(({ addressDecision }) => addressDecision?.outcome === 'admitted').length
  assert.equal(byAddress, 200 - exemptLimits.perMinute, 'every other request is counted once for its address')
})

test('concurrent requests with a publishable key count for the key or for their address, depending on the origin', async (t) => {
  const { database } = await openDatabaseFor(t)
  const side = postgresSide(database, () => start, 10)
  const token = generateApiKey('production')
  await addKey({ database }, 1, token, { ...ample, perMinute: 30, origins: [home] })
  const results = await Promise.all(
    Array.from({ length: 120 }, async (_, n) => {
      const origin = [home, otherHome, undefined][n % 3]
      const address = `192.0.2.${n % 2}`
      return { origin, ...(await consume(side, { token, address, origin })) }
    }),
  )
  const allowed = results.filter(({ origin }) => origin === home)
  const left = allowed
    .filter(({ decision }) => decision?.outcome === 'admitted')
    .map(({ decision }) => decision?.windows.minute.remaining ?? Number.NaN)
  assert.deepEqual(
    left.toSorted((a, b) => b - a),
    Array.from({ length: 30 }, (_, n) => 29 - n),
  )
  assert.equal(allowed.filter(({ decision }) => decision?.outcome === 'limited').length, 10)
  const others = results.filter(({ origin }) => origin !== home)
  assert.ok(others.every(({ key, decision, addressDecision }) => key && !decision && addressDecision))
  for (const address of ['192.0.2.0', '192.0.2.1']) {
    const { windows } = side.limiter.peekAddress(address)
    assert.equal(windows.minute.remaining, addressLimits.perMinute - 40)
  }
})

test('exempt requests are one round trip, shared by concurrent ones, and none once key and address are used up', async (t) => {
  const { database } = await openDatabaseFor(t)
  let roundTrips = 0
  const counting: Database = {
    ...database,
    get read() {
      roundTrips++
      return database.read
    },
  }
  let now = start
  const side = postgresSide(counting, () => now, 10)
  const token = generateApiKey('production')
  await addKey({ database }, 1, token, ample)
  const send = async () =>
    (await consume(side, { token, address: '192.0.2.1', isExempt: true })).addressDecision?.outcome
  await send()
  assert.equal(roundTrips, 1)
  await Promise.all(Array.from({ length: exemptLimits.perMinute - 1 }, send))
  assert.equal(roundTrips, 2, 'one for all that arrive together')
  for (let n = 0; n < addressLimits.perMinute; n++) assert.equal(await send(), 'admitted')
  assert.equal(await send(), 'limited')
  const before = roundTrips
  for (let n = 0; n < 50; n++) assert.equal(await send(), 'limited')
  assert.equal(roundTrips, before)
  now += minuteMs
  assert.equal(await send(), undefined, 'exempt again')
})

/** An instance of the service whose local clock is wrong. */
async function instanceFor(t: TestContext, env: DatabaseEnv, aheadMs: number) {
  const { log } = createLog({ level: 'silent', redact: (text) => text, stream: process.stderr })
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

test('the clock of the database decides: an instance whose clock is an hour off shows the same windows', async (t) => {
  const { env, database } = await openDatabaseFor(t)
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
    assert.equal(headers['x-ratelimit-remaining'], String(5 - n), 'all instances count in one window')
    resets.push(String(headers['x-ratelimit-reset']))
  }
  assert.equal(new Set(resets).size, 1, resets.join())
  const after = await secondsOf(database)
  const reset = Number(resets[0])
  assert.ok(reset >= before + 60 && reset <= after + 61, `${before} + 60 <= ${reset} <= ${after} + 61`)
  for (const instance of instances) {
    const limited = await instance.request('GET', '/v1/pets', { key })
    assert.equal(limited.status, 429)
    assert.equal(limited.headers['x-ratelimit-reset'], resets[0])
    const seconds = Number(limited.headers['retry-after'])
    assert.ok(seconds >= 1 && seconds <= 61, `Retry-After ${seconds}`)
    const limits = await instance.request('GET', '/v1/limits', { key })
    assert.equal(limits.status, 200)
    assert.ok(Math.abs(Date.parse(limits.json.minute.resetsAt) / 1000 - reset) <= 1, limits.text)
    const anonymous = await instance.request('GET', '/v1/pets')
    assert.equal(anonymous.status, 401)
    // Needs no round trip: the instance knows the offset of the database's clock.
    const preflight = await instance.request('OPTIONS', '/v1/pets')
    for (const response of [anonymous, preflight]) {
      const ahead = Number(response.headers['x-ratelimit-reset']) - after
      assert.ok(ahead > 0 && ahead < 2 * 60, `resets in ${ahead} s`)
    }
  }
})

test('sweep deletes the addresses whose windows have ended, and no others', async (t) => {
  const { database } = await openDatabaseFor(t)
  let now = start
  const side = postgresSide(database, () => now, 3)
  const rows = async () =>
    (
      await sql<{ address: string }>`SELECT address FROM address_usage ORDER BY address`.execute(
        database.read,
      )
    ).rows.map(({ address }) => address)
  const send = (address: string) => consume(side, { token: undefined, address })
  // More rows than one statement deletes.
  await sql`
    INSERT INTO address_usage SELECT 'old ' || n, ${start}, 1, ${start + dayMs - 1}, 1 FROM generate_series(1, 2500) AS n`.execute(
    database.read,
  )
  await send('192.0.2.1')
  now += hourMs
  await send('192.0.2.2')
  await side.limiter.sweep()
  assert.equal((await rows()).length, 2_502, 'nothing has ended yet')
  now = start + dayMs - 1
  await side.limiter.sweep()
  assert.deepEqual(await rows(), ['192.0.2.1', '192.0.2.2'])
  now = start + dayMs
  await side.limiter.sweep()
  assert.deepEqual(await rows(), ['192.0.2.2'])
})

test('the number of stored addresses is bounded: beyond 100,000 those that end first are deleted', async (t) => {
  const { database } = await openDatabaseFor(t)
  const side = postgresSide(database, () => start, 3)
  const rowsMax = 100_000
  await database.migrate((trx) =>
    sql`
      INSERT INTO address_usage
      SELECT 'address ' || n, ${start}, 1, ${start}::bigint + n, 1 FROM generate_series(1, ${sql.lit(rowsMax + 1_500)}) AS n`.execute(
      trx,
    ),
  )
  await side.limiter.sweep()
  const { rows } = await sql<{ count: number; first: number }>`
    SELECT count(*), min(day_ends_at) AS first FROM address_usage`.execute(database.read)
  const { count, first } = rows[0] as { count: number; first: number }
  assert.ok(count <= rowsMax && count > rowsMax - 2_000, `${count} rows`)
  assert.equal(first - start, rowsMax + 1_500 - count + 1, 'those that end first are deleted')
})
