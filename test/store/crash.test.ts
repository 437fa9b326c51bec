import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { assertIntegrity, type DatabaseEnv, databaseFor, inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { repetitions } from '../support/repetitions.ts'
import { type Server, serverFor } from '../support/servers.ts'

const rounds = repetitions(20)
const callers = 8
const adminKey = 'the-admin-key-of-the-crashing-test'

type Created = { id: number; name: string }
type Attempt = { name: string; idempotencyKey: string | undefined }

/** The requests and responses of all rounds. */
type Known = { created: Created[]; unanswered: Attempt[]; attempts: number }

/** Adds animals until the connection breaks; every other attempt has an Idempotency-Key. */
async function keepAdding(server: Server, key: string, prefix: string, known: Known): Promise<void> {
  for (let turn = 0; ; turn++) {
    const name = `${prefix}-${turn}`
    const attempt: Attempt = { name, idempotencyKey: turn % 2 === 0 ? `retry-${name}` : undefined }
    known.attempts++
    const created = await add(server, key, attempt).catch(() => undefined)
    if (!created) return void known.unanswered.push(attempt)
    known.created.push(created)
  }
}

async function add(server: Server, key: string, { name, idempotencyKey }: Attempt): Promise<Created> {
  const { status, json, text } = await server.request('POST', '/v1/pets', {
    key,
    body: { name, categoryId: 1 },
    ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
  })
  assert.equal(status, 201, text)
  assert.equal(json.name, name)
  return json
}

function readDatabase(env: DatabaseEnv): Promise<Created[]> {
  assertIntegrity(env)
  return inDatabase(env, ({ read }) => read.selectFrom('pets').select(['id', 'name']).orderBy('id').execute())
}

test(`a crash at any time loses no confirmed change and duplicates nothing (${rounds} times)`, async (t) => {
  const databaseEnv = await databaseFor(t)
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey }
  const known: Known = { created: [], unanswered: [], attempts: 0 }
  let server = await serverFor(t, env)
  const made = await server.request('POST', '/v1/keys', {
    key: adminKey,
    body: { name: 'busy', plan: 'enterprise', limits: { perMinute: 1_000_000, perDay: 10_000_000 } },
  })
  const key: string = made.json.key

  let replayed = 0
  for (let round = 0; round < rounds; round++) {
    const before = known.created.length
    const load = Array.from({ length: callers }, (_, n) => keepAdding(server, key, `${round}-${n}`, known))
    await eventually('animals come in', () => known.created.length > before)
    // The server is killed at a random time.
    await pause(Math.random() * 120)
    server.child.kill('SIGKILL')
    assert.equal((await server.ended).signal, 'SIGKILL')
    await Promise.all(load)
    server.closeConnections()

    server = await serverFor(t, env)
    const after = await readDatabase(databaseEnv)
    assertNothingLost(after, known)

    const names = new Map(after.map(({ id, name }) => [name, id]))
    for (const attempt of known.unanswered.splice(0)) {
      if (attempt.idempotencyKey === undefined) continue
      const created = await add(server, key, attempt)
      const idBefore = names.get(attempt.name)
      if (idBefore !== undefined) {
        assert.equal(created.id, idBefore, 'the response of the first attempt is replayed')
        replayed++
      }
      known.created.push(created)
      assert.deepEqual(await add(server, key, attempt), created)
    }
    assertNothingLost(await readDatabase(databaseEnv), known)
  }
  t.diagnostic(
    `${known.created.length} pets confirmed, ${replayed} retries had been applied before the crash`,
  )
})

function assertNothingLost(stored: Created[], { created, attempts }: Known): void {
  const byId = new Map(stored.map(({ id, name }) => [id, name]))
  for (const { id, name } of created) assert.equal(byId.get(id), name, `the animal ${id} got 201`)
  assert.equal(new Set(created.map(({ id }) => id)).size, created.length, 'no id was given to two animals')
  assert.equal(new Set(stored.map(({ name }) => name)).size, stored.length, 'no animal is there twice')
  assert.ok(stored.length <= attempts)
}

test('after a crash directly after the first start, the service starts again', async (t) => {
  const first = await serverFor(t)
  first.child.kill('SIGKILL')
  await first.ended
  const second = await serverFor(t, first.databaseEnv)
  assert.equal((await second.request('GET', '/v1/keys', { key: first.operatorKey })).status, 200)
})

test('a crash loses at most the last second of the counts of a key', async (t) => {
  const databaseEnv = await databaseFor(t)
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey }
  const first = await serverFor(t, env)
  for (let n = 0; n < 5; n++) await first.request('GET', '/v1/pets', { key: adminKey })
  await inDatabase(databaseEnv, ({ read }) => {
    const used = () => read.selectFrom('key_usage').select('minute_used').executeTakeFirst()
    return eventually('the use is in the store', async () => (await used())?.minute_used === 5, 1_000)
  })
  first.child.kill('SIGKILL')
  await first.ended
  const second = await serverFor(t, env)
  const { json } = await second.request('GET', '/v1/limits', { key: adminKey })
  assert.equal(json.day.limit - json.day.remaining, 5)
})
