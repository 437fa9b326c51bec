import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClientResponse } from '../support/client.ts'
import { proxiedService, rateLimit, times } from '../support/rateLimits.ts'
import { startTestService } from '../support/service.ts'

const minute = 60_000
const freePerMinute = 60
const banAfterRejections = 100

const client = proxiedService()

const send = (path: string, key?: string, from = client.address, method = 'GET') =>
  client.service.request(method, path, { key, headers: { 'x-forwarded-for': from } })
const getLimits = (key: string, from = client.address) => send('/v1/limits', key, from)
/** The requests that the address has left, after this one. */
const addressLeft = async (from = client.address) =>
  rateLimit(await send('/v1/pets', undefined, from), 'remaining')
const countOf = (responses: ClientResponse[], status: number) =>
  responses.filter((response) => response.status === status).length

test('GET /limits describes the key', async () => {
  const scopes = ['pets:read', 'orders:read']
  const { id, key } = await client.service.makeKey({ name: 'Partner feed', plan: 'pro', scopes })
  const { json } = await getLimits(key)
  assert.deepEqual(json, {
    keyId: id,
    name: 'Partner feed',
    scopes,
    environment: 'production',
    plan: 'pro',
    minute: { limit: 300, remaining: 300, resetsAt: null },
    day: { limit: 10_000, remaining: 10_000, resetsAt: null },
    bannedUntil: null,
  })
})

test('GET /limits shows a changed key immediately', async () => {
  const { id, key } = await client.service.makeKey({ name: 'before' })
  assert.equal((await getLimits(key)).json.name, 'before')
  await client.service.request('PATCH', `/v1/keys/${id}`, {
    key: client.service.operatorKey,
    body: { name: 'after', plan: 'business', scopes: ['pets:read'] },
  })
  const { json } = await getLimits(key)
  assert.deepEqual([json.name, json.plan, json.scopes], ['after', 'business', ['pets:read']])
})

test('GET /limits names the environment for a key that the operator chose', async () => {
  const adminKey = 'an-operator-key-of-any-form-in-staging'
  const staging = await startTestService({ PETSTORE_ENV: 'staging', PETSTORE_ADMIN_KEY: adminKey })
  try {
    const { json } = await staging.request('GET', '/v1/limits', { key: adminKey })
    assert.equal(json.environment, 'staging')
    assert.equal(json.name, 'operator')
  } finally {
    await staging.stop()
  }
})

describe('GET /limits is exempt', () => {
  test('60 times a minute for each key; further requests count for the address', async () => {
    const { key } = await client.service.makeKey({ plan: 'enterprise', limits: { perMinute: 5 } })
    await send('/v1/pets', key)
    for (let i = 0; i < freePerMinute; i++) assert.equal((await getLimits(key)).status, 200)
    assert.equal(await addressLeft(), 99)
    for (let i = 0; i < 99; i++) {
      const paid = await getLimits(key)
      assert.equal(paid.status, 200)
      assert.equal(rateLimit(paid, 'limit'), 5, "the headers are those of the key's windows")
      assert.equal(rateLimit(paid, 'remaining'), 4)
    }
    for (const method of ['GET', 'HEAD']) {
      const rejected = await send('/v1/limits', key, client.address, method)
      assert.equal(rejected.status, 429)
      assert.equal(rateLimit(rejected, 'limit'), 100, "the headers are those of the address's windows")
      assert.equal(rateLimit(rejected, 'remaining'), 0)
      assert.match(String(rejected.headers['retry-after']), /^\d+$/)
      if (method === 'GET') assert.equal(rejected.json.code, 'rate_limit_exceeded')
    }
    const { headers } = await getLimits(key)
    assert.equal(await addressLeft(), 0)
    assert.equal((await send('/v1/pets', key)).status, 200, 'the key is not affected')
    assert.equal((await getLimits(key, '198.51.100.201')).status, 200, 'another address is not affected')
    assert.equal(await addressLeft('198.51.100.201'), 98)
    client.service.advance(Number(headers['retry-after']) * 1000)
    assert.equal((await getLimits(key)).status, 200)
  })

  test('again a minute after the first one', async () => {
    const { key } = await client.service.makeKey()
    await getLimits(key)
    client.service.advance(minute - 1)
    await times(freePerMinute - 1, () => getLimits(key))
    assert.equal(await addressLeft(), 99)
    await getLimits(key)
    assert.equal(await addressLeft(), 97)
    client.service.advance(1)
    await times(freePerMinute, () => getLimits(key))
    assert.equal(await addressLeft(), 96)
  })

  test('exactly: of 200 concurrent requests 60 are exempt, 100 count for the address and 40 are rejected', async () => {
    const { key } = await client.service.makeKey()
    const responses = await times(200, () => getLimits(key))
    assert.deepEqual([countOf(responses, 200), countOf(responses, 429)], [160, 40])
  })

  test('for all addresses of a key together, and for each key separately', async () => {
    const [one, two] = [await client.service.makeKey(), await client.service.makeKey()]
    const others = ['198.51.100.211', '198.51.100.212']
    await Promise.all(others.map((other) => times(45, () => getLimits(one.key, other))))
    const paid = await Promise.all(others.map((other) => addressLeft(other)))
    assert.equal(198 - (paid[0] ?? 0) - (paid[1] ?? 0), 30)
    await times(freePerMinute, () => getLimits(two.key))
    assert.equal(await addressLeft(), 99)
  })

  test('for both secrets of a key together', async () => {
    const { id, key } = await client.service.makeKey()
    const rotated = await client.service.request('POST', `/v1/keys/${id}/rotate`, {
      key: client.service.operatorKey,
      body: { overlapSeconds: 3_600 },
    })
    await times(freePerMinute, () => getLimits(key))
    await getLimits(rotated.json.key)
    assert.equal(await addressLeft(), 98)
  })
})

test('rejected GET /limits requests never lead to a ban', async () => {
  const { id, key } = await client.service.makeKey()
  const responses = await times(160 + 3 * banAfterRejections, () => getLimits(key))
  assert.equal(countOf(responses, 429), 3 * banAfterRejections)
  for (const { status, json } of responses) if (status === 429) assert.equal(json.code, 'rate_limit_exceeded')
  const admitted = await send('/v1/pets', key)
  assert.equal(admitted.status, 200)
  assert.equal(rateLimit(admitted, 'remaining'), 59)
  const { json } = await client.service.request('GET', `/v1/keys/${id}`, { key: client.service.operatorKey })
  assert.equal(json.bannedUntil, undefined)
})

test('GET /limits with a banned key counts for the address and leaves the exempt requests for after the ban', async () => {
  const { key } = await client.service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
  await times(1 + banAfterRejections, () => send('/v1/pets', key))
  client.service.advance(5 * minute - 1_000)
  await times(freePerMinute, () => getLimits(key))
  assert.equal(await addressLeft(), 39)
  client.service.advance(1_000)
  await times(freePerMinute, () => getLimits(key))
  assert.equal(await addressLeft(), 38)
})

test('GET /limits rejects a revoked key immediately, even with no exempt requests left', async () => {
  const { id, key } = await client.service.makeKey()
  await times(70, () => getLimits(key))
  await client.service.request('DELETE', `/v1/keys/${id}`, { key: client.service.operatorKey })
  const rejected = await getLimits(key)
  assert.equal(rejected.status, 401)
  assert.equal(rateLimit(rejected, 'limit'), 100)
})
