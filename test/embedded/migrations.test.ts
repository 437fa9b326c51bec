import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { hashApiKey, makeApiKey } from '../../src/auth/apiKey.ts'
import { SchemaTooNewError } from '../../src/database/database.ts'
import { firstRelease } from '../../src/database/migrations/0001-first-release.ts'
import { databaseFile, openSqlite } from '../../src/database/sqlite/open.ts'
import { assertRefused } from '../support/answers.ts'
import { openStore } from '../support/engine.ts'
import { runPetstore } from '../support/process.ts'
import { folderFor } from '../support/servers.ts'
import { startOfTests, startTestService, type TestService } from '../support/service.ts'

const firstReleaseSchema = readFileSync(new URL('../fixtures/first-release.sql', import.meta.url), 'utf8')
const allVersions = [1, 2, 3, 4, 5]
const newestVersion = 5

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

/** A store as the first release left it: animals, some removed; a named category; a key in use; a kept answer. */
function makeFirstReleaseStore(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true })
  const store = new DatabaseSync(databaseFile(dataDir))
  const key = makeApiKey('production')
  try {
    store.exec(`PRAGMA journal_mode = WAL; ${firstReleaseSchema}`)
    const run = (text: string, ...values: (string | number | bigint)[]) => {
      const statement = store.prepare(text)
      // The id of a category is that of its row, which would not fit into a number.
      statement.setReadBigInts(true)
      statement.run(...values)
    }
    run("INSERT INTO schema_migrations VALUES (1, 'first-release', 0)")
    for (const [id, name, categoryId, status] of animals) {
      run('INSERT INTO categories (category_id) VALUES (?) ON CONFLICT DO NOTHING', BigInt(categoryId))
      run('INSERT INTO pets VALUES (?, ?, ?, ?)', id, name, BigInt(categoryId), status)
    }
    run("UPDATE categories SET name = 'Rabbits' WHERE category_id = 3")
    run("UPDATE sqlite_sequence SET seq = 9 WHERE name = 'pets'")
    run(
      "INSERT INTO api_keys VALUES (1, 'operator', 'enterprise', 500, 5000, ?, '[]', 0, 0, NULL, NULL, 0)",
      JSON.stringify(scopes),
    )
    run('INSERT INTO api_key_secrets VALUES (?, 1, 0, NULL)', hashApiKey(key))
    run(
      'INSERT INTO key_usage VALUES (1, ?, 7, ?, 70, 0, 0, 0, 0, 0, 0)',
      startOfTests + 60_000,
      startOfTests + 86_400_000,
    )
    const fingerprint = createHash('sha256').update(`POST ${kept.path}\n${kept.body}`).digest('base64url')
    run(
      `INSERT INTO idempotent_answers VALUES (1, 'kept', ?, 201, '{"Location":"/v1/pets/4"}', ?, ?)`,
      fingerprint,
      kept.answer,
      startOfTests - 1_000,
    )
  } finally {
    store.close()
  }
  return key
}

/** Every table, index and trigger, whichever came first. */
function schemaOf(dataDir: string): string[] {
  const store = new DatabaseSync(databaseFile(dataDir), { readOnly: true })
  try {
    const rows = store.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all()
    return rows.map(({ type, name, sql }) => `${type} ${name}: ${sql}`)
  } finally {
    store.close()
  }
}

function query(dataDir: string, text: string): Record<string, unknown>[] {
  const store = new DatabaseSync(databaseFile(dataDir), { readOnly: true })
  try {
    return store.prepare(text).all()
  } finally {
    store.close()
  }
}

const versions = (dataDir: string) =>
  query(dataDir, 'SELECT version FROM schema_migrations ORDER BY version').map(({ version }) => version)

async function serving(dataDir: string, work: (service: TestService) => Promise<void>): Promise<void> {
  const service = await startTestService({ PETSTORE_DATA_DIR: dataDir })
  try {
    await work(service)
  } finally {
    await service.stop()
  }
}

test('the first step still makes the schema of the first release, to the letter', async (t) => {
  const [made, released] = [folderFor(t), folderFor(t)]
  const database = openSqlite(made)
  await database.write((trx) => firstRelease.up(trx, database.dialect))
  await database.close()
  makeFirstReleaseStore(released)
  const isOld = (line: string) => !line.startsWith('table schema_migrations')
  assert.deepEqual(schemaOf(made), schemaOf(released).filter(isOld))
})

test('a store of the first release keeps its animals, categories and keys, and gains the rest', async (t) => {
  const dataDir = folderFor(t)
  const key = makeFirstReleaseStore(dataDir)
  await serving(dataDir, async (service) => {
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
    const freed = await call('PATCH', '/v1/pets/2', { status: 'available' })
    assert.equal(freed.status, 200, 'an animal that was pending has no order, so it can be moved')
    assert.deepEqual((await call('GET', '/v1/store/inventory')).json, { available: 4, pending: 1, sold: 1 })
  })
  assert.deepEqual(versions(dataDir), allVersions)
  await serving(dataDir, async (service) => {
    const { json } = await service.request('GET', '/v1/store/orders', { key })
    assert.equal(json.length, 1, 'the next start finds nothing to migrate, and everything there')
  })
})

test('a migrated store has the same schema as a new one', async (t) => {
  const [migrated, made] = [folderFor(t), folderFor(t)]
  makeFirstReleaseStore(migrated)
  for (const dataDir of [migrated, made]) await (await openStore({ PETSTORE_DATA_DIR: dataDir })).close()
  assert.deepEqual(schemaOf(migrated), schemaOf(made))
  assert.deepEqual(query(migrated, 'PRAGMA foreign_key_check'), [])
  assert.equal(query(migrated, 'PRAGMA integrity_check')[0]?.integrity_check, 'ok')
})

test('several processes that migrate at once migrate once', async (t) => {
  const dataDir = folderFor(t)
  makeFirstReleaseStore(dataDir)
  const ended = await Promise.all(
    Array.from({ length: 4 }, () => runPetstore(['keys', 'list'], { PETSTORE_DATA_DIR: dataDir })),
  )
  for (const { code, stderr } of ended) assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  assert.deepEqual(versions(dataDir), allVersions)
  const counts = query(dataDir, 'SELECT status, count FROM inventory ORDER BY status')
  assert.deepEqual(
    counts.map(({ count }) => count),
    [3, 1, 1],
  )
})

test('a migration that fails half-way changes nothing, and can be tried again', async (t) => {
  const dataDir = folderFor(t)
  makeFirstReleaseStore(dataDir)
  const change = (text: string) => {
    const store = new DatabaseSync(databaseFile(dataDir))
    store.exec(text)
    store.close()
  }
  change('CREATE TABLE webhooks (in_the_way integer)')
  const before = schemaOf(dataDir)
  await assert.rejects(openStore({ PETSTORE_DATA_DIR: dataDir }), /webhooks/)
  assert.deepEqual(schemaOf(dataDir), before)
  assert.deepEqual(versions(dataDir), [1])
  change('DROP TABLE webhooks')
  await (await openStore({ PETSTORE_DATA_DIR: dataDir })).close()
  assert.deepEqual(versions(dataDir), allVersions)
})

test('a backup that the first release made is restored into a store of this one', async (t) => {
  const [old, dataDir] = [folderFor(t), folderFor(t)]
  const key = makeFirstReleaseStore(old)
  const { code, stderr } = await runPetstore(['restore', databaseFile(old)], { PETSTORE_DATA_DIR: dataDir })
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  await serving(dataDir, async (service) => {
    const { json } = await service.request('GET', '/v1/store/inventory', { key })
    assert.deepEqual(json, { available: 3, pending: 1, sold: 1 })
  })
  assert.deepEqual(versions(old), [1], 'the backup itself is as it was')
})

/** A store that some later version of the program has migrated on. */
async function makeNewerStore(t: TestContext): Promise<string> {
  const dataDir = folderFor(t)
  await (await openStore({ PETSTORE_DATA_DIR: dataDir })).close()
  const store = new DatabaseSync(databaseFile(dataDir))
  store.exec(`
    INSERT INTO schema_migrations VALUES (${newestVersion + 1}, 'from-the-future', 0);
    CREATE TABLE futures (id integer);
  `)
  store.close()
  return dataDir
}

test('a store of a newer version is refused, with a word on what to do, and stays as it is', async (t) => {
  const dataDir = await makeNewerStore(t)
  const before = schemaOf(dataDir)
  await assert.rejects(openStore({ PETSTORE_DATA_DIR: dataDir }), SchemaTooNewError)
  for (const args of [['serve'], ['seed'], ['export'], ['keys', 'list']]) {
    const { code, stdout, stderr } = await runPetstore(args, { PETSTORE_DATA_DIR: dataDir, PORT: '0' })
    assert.equal(code, 1, args.join(' '))
    assert.equal(stdout, '')
    assert.match(
      stderr,
      /schema version 6, but this version of petstore knows 5 at most: run the newer version/,
    )
    assert.doesNotMatch(stderr, /\n {4}at /, 'no stack')
  }
  assert.deepEqual(schemaOf(dataDir), before)
  assert.deepEqual(query(dataDir, 'SELECT * FROM pets'), [])
})

test('a backup of a newer version is refused, and the store that is there stays', async (t) => {
  const newer = await makeNewerStore(t)
  const dataDir = join(folderFor(t), 'data')
  const key = makeFirstReleaseStore(dataDir)
  const { code, stderr } = await runPetstore(['restore', databaseFile(newer), '--replace'], {
    PETSTORE_DATA_DIR: dataDir,
  })
  assert.equal(code, 1)
  assert.match(stderr, /run the newer version/)
  await serving(dataDir, async (service) => {
    assert.equal((await service.request('GET', '/v1/pets', { key })).json.length, animals.length)
  })
})
