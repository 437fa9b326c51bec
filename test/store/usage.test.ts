import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { UsageCounter } from '../../src/usage/usageCounter.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/rateLimits.ts'
import { assertError } from '../support/responses.ts'
import { SuiteCleanup } from '../support/servers.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const service = useService(
  { PETSTORE_BAN_AFTER_REFUSALS: '3' },
  { bounds: { usageFlushMs: 3_600_000, usageReadFlushMs: 0 } },
)

const intervals = { flushIntervalMs: 1, readFlushIntervalMs: 0 }

const timestamp = (ms: number) => new Date(ms).toISOString()
const bucket = (ms: number, counts: Record<string, unknown>) => ({
  at: timestamp(ms),
  errors: 0,
  rejected: {},
  deprecated: {},
  ...counts,
})
const read = async (path: string, key = service.operatorKey) => {
  const response = await service.request('GET', path, { key })
  assert.equal(response.status, 200, response.text)
  return response.json as { minutes: Record<string, unknown>[]; hours: Record<string, unknown>[] }
}
const usageOf = (id: number) => read(`/v1/keys/${id}/usage`)
const list = (key?: string) => service.request('GET', '/v1/pets', { key })
/** Starts a new hour, so that the figures of other tests are in other buckets. */
function startHour(): number {
  service.advance(hourMs - (service.now() % hourMs))
  return service.now()
}

describe('the usage of a key', () => {
  test('counts its requests by minute and by hour, and includes those of a moment ago', async () => {
    const start = startHour()
    const { id, key } = await service.makeKey()
    assert.deepEqual(await usageOf(id), { minutes: [], hours: [] })
    await list(key)
    await list(key)
    service.advance(59_999)
    await list(key)
    service.advance(1)
    await list(key)
    service.advance(hourMs)
    await list(key)
    assert.deepEqual(await usageOf(id), {
      minutes: [
        bucket(start, { requests: 3 }),
        bucket(start + minuteMs, { requests: 1 }),
        bucket(start + minuteMs + hourMs, { requests: 1 }),
      ],
      hours: [bucket(start, { requests: 4 }), bucket(start + hourMs, { requests: 1 })],
    })
    await list(key)
    const [last] = (await usageOf(id)).minutes.slice(-1)
    assert.equal(last?.requests, 2, 'a later flush adds to the same bucket')
  })

  test('counts rejected requests by their code, and uses of deprecated operations', async () => {
    const start = startHour()
    const limits = { plan: 'enterprise', limits: { perMinute: 4 } }
    const { id, key } = await service.makeKey({ ...limits, scopes: ['pets:read'] })
    assertError(await service.request('POST', '/v1/pets', { key, body: {} }), 403, 'insufficient_scope')
    assertError(await service.request('GET', '/v1/pets/999', { key }), 404, 'pet_not_found')
    assertError(await service.request('GET', '/v1/pets/998', { key }), 404, 'pet_not_found')
    await list(key)
    for (let index = 0; index < 2; index++) assertError(await list(key), 429, 'rate_limit_exceeded')
    for (let index = 0; index < 3; index++) assertError(await list(key), 429, 'key_banned')
    const counts = {
      requests: 9,
      rejected: { insufficient_scope: 1, key_banned: 3, rate_limit_exceeded: 2 },
      deprecated: { getPet: 2 },
    }
    assert.deepEqual(await usageOf(id), { minutes: [bucket(start, counts)], hours: [bucket(start, counts)] })
  })

  test('counts requests from a wrong origin, and no preflights', async () => {
    const start = startHour()
    const { id, key } = await service.makeKey({ origins: ['https://shelter.example'] })
    const send = (method: string, origin: string) =>
      service.request(method, '/v1/pets', { key, headers: { origin } })
    await send('OPTIONS', 'https://shelter.example')
    assert.equal((await send('GET', 'https://shelter.example')).status, 200)
    assertError(await send('GET', 'https://other.example'), 403, 'origin_not_allowed')
    const counts = { requests: 2, rejected: { origin_not_allowed: 1 } }
    assert.deepEqual((await usageOf(id)).minutes, [bucket(start, counts)])
  })

  test('stays readable after the key is revoked, and requests with it count in the total only', async () => {
    const { id, key } = await service.makeKey()
    await list(key)
    const before = await usageOf(id)
    assert.equal(before.minutes.length, 1)
    await service.request('DELETE', `/v1/keys/${id}`, { key: service.operatorKey })
    assertError(await list(key), 401, 'invalid_api_key')
    assert.deepEqual(await usageOf(id), before)
  })

  test('survives a clean stop', async () => {
    const { id, key } = await service.makeKey()
    await times(3, () => list(key))
    await service.restart()
    assert.equal((await usageOf(id)).minutes[0]?.requests, 3)
  })

  test('is removed after 24 hours by minute, and after 30 days by hour', async (t) => {
    const short = await startTestService({}, { bounds: { sweepMs: 20, usageReadFlushMs: 0 } })
    t.after(() => short.stop())
    const request = (path: string) => short.request('GET', path, { key: short.operatorKey })
    const rowsLeft = async () => {
      const { read } = await short.openDatabase()
      const rows = await read.selectFrom('usage_counts').select('bucket_ms').distinct().execute()
      return rows.map(({ bucket_ms }) => bucket_ms).sort((a, b) => a - b)
    }
    const until = (lengths: number[]) =>
      eventually(`counts of ${lengths}`, async () => String(await rowsLeft()) === String(lengths))
    await request('/v1/pets')
    const start = short.now()
    const first = (await request('/v1/keys/1/usage')).json
    assert.deepEqual([first.minutes.length, first.hours.length], [1, 1])
    short.advance(dayMs - 1)
    assert.equal((await request('/v1/keys/1/usage')).json.minutes[0].at, timestamp(start))
    await until([minuteMs, hourMs])
    short.advance(1)
    // The request before is in the last minute.
    assert.deepEqual(
      (await request('/v1/keys/1/usage')).json.minutes.map(({ at }: { at: string }) => at),
      [timestamp(start + dayMs - minuteMs)],
    )
    short.advance(dayMs)
    await until([hourMs])
    short.advance(30 * dayMs)
    await until([])
  })
})

describe('the usage of all keys', () => {
  test('includes requests to the API without a valid key, with their errors', async () => {
    const start = startHour()
    const { key } = await service.makeKey()
    await list(key)
    assert.equal((await service.request('GET', '/metrics')).status, 401)
    assertError(await list(), 401, 'missing_api_key')
    assertError(await list('ps_live_nonsense'), 401, 'invalid_api_key')
    const counts = { requests: 4, rejected: { invalid_api_key: 1, missing_api_key: 1 } }
    const usage = await read('/v1/usage')
    assert.deepEqual(usage.minutes.slice(-1), [bucket(start, counts)])
    assert.deepEqual(usage.hours.slice(-1), [bucket(start, counts)])
  })

  test('counts errors of the service', async (t) => {
    const { database } = await openDatabaseFor(t)
    const start = startHour()
    const usage = new UsageCounter({
      ...{ database, clock: service.now, ...intervals },
      isSameDatabase: async () => true,
    })
    usage.count({ ...finished, status: 503, code: 'unavailable' })
    usage.count({ ...finished, status: 500, code: 'internal_error' })
    usage.count({ ...finished, status: 404, code: 'not_found' })
    await usage.flush()
    const rows = await database.read.selectFrom('usage_counts').selectAll().orderBy('bucket_ms').execute()
    assert.deepEqual(
      rows.filter(({ bucket_ms }) => bucket_ms === minuteMs).map(({ name, count }) => [name, count]),
      [
        ['errors', 2],
        ['requests', 3],
      ],
    )
    assert.ok(rows.every(({ key_id, starts_at }) => key_id === 0 && starts_at === start))
  })
})

const finished = {
  requestId: 'a',
  isRequestIdGenerated: true,
  method: 'GET',
  path: '/v1/pets',
  page: undefined,
  operation: undefined,
  address: '192.0.2.1',
  principal: undefined,
  status: 200,
  code: undefined,
  seconds: 0,
  error: undefined,
}

describe('the counter', () => {
  let database: Database
  const cleanup = new SuiteCleanup()
  before(async () => {
    database = (await openDatabaseFor(cleanup)).database
  })
  beforeEach(() => database.write((trx) => trx.deleteFrom('usage_counts').execute()))
  after(() => cleanup.end())

  const principalOf = (keyId: number) => ({ keyId, token: '', scopes: new Set<string>(), origins: [] })

  test('counts keys beyond its bound in the total only', async () => {
    const options = { database, clock: service.now, ...intervals, isSameDatabase: async () => true }
    const usage = new UsageCounter({ ...options, entriesMax: 3 })
    for (let keyId = 1; keyId <= 5; keyId++) usage.count({ ...finished, principal: principalOf(keyId) })
    await usage.flush()
    const rows = await database.read
      .selectFrom('usage_counts')
      .select(['key_id', 'count'])
      .where('bucket_ms', '=', minuteMs)
      .orderBy('key_id')
      .execute()
    assert.deepEqual(
      rows.map(({ key_id, count }) => [key_id, count]),
      [
        [0, 5],
        [1, 1],
        [2, 1],
        [3, 1],
      ],
    )
  })

  test('keeps the counts of a flush that failed, and drops those of a replaced database', async () => {
    let isFailing = true
    let isSame = true
    const usage = new UsageCounter({
      ...{ database, clock: service.now, ...intervals },
      async isSameDatabase() {
        if (isFailing) throw new Error('broken')
        return isSame
      },
    })
    const total = async () => {
      const rows = await database.read.selectFrom('usage_counts').select('count').execute()
      return rows.map(({ count }) => count)
    }
    usage.count(finished)
    await assert.rejects(usage.flush(), /broken/)
    isFailing = false
    usage.count(finished)
    await usage.flush()
    assert.deepEqual(await total(), [2, 2])
    isSame = false
    usage.count(finished)
    await usage.flush()
    isSame = true
    await usage.flush()
    assert.deepEqual(await total(), [2, 2])
  })

  test('reads write the counts at most once in an interval, and do not fail if that fails', async () => {
    let flushes = 0
    let isFailing = false
    const options = {
      ...{ database, clock: service.now, ...intervals },
      async isSameDatabase() {
        flushes++
        if (isFailing) throw new Error('broken')
        return true
      },
    }
    const seldom = new UsageCounter({ ...options, readFlushIntervalMs: 3_600_000 })
    seldom.count(finished)
    await seldom.flushForRead()
    assert.equal(flushes, 0)
    const often = new UsageCounter(options)
    often.count(finished)
    await often.flushForRead()
    assert.equal(flushes, 1)
    isFailing = true
    often.count(finished)
    await often.flushForRead()
    assert.ok(flushes > 1)
  })

  test('writes any number of counts in bounded pieces', async () => {
    const options = { database, clock: service.now, ...intervals, isSameDatabase: async () => true }
    const usage = new UsageCounter(options)
    for (let keyId = 1; keyId <= 1_200; keyId++) usage.count({ ...finished, principal: principalOf(keyId) })
    await usage.flush()
    const rows = await database.read.selectFrom('usage_counts').select('count').execute()
    assert.equal(rows.length, 2 * 1_201)
  })
})

describe('access', () => {
  test('requires keys:manage', async () => {
    const { id, key } = await service.makeKey()
    for (const path of ['/v1/usage', `/v1/keys/${id}/usage`]) {
      assertError(await service.request('GET', path, { key }), 403, 'insufficient_scope')
      assertError(await service.request('GET', path), 401, 'missing_api_key')
      const { headers } = await service.request('GET', path, { key: service.operatorKey })
      assert.equal(headers['x-stability'], 'beta')
    }
  })

  test('a key that does not exist is not found', async () => {
    for (const id of ['999999', '0', 'x', '-1'])
      assertError(
        await service.request('GET', `/v1/keys/${id}/usage`, { key: service.operatorKey }),
        404,
        'key_not_found',
      )
  })
})
