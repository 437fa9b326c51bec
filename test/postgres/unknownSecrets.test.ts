import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { generateApiKey, hashApiKey } from '../../src/auth/apiKey.ts'
import { createKnownSecrets } from '../../src/auth/knownSecrets.ts'
import { DatabaseUnavailableError } from '../../src/database/database.ts'
import { addressLimits } from '../../src/limits/window.ts'
import type { ClientResponse } from '../support/client.ts'
import { databaseFor, openDatabaseFor } from '../support/engine.ts'
import { tally } from '../support/instances.ts'
import { clientFor, untilWaiting, waitersOf } from '../support/lockWaiters.ts'
import { amplePlan, assertError } from '../support/responses.ts'
import { startTestService } from '../support/service.ts'

const stranger = '192.0.2.1'
const madeUp = () => generateApiKey('production')

/** A service with one connection for reads and authentication. */
async function serviceFor(t: TestContext) {
  const env = await databaseFor(t)
  const service = await startTestService({
    ...env,
    PETSTORE_TRUSTED_PROXIES: '127.0.0.1',
    PETSTORE_DATABASE_POOL: '1',
  })
  t.after(() => service.stop())
  const client = await clientFor(t, env)
  /** A transaction sees the activity of the others as it was at first. */
  const observer = await clientFor(t, env)
  const send = (key: string | undefined, address = stranger, path = '/v1/pets'): Promise<ClientResponse> =>
    service.request('GET', path, { key, headers: { 'x-forwarded-for': address } })
  return { service, client, observer, send }
}

/** Uses up the address, and lets the service know it. */
async function exhaust(send: (key: string | undefined) => Promise<ClientResponse>): Promise<ClientResponse> {
  const responses = await Promise.all(Array.from({ length: addressLimits.perMinute }, () => send(undefined)))
  assert.deepEqual(tally(responses.map(({ status }) => status)), { 401: addressLimits.perMinute })
  const limited = await send(undefined)
  assertError(limited, 429, 'rate_limit_exceeded')
  return limited
}

/** The count of the address, and the transaction that wrote it. */
async function addressRow(client: pg.Client) {
  const { rows } = await client.query(
    'SELECT xmin::text AS xmin, ctid::text AS ctid, * FROM address_usage WHERE address = $1',
    [stranger],
  )
  assert.equal(rows.length, 1)
  return rows[0]
}

const lockAddress = async (client: pg.Client) => {
  await client.query('BEGIN')
  await client.query('SELECT 1 FROM address_usage WHERE address = $1 FOR UPDATE', [stranger])
}

test('an address with no requests left is neither counted nor locked for unknown secrets, and valid keys work from it', async (t) => {
  const { service, client, send } = await serviceFor(t)
  const known = await service.makeKey(amplePlan)
  assert.equal((await send(known.key)).status, 200)
  const unseen = await service.makeKey(amplePlan)
  const { headers } = await exhaust(send)
  const before = await addressRow(client)
  await lockAddress(client)
  const rejected = await Promise.all(Array.from({ length: 200 }, () => send(madeUp())))
  for (const response of rejected) {
    assertError(response, 429, 'rate_limit_exceeded')
    assert.match(response.json.message, /This API key is not valid/)
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after'])
      assert.equal(response.headers[name], headers[name], name)
  }
  assert.equal((await send(known.key)).status, 200, 'a key that was seen before')
  assert.equal((await send(unseen.key)).status, 200, 'a key that was not')
  await client.query('ROLLBACK')
  assert.deepEqual(await addressRow(client), before)
  service.advance(60_000)
  assertError(await send(madeUp()), 401, 'invalid_api_key')
})

test('unknown secrets that wait for the count of their address do not delay a valid key, and are counted exactly', async (t) => {
  const { service, client, observer, send } = await serviceFor(t)
  const [known, unseen] = [await service.makeKey(amplePlan), await service.makeKey(amplePlan)]
  assert.equal((await send(known.key)).status, 200)
  assertError(await send(madeUp()), 401, 'invalid_api_key')
  await lockAddress(client)
  const waiting = Array.from({ length: 250 }, () => send(madeUp()))
  await untilWaiting(observer)
  assert.equal((await send(known.key)).status, 200, 'a key that was seen before')
  assert.equal((await send(unseen.key, '192.0.2.2')).status, 200, 'a key that was not, from another address')
  assert.equal(await waitersOf(observer), 1, 'one statement waits for the address')
  await client.query('ROLLBACK')
  const statuses = (await Promise.all(waiting)).map(({ status }) => status)
  assert.deepEqual(tally(statuses), {
    401: addressLimits.perMinute - 1,
    429: 250 - addressLimits.perMinute + 1,
  })
})

test('from an address with no requests left, every state of a key has its own result', async (t) => {
  const { service, send } = await serviceFor(t)
  const manage = (method: string, path: string, body?: unknown) =>
    service.request(method, `/v1/keys/${path}`, { key: service.operatorKey, ...(body ? { body } : {}) })
  const states: [name: string, change: (id: number) => Promise<unknown>, message: RegExp][] = [
    ['revoked', (id) => manage('DELETE', `${id}`), /has been revoked/],
    ['rotated', (id) => manage('POST', `${id}/rotate`), /has been rotated/],
    [
      'publishable',
      (id) => manage('PATCH', `${id}`, { scopes: [], origins: ['https://a.example'] }),
      /origin/i,
    ],
  ]
  const keys = []
  for (const [name, change, message] of states) {
    for (const isSeen of [true, false]) {
      const { id, key } = await service.makeKey()
      if (isSeen) assert.equal((await send(key)).status, 200)
      keys.push({ name, key, message, change: () => change(id) })
    }
  }
  await exhaust(send)
  for (const { name, key, message, change } of keys) {
    await change()
    const response = await send(key)
    assertError(response, 429, 'rate_limit_exceeded')
    assert.match(response.json.message, message, name)
  }
  const rotating = await service.makeKey()
  const { key: next } = (await manage('POST', `${rotating.id}/rotate`, { overlapSeconds: 60 })).json
  for (const key of [rotating.key, next]) assert.equal((await send(key)).status, 200)
  await send(rotating.key, stranger, '/v1/limits')
  assert.equal((await send(next, stranger, '/v1/limits')).status, 200)
})

test('a secret that was removed is unknown again', async (t) => {
  const { service, client, send } = await serviceFor(t)
  const { key } = await service.makeKey()
  assert.equal((await send(key)).status, 200)
  await client.query('DELETE FROM api_key_secrets WHERE hash = $1', [hashApiKey(key)])
  for (let n = 0; n < 2; n++) assertError(await send(key), 401, 'invalid_api_key')
})

test('secrets are looked up by one statement at a time, apart from those of addresses with requests left, and a bounded number waits', async (t) => {
  const { env, database } = await openDatabaseFor(t)
  const secrets = createKnownSecrets(database, { waitingMax: 1_000 })
  assert.equal(await secrets.lookUp(hashApiKey(madeUp()), true), false)
  const client = await clientFor(t, env)
  const observer = await clientFor(t, env)
  await client.query('BEGIN; LOCK TABLE api_key_secrets IN ACCESS EXCLUSIVE MODE')
  const lookUp = (isExhausted: boolean) => secrets.lookUp(hashApiKey(madeUp()), isExhausted)
  const lookups = Array.from({ length: 1_000 }, () => lookUp(true))
  await assert.rejects(async () => lookUp(true), DatabaseUnavailableError)
  await untilWaiting(observer)
  assert.equal(await waitersOf(observer), 1)
  lookups.push(lookUp(false))
  await untilWaiting(observer, 2)
  assert.equal(await waitersOf(observer), 2)
  await client.query('ROLLBACK')
  assert.deepEqual(tally((await Promise.all(lookups)).map(String)), { false: 1_001 })
})
