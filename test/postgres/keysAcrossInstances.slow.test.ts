import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { ClientResponse } from '../support/client.ts'
import { keyChangeMs } from '../support/commands.ts'
import { openEventStream } from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Event,
  feedAfter,
  instancesFor,
  makeKey,
  newestEventId,
  requestOk,
  retryWhile503,
} from '../support/instances.ts'
import { amplePlan, assertError } from '../support/responses.ts'
import type { Server } from '../support/servers.ts'

const rounds = 3
/** One rejection by each instance. */
const banAfter = 3

const { all: instances } = await instancesFor(
  { after },
  { PETSTORE_BAN_AFTER_REFUSALS: String(banAfter), PETSTORE_TRUSTED_PROXIES: '127.0.0.1' },
)

/** Rejected requests count for the address. Each key has a separate address, so that no test exhausts one. */
const addresses = new Map<string, string>()
function headersOf(key: string) {
  const address = addresses.get(key) ?? `2001:db8:0:${addresses.size}::1`
  addresses.set(key, address)
  return { 'x-forwarded-for': address }
}
const list = ({ request }: Server, key: string) =>
  retryWhile503(() => request('GET', '/v1/pets', { key, headers: headersOf(key) }))
const add = ({ request }: Server, key: string) =>
  retryWhile503(() =>
    request('POST', '/v1/pets', { key, headers: headersOf(key), body: { name: 'Milo', categoryId: 3 } }),
  )
const limitOf = ({ headers }: ClientResponse) =>
  /"minute";q=(\d+)/.exec(String(headers['ratelimit-policy']))?.[1]

/** The next requests after a change, at every instance concurrently. */
const atAll = <T>(send: (instance: Server) => Promise<T>): Promise<T[]> => Promise.all(instances.map(send))

/**
 * Several times for each instance that makes the change, because a late instance is not late every time. Every instance
 * has read and written with the key before.
 */
async function everyWay(
  settings: Record<string, unknown>,
  change: (made: { id: number; key: string }, at: Server) => Promise<unknown>,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const at of instances) {
      const made = await makeKey(at, settings)
      for (const instance of instances) {
        await list(instance, made.key)
        await add(instance, made.key)
      }
      await change(made, at)
    }
  }
}

describe('the next request at every instance after the response to a change at one of them', () => {
  test('accepts a new key', async () => {
    for (let round = 0; round < rounds; round++) {
      for (const at of instances) {
        const { key } = await makeKey(at)
        for (const { status } of await atAll((instance) => list(instance, key))) assert.equal(status, 200)
        for (const { status } of await atAll((instance) => add(instance, key))) assert.equal(status, 201)
      }
    }
  })

  test('rejects a revoked key, for reads and writes', async () => {
    await everyWay({}, async ({ id, key }, at) => {
      await requestOk(at, 'DELETE', `/v1/keys/${id}`)
      const responses = await atAll((instance) => Promise.all([list(instance, key), add(instance, key)]))
      for (const response of responses.flat()) {
        assertError(response, 401, 'invalid_api_key')
        assert.match(response.json.message, /revoked/)
      }
    })
  })

  test('is counted with the new plan', async () => {
    await everyWay({}, async ({ id, key }, at) => {
      await requestOk(at, 'PATCH', `/v1/keys/${id}`, { plan: 'pro' })
      for (const response of await atAll((instance) => list(instance, key))) {
        assert.equal(response.status, 200)
        assert.equal(limitOf(response), '300')
      }
      await requestOk(at, 'PATCH', `/v1/keys/${id}`, { plan: 'enterprise', limits: { perMinute: 1 } })
      for (const response of await atAll((instance) => list(instance, key))) {
        assert.equal(limitOf(response), '1')
        assert.equal(response.status, 429)
      }
    })
  })

  test('is admitted after a ban was cleared', async () => {
    // Exactly the number of requests before the change.
    const settings = { ...amplePlan, limits: { perMinute: 2 * instances.length } }
    await everyWay(settings, async ({ id, key }, at) => {
      await atAll((instance) => list(instance, key))
      await requestOk(at, 'PATCH', `/v1/keys/${id}`, amplePlan)
      for (const response of await atAll((instance) => list(instance, key)))
        assertError(response, 429, 'key_banned')
      await requestOk(at, 'DELETE', `/v1/keys/${id}/ban`)
      for (const { status, text } of await atAll((instance) => list(instance, key)))
        assert.equal(status, 200, text)
    })
  })

  test('is rejected with the old secret and admitted with the new one after a rotation', async () => {
    await everyWay({}, async ({ id, key }, at) => {
      const { key: next } = (await requestOk(at, 'POST', `/v1/keys/${id}/rotate`)).json
      const responses = await atAll((instance) => Promise.all([list(instance, key), add(instance, key)]))
      for (const response of responses.flat()) {
        assertError(response, 401, 'invalid_api_key')
        assert.match(response.json.message, /rotated/)
      }
      for (const { status } of await atAll((instance) => add(instance, next))) assert.equal(status, 201)
    })
  })

  test('is admitted with either secret during the overlap, and both count as one key', async () => {
    await everyWay({}, async ({ id, key }, at) => {
      const { key: next } = (await requestOk(at, 'POST', `/v1/keys/${id}/rotate`, { overlapSeconds: 3_600 }))
        .json
      const responses = await atAll((instance) => Promise.all([list(instance, key), add(instance, next)]))
      for (const [read, written] of responses) assert.deepEqual([read.status, written.status], [200, 201])
      const left = responses.flat().map(({ headers }) => Number(headers['x-ratelimit-remaining']))
      assert.equal(new Set(left).size, 2 * instances.length)
      assert.equal(Math.min(...left), 60 - 4 * instances.length)
    })
  })

  test('is limited to the narrower scopes, also for writes', async () => {
    await everyWay({ ...amplePlan }, async ({ id, key }, at) => {
      await requestOk(at, 'PATCH', `/v1/keys/${id}`, { scopes: ['pets:read'] })
      for (const response of await atAll((instance) => add(instance, key)))
        assertError(response, 403, 'insufficient_scope')
      for (const { status } of await atAll((instance) => list(instance, key))) assert.equal(status, 200)
    })
  })

  test('may use the wider scopes, also for writes', async () => {
    await everyWay({ ...amplePlan, scopes: ['pets:read', 'categories:write'] }, async ({ id, key }, at) => {
      // Writes that pass authorization and are rejected later, so that every instance has checked the scopes.
      await atAll(({ request }) => request('PATCH', '/v1/categories/99', { key, body: { name: 'x' } }))
      await requestOk(at, 'PATCH', `/v1/keys/${id}`, { scopes: ['pets:read', 'pets:write'] })
      for (const { status, text } of await atAll((instance) => add(instance, key)))
        assert.equal(status, 201, text)
    })
  })

  test('is limited to the origins of the key', async () => {
    await everyWay({ ...amplePlan, scopes: ['pets:read'] }, async ({ id, key }, at) => {
      await requestOk(at, 'PATCH', `/v1/keys/${id}`, { origins: ['https://shelter.example'] })
      for (const response of await atAll((instance) => list(instance, key)))
        assertError(response, 403, 'origin_not_allowed')
    })
  })

  test('shows the usage of a key at every instance', async () => {
    const { id, key } = await makeKey(instances[0] as Server)
    for (let used = 1; used <= 12; used++) {
      await list(instances[used % instances.length] as Server, key)
      for (const { json } of await atAll(({ request }) => request('GET', '/v1/limits', { key })))
        assert.equal(json.minute.remaining, 60 - used)
    }
    const shown = await atAll((instance) => requestOk(instance, 'GET', `/v1/keys/${id}`))
    assert.equal(new Set(shown.map(({ text }) => text)).size, 1)
  })
})

describe('within two seconds at every instance', () => {
  test('the origins of a new publishable key are known, and those of a revoked one are not', async () => {
    for (const [index, at] of instances.entries()) {
      const origin = `https://shelter-${index}.example`
      const preflight = ({ request }: Server) =>
        request('OPTIONS', '/v1/pets', { headers: { origin, 'access-control-request-method': 'GET' } })
      const allowed = async () =>
        (await atAll(preflight)).map(({ headers }) => headers['access-control-allow-origin'])
      assert.deepEqual(await allowed(), [undefined, undefined, undefined])
      const { id } = await makeKey(at, { origins: [origin] })
      await eventually(
        'all know the origin',
        async () => (await allowed()).every((found) => found === origin),
        keyChangeMs,
      )
      await requestOk(at, 'DELETE', `/v1/keys/${id}`)
      await eventually(
        'none knows the origin',
        async () => (await allowed()).every((found) => found === undefined),
        keyChangeMs,
      )
    }
  })

  test('the streams of a revoked key end', async (t) => {
    const { id, key } = await makeKey(instances[0] as Server, { ...amplePlan, scopes: ['events:read'] })
    const streams = await atAll(({ base }) => openEventStream(base, { key }))
    t.after(() => {
      for (const stream of streams) stream.disconnect()
    })
    await requestOk(instances[1] as Server, 'DELETE', `/v1/keys/${id}`)
    const endings = Promise.all(streams.map(({ ended }) => ended))
    let areOver = false
    void endings.then(() => {
      areOver = true
    })
    await eventually('every stream has ended', () => areOver, keyChangeMs)
    for (const { isWhole } of await endings) assert.ok(isWhole)
  })
})

test('a ban at one instance applies at the others, has one event, and affects no other key', async () => {
  const [first, second, third] = instances as [Server, Server, Server]
  const before = await newestEventId(first)
  const { id, key } = await makeKey(first, { ...amplePlan, limits: { perMinute: 1 } })
  assert.equal((await list(first, key)).status, 200)
  for (let rejections = 1; rejections < banAfter; rejections++)
    assertError(await list(instances[rejections % 3] as Server, key), 429, 'rate_limit_exceeded')
  assertError(await list(third, key), 429, 'key_banned')
  for (const response of await atAll((instance) => list(instance, key)))
    assertError(response, 429, 'key_banned')
  const shown = await atAll(({ request }) => request('GET', '/v1/limits', { key }))
  assert.equal(new Set(shown.map(({ json }) => json.bannedUntil)).size, 1)
  const reported = await eventually('the ban has an event', async () => {
    const isBan = ({ type, data }: Event) => type === 'key.banned' && data.id === id
    const found = (await feedAfter(second, before)).filter(isBan)
    return found.length > 0 && found
  })
  assert.equal(reported.length, 1)
  const { key: other } = await makeKey(second)
  for (const { status } of await atAll((instance) => list(instance, other))) assert.equal(status, 200)
})
