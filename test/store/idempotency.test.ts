import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pruneExpired } from '../../src/schedule.ts'
import type { ClientResponse } from '../support/client.ts'
import { databaseText, holdWriteLockOf, openDatabaseFor } from '../support/engine.ts'
import { isReplay, milo, useIdempotency } from '../support/idempotentCalls.ts'
import { amplePlan, assertError } from '../support/responses.ts'

const dayMs = 24 * 60 * 60 * 1000

const { service, callersKey, call, newKey, post, petsNamed } = useIdempotency()

test('a repeated request gets the first response again and changes nothing', async () => {
  const idempotencyKey = newKey()
  const body = { name: idempotencyKey, categoryId: 3 }
  const first = await post(idempotencyKey, { body })
  assert.equal(first.status, 201)
  assert.equal(first.headers['idempotent-replayed'], undefined)
  for (let i = 0; i < 3; i++) {
    const again = await post(idempotencyKey, { body })
    assert.equal(again.status, 201)
    assert.ok(isReplay(again))
    assert.equal(again.text, first.text)
    assert.equal(again.headers.location, first.headers.location)
    assert.equal(again.headers.etag, first.headers.etag)
    assert.notEqual(again.headers['x-request-id'], first.headers['x-request-id'])
  }
  assert.equal(await petsNamed(idempotencyKey), 1)
})

test('a replay is the first response, even if the pet was changed or removed since', async () => {
  const idempotencyKey = newKey()
  const first = await post(idempotencyKey)
  await call('PATCH', `/v1/pets/${first.json.id}`, { body: { name: 'Rex' } })
  assert.equal((await post(idempotencyKey)).text, first.text)
  await call('DELETE', `/v1/pets/${first.json.id}`)
  const again = await post(idempotencyKey)
  assert.equal(again.text, first.text)
  assert.deepEqual((await call('GET', `/v1/pets?id=${first.json.id}`)).json, [])
})

test('the same key with another body or another path is rejected, and the first response stays', async () => {
  const manager = (await service.makeKey({ ...amplePlan, scopes: ['pets:write', 'keys:manage'] })).key
  const idempotencyKey = newKey()
  const first = await post(idempotencyKey, { key: manager })
  const others: [path: string, body: unknown][] = [
    ['/v1/pets', { ...milo, name: 'Rex' }],
    ['/v1/pets', { categoryId: 3, name: 'Milo' }],
    ['/v1/pets', `${JSON.stringify(milo)} `],
    ['/v1/pets', '{}'],
    ['/v1/pets', 'nonsense'],
    ['/v1/keys', milo],
    ['/v1/keys/1/rotate', milo],
  ]
  for (const [path, body] of others) {
    const rejected = await post(idempotencyKey, { key: manager, path, body })
    assertError(rejected, 422, 'idempotency_key_reused')
    assert.ok(!isReplay(rejected))
  }
  const again = await post(idempotencyKey, { key: manager })
  assert.ok(isReplay(again))
  assert.equal(again.text, first.text)
})

test('the same Idempotency-Key of two API keys is two keys', async () => {
  const other = (await service.makeKey()).key
  const idempotencyKey = newKey()
  const mine = await post(idempotencyKey)
  const theirs = await post(idempotencyKey, { key: other })
  assert.ok(!isReplay(theirs))
  assert.notEqual(theirs.json.id, mine.json.id)
  assert.equal((await post(idempotencyKey, { key: other })).text, theirs.text)
  assert.equal((await post(idempotencyKey)).text, mine.text)
})

test('an error of a database constraint is recorded, too', async () => {
  const idempotencyKey = newKey()
  const options = { key: service.operatorKey, path: '/v1/keys/999999/rotate', body: {} }
  const first = await post(idempotencyKey, options)
  assertError(first, 404, 'key_not_found')
  const again = await post(idempotencyKey, options)
  assert.ok(isReplay(again))
  assert.equal(again.text, first.text)
})

test('401, 403 and 429 are not recorded: the same request may succeed later', async () => {
  const { id, key: withoutScopes } = await service.makeKey({
    plan: 'enterprise',
    limits: { perMinute: 1 },
    scopes: ['pets:read'],
  })
  const idempotencyKey = newKey()
  const send = (withKey: string | undefined) => post(idempotencyKey, { key: withKey })
  assert.equal((await send(undefined)).status, 401)
  assert.equal((await send(withoutScopes)).status, 403)
  assert.equal((await send(withoutScopes)).status, 429)
  const body = { scopes: ['pets:write'], limits: { perMinute: 100 } }
  await call('PATCH', `/v1/keys/${id}`, { key: service.operatorKey, body })
  const first = await send(withoutScopes)
  assert.equal(first.status, 201, first.text)
  assert.ok(!isReplay(first))
})

test('a record is stored for 24 hours, exact to the millisecond', async () => {
  const send = () => post('day')
  const first = await send()
  service.advance(dayMs - 1)
  const late = await send()
  assert.ok(isReplay(late))
  assert.equal(late.text, first.text)
  service.advance(1)
  const next = await send()
  assert.equal(next.status, 201)
  assert.ok(!isReplay(next))
  assert.notEqual(next.json.id, first.json.id)
  // The 24 hours start again with the new response.
  service.advance(dayMs - 1)
  assert.equal((await send()).text, next.text)
})

test('a key that has expired may be used for another request', async () => {
  const idempotencyKey = newKey()
  const send = (name: string) => post(idempotencyKey, { body: { name, categoryId: 1 } })
  assert.equal((await send('A')).status, 201)
  assert.equal((await send('B')).status, 422)
  service.advance(dayMs)
  assert.equal((await send('B')).status, 201)
  assert.equal((await send('A')).status, 422)
})

test('the sweep forgets all that has expired, more than fits one write, and nothing else', async (t) => {
  const now = Date.UTC(2026, 10, 15)
  const { database } = await openDatabaseFor(t, now)
  const response = { fingerprint: '', status: 201, headers: '{}', body: '' }
  const responses = (name: string, created_at: number) =>
    [1, 2].map((key_id) => ({ ...response, key_id, idempotency_key: name, created_at }))
  // More than two writes of a thousand, of two API keys whose Idempotency-Keys are the same.
  const old = Array.from({ length: 1_250 }, (_, n) => responses(`old-${n}`, now - dayMs)).flat()
  await database.write(async (trx) => {
    const add = (rows: ReturnType<typeof responses>) =>
      trx.insertInto('idempotency_records').values(rows).execute()
    for (let at = 0; at < old.length; at += 500) await add(old.slice(at, at + 500))
    await add(responses('young', now - dayMs + 1))
  })
  await pruneExpired(database, () => now, undefined, assert.ifError)
  const left = await database.read
    .selectFrom('idempotency_records')
    .select(['key_id', 'idempotency_key'])
    .orderBy('key_id')
    .execute()
  assert.deepEqual(
    left.map(({ key_id, idempotency_key }) => [key_id, idempotency_key]),
    [
      [1, 'young'],
      [2, 'young'],
    ],
  )
})

test('records survive a restart', async () => {
  const idempotencyKeys = [newKey(), newKey()] as const
  const send = () =>
    Promise.all([
      post(idempotencyKeys[0], { body: { ...milo, name: 'before the restart' } }),
      post(idempotencyKeys[1], { body: { name: '' } }),
    ])
  const first = await send()
  await service.restart()
  for (const [index, again] of (await send()).entries()) {
    assert.ok(isReplay(again))
    assert.equal(again.status, first[index]?.status)
    assert.equal(again.text, first[index]?.text)
  }
  assert.equal(await petsNamed('before the restart'), 1)
})

/** Runs the work while another process holds the write lock, so that the first request stays in progress. */
async function whileDatabaseIsLocked(work: (release: () => void) => Promise<void>): Promise<void> {
  const other = await holdWriteLockOf(service.databaseEnv)
  let released: Promise<void> | undefined
  const release = () => {
    released ??= other.release()
  }
  try {
    await work(release)
  } finally {
    release()
    await released
  }
}

test('while the first request is running, all others with its key get 409 and one animal is added', async () => {
  const idempotencyKey = newKey()
  const body = { name: idempotencyKey, categoryId: 3 }
  const simultaneous = 20
  await whileDatabaseIsLocked(async (release) => {
    const rejections: ClientResponse[] = []
    const all = Array.from({ length: simultaneous }, () => post(idempotencyKey, { body }))
    for (const one of all) {
      void one.then((response) => {
        if (response.status === 409) rejections.push(response)
        // All but the first have a response: now it may continue.
        if (rejections.length === simultaneous - 1) release()
      })
    }
    const responses = await Promise.all(all)
    assert.equal(rejections.length, simultaneous - 1)
    for (const rejection of rejections) {
      assertError(rejection, 409, 'idempotency_in_progress')
      assert.match(String(rejection.headers['retry-after']), /^[1-9]\d*$/)
      assert.ok(!isReplay(rejection))
    }
    assert.equal(responses.filter(({ status }) => status === 201).length, 1)
  })
  assert.equal(await petsNamed(idempotencyKey), 1)
  const again = await post(idempotencyKey, { body })
  assert.ok(isReplay(again))
  assert.equal(again.status, 201)
})

test('while the first request is running, another body with its key is rejected as reused', async () => {
  const idempotencyKey = newKey()
  const bodies = [milo, { ...milo, name: 'Rex' }]
  await whileDatabaseIsLocked(async (release) => {
    const both = bodies.map((body) => post(idempotencyKey, { body }))
    const rejected = await Promise.race(both)
    assertError(rejected, 422, 'idempotency_key_reused')
    release()
    const statuses = (await Promise.all(both)).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [201, 422])
  })
})

test('any number of concurrent and repeated requests adds one pet', async () => {
  for (let round = 0; round < 2; round++) {
    const idempotencyKey = newKey()
    const body = { name: idempotencyKey, categoryId: 3 }
    const responses = await Promise.all(Array.from({ length: 30 }, () => post(idempotencyKey, { body })))
    const made = responses.filter(({ status }) => status === 201)
    assert.equal(made.filter((response) => !isReplay(response)).length, 1)
    assert.equal(new Set(made.map(({ text }) => text)).size, 1)
    for (const response of responses) assert.ok([201, 409].includes(response.status), response.text)
    assert.equal(await petsNamed(idempotencyKey), 1)
  }
})

test('a repeated request for a new key gets the same secret, which is nowhere in the store in the clear', async () => {
  const idempotencyKey = newKey()
  const options = { key: service.operatorKey, path: '/v1/keys', body: { name: 'retried key' } }
  const first = await post(idempotencyKey, options)
  assert.equal(first.status, 201)
  const again = await post(idempotencyKey, options)
  assert.ok(isReplay(again))
  assert.equal(again.text, first.text)
  assert.equal(again.headers.location, first.headers.location)
  assert.match(again.json.key, /^ps_live_[0-9A-Za-z]{36}$/)
  assert.equal((await call('GET', '/v1/pets', { key: again.json.key })).status, 200)

  const rotate = { ...options, path: `/v1/keys/${first.json.id}/rotate`, body: { overlapSeconds: 60 } }
  const rotationKey = newKey()
  const rotated = await post(rotationKey, rotate)
  const rotatedAgain = await post(rotationKey, rotate)
  assert.ok(isReplay(rotatedAgain))
  assert.equal(rotatedAgain.json.key, rotated.json.key)
  assert.notEqual(rotated.json.key, first.json.key)

  const stored = await databaseText(service.databaseEnv)
  assert.ok(stored.includes('retried key'), 'this is where the store is')
  assert.ok(stored.includes(idempotencyKey))
  for (const secret of [first.json.key, rotated.json.key, service.operatorKey, callersKey()]) {
    const random = secret.slice('ps_live_'.length)
    for (const form of [
      random,
      Buffer.from(secret).toString('base64').slice(4, -4),
      Buffer.from(random).toString('hex'),
    ]) {
      assert.ok(!stored.includes(form), 'a secret is on disk')
    }
  }
})

test('a response with a secret is replayed only to the API key secret that requested it', async () => {
  const { id, key: manager } = await service.makeKey({ ...amplePlan, scopes: ['keys:manage'] })
  const idempotencyKey = newKey()
  const options = { path: '/v1/keys', body: { name: 'made by a manager' } }
  const first = await post(idempotencyKey, { ...options, key: manager })
  assert.equal(first.status, 201)
  const body = { overlapSeconds: 60 }
  const rotated = await call('POST', `/v1/keys/${id}/rotate`, { key: service.operatorKey, body })
  const rejected = await post(idempotencyKey, { ...options, key: rotated.json.key })
  assertError(rejected, 422, 'idempotency_key_reused')
  assert.equal((await post(idempotencyKey, { ...options, key: manager })).text, first.text)
})
