import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import { hashApiKey, makeApiKey } from '../../src/auth/apiKey.ts'
import { SchemaTooNewError } from '../../src/database/database.ts'
import { firstRelease } from '../../src/database/migrations/0001-first-release.ts'
import { migrateStore, openMigrated } from '../../src/database/open.ts'
import { openPostgres } from '../../src/database/postgres/open.ts'
import { amplePlan, assertRefused } from '../support/answers.ts'
import { newStore, removeStore, type StoreEnv } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { lastFirst } from '../support/lastFirst.ts'
import { startLoad } from '../support/load.ts'
import { runPetstore } from '../support/process.ts'
import { loopbackAllowed, registerWebhook, startReceiver } from '../support/receiver.ts'
import { serverFor } from '../support/servers.ts'
import { startOfTests, startTestService, type TestService } from '../support/service.ts'

type After = Pick<TestContext, 'after'>

const int64Max = '9223372036854775807'
const int64Min = '-9223372036854775808'
const scopes = ['pets:read', 'pets:write', 'categories:read', 'orders:write', 'orders:read', 'keys:manage']
const animals: [id: number, name: string, categoryId: string, status: string][] = [
  [1, 'Least', int64Min, 'available'],
  [2, 'Łuna 🐾', '3', 'pending'],
  [5, 'Greatest', int64Max, 'sold'],
  [6, 'Milo', '3', 'available'],
  [7, 'Rex', '9007199254740993', 'available'],
]
const petText = ([id, name, categoryId, status]: (typeof animals)[number]) =>
  `{"id":${id},"name":"${name}","categoryId":${categoryId},"status":"${status}"}`
const kept = {
  path: '/v1/pets',
  body: '{"name":"Kept","categoryId":3}',
  answer: '{"id":4,"name":"Kept","categoryId":3,"status":"available"}',
}

/** A database that nobody has used yet. */
async function bareStoreFor(t: After): Promise<StoreEnv> {
  const env = await newStore({ isBare: true })
  t.after(() => removeStore(env))
  return env
}

const locationOf = (env: StoreEnv) => ({ dataDir: env.PETSTORE_DATA_DIR, databaseUrl: env.DATABASE_URL })

async function query(env: StoreEnv, text: string, values: unknown[] = []): Promise<pg.QueryResult['rows']> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** A store as the first step leaves it, with animals, some removed; a named category; a key in use; a kept answer. */
async function firstReleaseStoreFor(t: After): Promise<{ env: StoreEnv; key: string }> {
  const env = await bareStoreFor(t)
  const database = openPostgres({ url: env.DATABASE_URL as string, poolMax: 1 })
  await database.migrate((trx) => firstRelease.up(trx, database.dialect))
  await database.close()
  const run = (text: string, ...values: unknown[]) => query(env, text, values)
  await run(
    'CREATE TABLE schema_migrations (version bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)',
  )
  await run("INSERT INTO schema_migrations VALUES (1, 'first-release', 0)")
  for (const [id, name, categoryId, status] of animals) {
    await run('INSERT INTO categories (category_id) VALUES ($1) ON CONFLICT DO NOTHING', categoryId)
    await run('INSERT INTO pets VALUES ($1, $2, $3, $4)', id, name, categoryId, status)
  }
  await run("UPDATE categories SET name = 'Rabbits' WHERE category_id = 3")
  await run("SELECT setval(pg_get_serial_sequence('pets', 'id'), 9)")
  const key = makeApiKey('production')
  await run(
    "INSERT INTO api_keys VALUES (1, 'operator', 'enterprise', 500, 5000, $1, '[]', 0, 0, NULL, NULL, 0)",
    JSON.stringify(scopes),
  )
  await run('INSERT INTO api_key_secrets VALUES ($1, 1, 0, NULL)', hashApiKey(key))
  await run(
    'INSERT INTO key_usage VALUES (1, $1, 7, $2, 70, 0, 0, 0, 0, 0, 0)',
    startOfTests + 60_000,
    startOfTests + 86_400_000,
  )
  const fingerprint = createHash('sha256').update(`POST ${kept.path}\n${kept.body}`).digest('base64url')
  await run(
    `INSERT INTO idempotent_answers VALUES (1, 'kept', $1, 201, '{"Location":"/v1/pets/4"}', $2, $3)`,
    fingerprint,
    kept.answer,
    startOfTests - 1_000,
  )
  return { env, key }
}

/** Every table with its columns, every index, constraint, function and trigger, in the words of PostgreSQL. */
async function schemaOf(env: StoreEnv): Promise<string[]> {
  const rows = await query(
    env,
    `
    SELECT 'table ' || c.relname || ' ' || c.relpersistence::text || ' ' || coalesce(c.reloptions::text, '') AS line
    FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'column ' || table_name || '.' || column_name || ' ' || ordinal_position || ' ' || data_type || ' '
      || is_nullable || ' ' || coalesce(column_default, '') || ' ' || coalesce(identity_generation, '')
    FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL
    SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL
    SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    ORDER BY line`,
  )
  return rows.map(({ line }) => line)
}

const versionsOf = async (env: StoreEnv) =>
  (await query(env, 'SELECT version FROM schema_migrations ORDER BY version')).map(({ version }) =>
    Number(version),
  )

/** The steps of this version, and how many they are: as a fresh store has them. */
async function stepsOfThisVersion(t: After): Promise<string[]> {
  return migrateStore(locationOf(await bareStoreFor(t)), 0)
}

async function serving(env: StoreEnv, work: (service: TestService) => Promise<void>): Promise<void> {
  const service = await startTestService(env)
  try {
    await work(service)
  } finally {
    await service.stop()
  }
}

test('a store of the first step keeps its animals, categories and keys, and gains the rest', async (t) => {
  const undo = lastFirst(t)
  const { env, key } = await firstReleaseStoreFor(undo)
  const steps = await stepsOfThisVersion(undo)
  await serving(env, async (service) => {
    const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      service.request(method, path, { key, headers, ...(body !== undefined && { body }) })

    const limits = (await call('GET', '/v1/limits')).json
    assert.equal(limits.minute.limit - limits.minute.remaining, 7, 'what was used stays used')
    assert.equal(limits.day.limit - limits.day.remaining, 70)
    assert.equal((await call('GET', '/v1/pets')).text, `[${animals.toReversed().map(petText).join()}]`)
    assert.equal((await call('GET', '/v1/categories/3')).text, '{"id":3,"name":"Rabbits"}')
    assert.equal((await call('GET', `/v1/categories/${int64Min}`)).text, `{"id":${int64Min}}`)
    assert.deepEqual((await call('GET', '/v1/store/inventory')).json, { available: 3, pending: 1, sold: 1 })

    const replayed = await call('POST', kept.path, kept.body, { 'idempotency-key': 'kept' })
    assert.equal(replayed.headers['idempotent-replayed'], 'true')
    assert.equal(replayed.text, kept.answer)

    const added = await call('POST', '/v1/pets', { name: 'Next', categoryId: 3 })
    assert.equal(added.json.id, 10, 'ids go on where they were, past the removed ones')
    const placed = await call('POST', '/v1/store/orders', { petId: 6 })
    assert.equal(placed.status, 201, placed.text)
    assertRefused(await call('POST', '/v1/store/orders', { petId: 2 }), 409, 'pet_unavailable')
    assert.deepEqual((await call('GET', '/v1/store/inventory')).json, { available: 3, pending: 2, sold: 1 })
  })
  assert.deepEqual(
    await versionsOf(env),
    steps.map((_, n) => n + 1),
  )
  await serving(env, async (service) => {
    const { json } = await service.request('GET', '/v1/store/orders', { key })
    assert.equal(json.length, 1, 'the next start finds nothing to migrate, and everything there')
  })
})

test('a migrated store has the same schema as a new one', async (t) => {
  const undo = lastFirst(t)
  const { env: migrated } = await firstReleaseStoreFor(undo)
  const made = await bareStoreFor(undo)
  for (const env of [migrated, made]) await migrateStore(locationOf(env), 0)
  const schema = await schemaOf(made)
  assert.ok(schema.length > 50)
  assert.deepEqual(await schemaOf(migrated), schema)
})

test('ten that migrate at once do it once, on an empty database and on one of the first step', async (t) => {
  const undo = lastFirst(t)
  const steps = await stepsOfThisVersion(undo)
  const { env: old } = await firstReleaseStoreFor(undo)
  for (const [env, expected] of [
    [await bareStoreFor(undo), steps],
    [old, steps.slice(1)],
  ] as const) {
    const taken = await Promise.all(Array.from({ length: 10 }, () => migrateStore(locationOf(env), 0)))
    const byThose = taken.filter((some) => some.length > 0)
    assert.deepEqual(byThose, [expected])
    assert.deepEqual(
      await versionsOf(env),
      steps.map((_, n) => n + 1),
    )
  }
  const counts = await query(old, 'SELECT count FROM inventory ORDER BY status')
  assert.deepEqual(
    counts.map(({ count }) => Number(count)),
    [3, 1, 1],
  )
})

test('a migration that fails half-way changes nothing, and can be tried again', async (t) => {
  const { env } = await firstReleaseStoreFor(lastFirst(t))
  await query(env, 'CREATE TABLE webhooks (in_the_way integer)')
  const before = await schemaOf(env)
  await assert.rejects(migrateStore(locationOf(env), 0), /webhooks/)
  assert.deepEqual(await schemaOf(env), before)
  assert.deepEqual(await versionsOf(env), [1])
  await query(env, 'DROP TABLE webhooks')
  assert.ok((await migrateStore(locationOf(env), 0)).length > 0)
})

test('a store of a newer version is refused, with a word on what to do, and stays as it is', async (t) => {
  const env = await bareStoreFor(lastFirst(t))
  const newest = (await migrateStore(locationOf(env), 0)).length
  await query(env, `INSERT INTO schema_migrations VALUES (${newest + 1}, 'from-the-future', 0)`)
  await query(env, 'CREATE TABLE futures (id integer)')
  const before = await schemaOf(env)
  await assert.rejects(openMigrated(locationOf(env), 0), SchemaTooNewError)
  const commands = [['serve'], ['migrate'], ['keys', 'list'], ['export']]
  const ended = await Promise.all(commands.map((args) => runPetstore(args, { ...env, PORT: '0' })))
  for (const { code, stdout, stderr } of ended) {
    assert.equal(code, 1, stderr)
    assert.equal(stdout, '')
    assert.equal(
      stderr,
      `The store has schema version ${newest + 1}, but this version of petstore knows ${newest} at most: run the newer version that wrote it.\n`,
    )
  }
  const unasked = await runPetstore(['serve'], { ...env, PORT: '0', PETSTORE_AUTO_MIGRATE: 'false' })
  assert.deepEqual([unasked.code, unasked.stdout], [1, ''])
  assert.match(unasked.stderr, /newer version/)
  assert.deepEqual(await schemaOf(env), before)
  assert.deepEqual(await query(env, 'SELECT * FROM api_keys'), [])
})

describe('PETSTORE_AUTO_MIGRATE=false', { concurrency: 2 }, () => {
  const isManual = { PETSTORE_AUTO_MIGRATE: 'false' }

  for (const [what, storeOf] of [
    ['an empty database', async (t: After) => bareStoreFor(t)],
    ['a store of the first step', async (t: After) => (await firstReleaseStoreFor(t)).env],
  ] as const) {
    test(`${what}: serve refuses and names "petstore migrate", which does it and says so; then serve serves`, async (t) => {
      const undo = lastFirst(t)
      const env = await storeOf(undo)
      const before = await schemaOf(env)
      const missing = await stepsOfThisVersion(undo)
      if (before.length > 0) missing.shift()

      const refused = await runPetstore(['serve'], { ...env, ...isManual, PORT: '0' })
      assert.deepEqual([refused.code, refused.stdout], [1, ''])
      assert.match(refused.stderr, /PETSTORE_AUTO_MIGRATE is false: run "petstore migrate" first/)
      assert.doesNotMatch(refused.stderr, /\n {4}at /, 'no stack')
      assert.deepEqual(await schemaOf(env), before)

      const migrated = await runPetstore(['migrate', '--json'], { ...env, ...isManual })
      assert.deepEqual(migrated, {
        code: 0,
        signal: null,
        stdout: `${JSON.stringify({ steps: missing })}\n`,
        stderr: '',
      })
      const again = await runPetstore(['migrate'], { ...env, ...isManual })
      assert.deepEqual([again.code, again.stdout], [0, 'The schema is up to date.\n'])
      const server = await serverFor(undo, { ...env, ...isManual })
      assert.equal((await server.request('GET', '/readyz')).status, 200)
    })
  }

  test('"petstore migrate" says for people what it did', async (t) => {
    const undo = lastFirst(t)
    const steps = await stepsOfThisVersion(undo)
    const { code, stdout, stderr } = await runPetstore(['migrate'], await bareStoreFor(undo))
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    assert.equal(stdout, `The schema is up to date now: ${steps.join(', ')}.\n`)
  })
})

test('a running service does not notice columns that a later version adds under it: every request is served', async (t) => {
  const undo = lastFirst(t)
  const env = await bareStoreFor(undo)
  const receiver = await startReceiver()
  undo.after(() => receiver.stop())
  const service = await startTestService({ ...env, ...loopbackAllowed }, { bounds: { sweepMs: 200 } })
  undo.after(() => service.stop())
  const { key } = await service.makeKey(amplePlan)
  await registerWebhook(service, receiver.url)
  const load = startLoad([service], { callers: 2, key })
  undo.after(() => load.stop().catch(() => {}))

  /** A call of every kind, with statements on every table, each of which must be served. */
  async function callEverything() {
    const call = async (method: string, path: string, body?: unknown) => {
      const answer = await service.request(method, path, {
        key: service.operatorKey,
        ...(body !== undefined && { body }),
      })
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
      return answer.json
    }
    const { id: petId } = await call('POST', '/v1/pets', { name: 'Milo', categoryId: 3 })
    const { id: orderId } = await call('POST', '/v1/store/orders', { petId, customer: { name: 'Zoë' } })
    await call('PATCH', `/v1/store/orders/${orderId}`, { status: 'cancelled' })
    await call('GET', '/v1/store/orders')
    await call('PATCH', `/v1/pets/${petId}`, { name: 'Luna' })
    const { id: categoryId } = await call('POST', '/v1/categories', { name: 'Rabbits' })
    await call('PATCH', `/v1/categories/${categoryId}`, { name: 'Hares' })
    await call('GET', '/v1/categories')
    const { id: keyId } = await call('POST', '/v1/keys', { name: 'another' })
    await call('POST', `/v1/keys/${keyId}/rotate`)
    await call('GET', '/v1/keys')
    await call('GET', '/v1/limits')
    await call('GET', '/v1/webhooks')
    await call('GET', '/v1/webhooks/1/deliveries')
    await call('GET', '/v1/events?limit=5')
  }
  await callEverything()
  await callEverything()
  const tables = await query(
    env,
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname",
  )
  assert.ok(tables.length >= 14)
  for (const { relname } of tables) {
    await query(env, `ALTER TABLE ${relname} ADD COLUMN from_the_future text`)
    await callEverything()
  }
  await load.stop()
  assert.equal(load.refusals(), 0, 'no caller was refused')
  const pets = await query(env, 'SELECT id FROM pets')
  const isTold = () => {
    const told = new Set(receiver.received.map(({ data }) => data.id))
    service.advance(60_000)
    return pets.every(({ id }) => told.has(Number(id)))
  }
  await eventually('webhooks are told of every animal', isTold, 30_000)
})
