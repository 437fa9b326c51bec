import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClientResponse } from '../support/client.ts'
import { proxiedService, rateLimit, times } from '../support/rateLimits.ts'

const home = 'https://shelter.example'
const elsewhere = 'https://elsewhere.example'
const minute = 60_000
const banAfterRejections = 100

const client = proxiedService()

type From = { key?: string; origin?: string | undefined; address?: string; path?: string; method?: string }
const send = ({ key, origin, path = '/v1/pets', method = 'GET', ...from }: From): Promise<ClientResponse> =>
  client.service.request(method, path, {
    key,
    headers: { 'x-forwarded-for': from.address ?? client.address, ...(origin !== undefined && { origin }) },
  })
const manage = (method: string, path: string, body?: unknown) =>
  client.service.request(method, `/v1/keys${path}`, { key: client.service.operatorKey, body })
const statuses = (responses: ClientResponse[]) => {
  const counts: Record<string, number> = {}
  for (const { status, json } of responses) {
    const name = status === 200 ? '200' : `${status} ${json.code}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

describe('a publishable key used with a wrong or missing Origin', () => {
  for (const [name, origin] of [
    ['wrong', elsewhere],
    ['missing', undefined],
  ] as const) {
    test(`(${name}) counts for the address and not for the key`, async () => {
      const { key } = await client.service.makeKey({ origins: [home] })
      for (let left = 99; left >= 95; left--) {
        const rejected = await send({ key, origin })
        assert.equal(rejected.status, 403)
        assert.equal(rejected.json.code, 'origin_not_allowed')
        assert.equal(rateLimit(rejected, 'limit'), 100)
        assert.equal(rateLimit(rejected, 'remaining'), left)
        assert.equal(rejected.headers['ratelimit-policy'], '"minute";q=100;w=60, "day";q=10000;w=86400')
      }
      assert.equal(rateLimit(await send({}), 'remaining'), 94, 'the same limit as for requests without a key')
      const admitted = await send({ key, origin: home })
      assert.equal(admitted.status, 200)
      assert.equal(rateLimit(admitted, 'remaining'), 59)
    })
  }

  test('is rejected with 403 before any other check of the request', async () => {
    const { key } = await client.service.makeKey({ origins: [home] })
    for (const [method, path] of [
      ['GET', '/v1/nowhere'],
      ['PUT', '/v1/pets'],
      ['POST', '/v1/pets'],
      ['GET', '/v1/pets?limit=0'],
      ['GET', '/v1/limits'],
    ] as const) {
      const rejected = await send({ key, method, path })
      assert.equal(rejected.json.code, 'origin_not_allowed', `${method} ${path}`)
      assert.equal(rateLimit(rejected, 'limit'), 100)
    }
  })

  test('gets 429 once the address has exceeded its limit, and the message says why', async () => {
    const { key } = await client.service.makeKey({ origins: [home] })
    const responses = await times(150, () => send({ key, origin: elsewhere }))
    assert.deepEqual(statuses(responses), { '403 origin_not_allowed': 100, '429 rate_limit_exceeded': 50 })
    const rejected = await send({ key })
    assert.equal(rejected.status, 429)
    assert.equal(rateLimit(rejected, 'limit'), 100)
    assert.equal(rateLimit(rejected, 'remaining'), 0)
    assert.match(String(rejected.headers['retry-after']), /^\d+$/)
    assert.match(rejected.json.message, /origin/)
    assert.equal((await send({ key, origin: home })).status, 200, 'requests from its origin are not affected')
    client.service.advance(minute)
    assert.equal((await send({ key })).status, 403)
  })

  test('does not count for requests from its origin, even concurrently', async () => {
    const { key } = await client.service.makeKey({ origins: [home] })
    const [theirs, ours] = await Promise.all([
      times(160, () => send({ key })),
      times(70, () => send({ key, origin: home, address: '198.51.100.250' })),
      times(20, () => send({ key, origin: elsewhere, address: '198.51.100.251' })),
    ])
    assert.deepEqual(statuses(theirs), { '403 origin_not_allowed': 100, '429 rate_limit_exceeded': 60 })
    assert.deepEqual(statuses(ours), { 200: 60, '429 rate_limit_exceeded': 10 })
    const left = ours
      .filter(({ status }) => status === 200)
      .map((response) => rateLimit(response, 'remaining'))
    assert.deepEqual(
      left.toSorted((a, b) => a - b),
      Array.from({ length: 60 }, (_, index) => index),
    )
    assert.equal(rateLimit(await send({ address: '198.51.100.251' }), 'remaining'), 79)
  })

  test('does not change when the key was last used', async () => {
    const { id, key } = await client.service.makeKey({ origins: [home] })
    await times(5, () => send({ key }))
    assert.equal((await manage('GET', `/${id}`)).json.lastUsedAt, null)
  })
})

describe('a publishable key', () => {
  const tight = { origins: [home], plan: 'enterprise', limits: { perMinute: 1 } }

  test('is limited, but never banned', async () => {
    const { id, key } = await client.service.makeKey(tight)
    const responses = await times(1 + 2 * banAfterRejections, () => send({ key, origin: home }))
    assert.deepEqual(statuses(responses), { 200: 1, '429 rate_limit_exceeded': 2 * banAfterRejections })
    for (let i = 0; i < banAfterRejections; i++)
      assert.equal((await send({ key, origin: home })).json.code, 'rate_limit_exceeded')
    assert.equal((await manage('GET', `/${id}`)).json.bannedUntil, undefined)
    client.service.advance(minute)
    assert.equal((await send({ key, origin: home })).status, 200)
  })

  test('that was banned as a secret key is usable, and is banned again once it is secret again', async () => {
    const { id, key } = await client.service.makeKey({ ...tight, origins: [], scopes: ['pets:read'] })
    await times(1 + banAfterRejections, () => send({ key }))
    assert.equal((await send({ key })).json.code, 'key_banned')
    assert.notEqual((await manage('GET', `/${id}`)).json.bannedUntil, undefined)
    client.service.advance(minute)
    assert.equal((await send({ key })).json.code, 'key_banned')

    const published = await manage('PATCH', `/${id}`, { origins: [home] })
    assert.equal(published.json.bannedUntil, undefined)
    assert.equal((await send({ key, origin: home })).status, 200)
    assert.equal((await send({ key, origin: home })).json.code, 'rate_limit_exceeded')
    const limits = await send({ key, origin: home, path: '/v1/limits' })
    assert.equal(limits.json.bannedUntil, null)

    const secret = await manage('PATCH', `/${id}`, { origins: [] })
    assert.notEqual(secret.json.bannedUntil, undefined)
    assert.equal((await send({ key })).json.code, 'key_banned')
    client.service.advance(4 * minute)
    assert.equal((await send({ key })).status, 200)
  })

  test('that becomes secret is not banned for earlier rejections', async () => {
    const { id, key } = await client.service.makeKey(tight)
    await times(3 * banAfterRejections, () => send({ key, origin: home }))
    await manage('PATCH', `/${id}`, { origins: [] })
    for (let i = 1; i < banAfterRejections; i++)
      assert.equal((await send({ key })).json.code, 'rate_limit_exceeded')
    assert.equal((await send({ key })).json.code, 'key_banned')
  })
})
