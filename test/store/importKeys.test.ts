import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { generateApiKey, hashApiKey } from '../../src/auth/apiKey.ts'
import { assertSameExport, cliOn, cliOnNewDatabase, keyChangeMs, lines } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { runShell } from '../support/process.ts'
import { serviceFor, startTestService, type TestService } from '../support/service.ts'

const adminKey = 'the-admin-key-of-the-key-import-test'
const dayMs = 24 * 60 * 60 * 1000

const secretOf = (secret: string, expiresAt: number | null = null, createdAt = 5) => ({
  hash: hashApiKey(secret),
  createdAt,
  expiresAt,
})

const keyRecord = {
  type: 'key',
  id: 9,
  name: 'A key',
  plan: 'free',
  perMinute: null,
  perDay: null,
  streams: null,
  scopes: ['pets:read'],
  origins: [],
  isFromSetting: false,
  createdAt: 5,
  expiresAt: null,
  revokedAt: null,
  unbannedAt: 0,
  secrets: [secretOf('x')],
}

const ndjson = (...records: object[]) => records.map((record) => JSON.stringify(record)).join('\n')

// biome-ignore lint/suspicious/noExplicitAny: a test looks into records of every shape.
const keysIn = (exported: string): any[] =>
  lines(exported)
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'key')

describe('an import with --with-keys rejects a key that the API would reject, and changes nothing', {
  concurrency: 2,
}, () => {
  test('a lifted ban cannot be dated in the future, which would prevent bans', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import', '--with-keys'], ndjson({ ...keyRecord, unbannedAt: Date.now() + 400 * dayMs }))
    const [key] = keysIn(await cli.export())
    assert.ok(key.unbannedAt <= Date.now())
  })
})

describe('an import with --with-keys never invalidates an operator key', { concurrency: 2 }, () => {
  const worksOn = async (server: TestService, key: string) =>
    (await server.request('GET', '/v1/keys', { key })).status

  test('of a database that has created one: both keys work, and the imported one gets a new id', async (t) => {
    const first = await serviceFor(t)
    // Later, so that the operator keys of both databases are not taken for the same.
    const second = await startTestService({}, { startAt: first.now() + 1 })
    t.after(() => second.stop())
    const own = cliOn(first.databaseEnv)
    const { key: partner } = await own.json(['keys', 'create', '--name', 'partner'])
    const cli = cliOn(second.databaseEnv)
    const imported = await cli.json(['import', '--with-keys'], await own.export())
    assert.deepEqual([imported.keys, imported.keysRenumbered, imported.keysUnchanged], [2, 1, 0])
    await eventually(
      'the imported key works',
      async () => (await worksOn(second, first.operatorKey)) === 200,
      keyChangeMs,
    )
    assert.equal(await worksOn(second, second.operatorKey), 200)
    assert.equal((await second.request('GET', '/v1/pets', { key: partner })).status, 200)
    const ids = keysIn(await cli.export()).map(({ id, name }) => [id, name])
    assert.deepEqual(ids, [
      [1, 'operator'],
      [2, 'partner'],
      [3, 'operator'],
    ])
    // A second import changes nothing.
    const before = keysIn(await cli.export())
    const again = await cli.json(['import', '--with-keys'], await own.export())
    assert.deepEqual([again.keysRenumbered, again.keysUnchanged], [0, 1])
    assert.deepEqual(keysIn(await cli.export()), before)
  })

  test('whose secret another key of the file claims', async (t) => {
    const server = await serviceFor(t)
    const cli = cliOn(server.databaseEnv)
    const [operator] = keysIn(await cli.export())
    const forged = { ...keyRecord, secrets: [secretOf('own'), ...operator.secrets] }
    await cli.ok(['import', '--with-keys'], ndjson(forged))
    assert.equal(await worksOn(server, server.operatorKey), 200)
    assert.deepEqual(keysIn(await cli.export())[0], operator)
  })

  test('of two deployments with different settings: a start replaces only the key of its setting', async (t) => {
    const settings = [`${adminKey}-1`, `${adminKey}-2`] as const
    const first = await serviceFor(t, { PETSTORE_ADMIN_KEY: settings[0] })
    const second = await serviceFor(t, { PETSTORE_ADMIN_KEY: settings[1] })
    const cli = cliOn(second.databaseEnv)
    await cli.ok(['import', '--with-keys'], await cliOn(first.databaseEnv).export())
    const keys = keysIn(await cli.export())
    assert.deepEqual(
      keys.map(({ isFromSetting }) => isFromSetting),
      [true, false],
    )
    await second.restart({ PETSTORE_ADMIN_KEY: `${adminKey}-3` })
    assert.equal(await worksOn(second, settings[1]), 401, 'replaced by the setting')
    assert.equal(await worksOn(second, settings[0]), 200, 'imported as an ordinary key')
    assert.equal(await worksOn(second, `${adminKey}-3`), 200)
  })
})

describe('a key that exists in both databases', { concurrency: 2 }, () => {
  const [old, current] = [generateApiKey('production'), generateApiKey('production')]
  const shared = { ...keyRecord, id: 1, secrets: [secretOf(old)] }

  test('takes from the file what the API can change', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import', '--with-keys'], ndjson(shared))
    const changed = { ...shared, name: 'Renamed', plan: 'pro', scopes: ['pets:write'], revokedAt: 7 }
    await cli.ok(['import', '--with-keys'], ndjson(changed))
    assert.deepEqual(keysIn(await cli.export()), [changed])
  })

  test('stays revoked, and its expired secrets stay expired', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import', '--with-keys'], ndjson(shared))
    const rotated = {
      ...shared,
      revokedAt: 7,
      secrets: [secretOf(old, 6), secretOf(current, null, 6)],
    }
    await cli.ok(['import', '--with-keys'], ndjson(rotated))
    assert.deepEqual(keysIn(await cli.export()), [rotated])
    // An older export does not restore what has ended since.
    await cli.ok(['import', '--with-keys'], ndjson(shared))
    assert.deepEqual(keysIn(await cli.export()), [rotated])
  })

  test('is found by its secret if its id differs', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import', '--with-keys'], ndjson(shared))
    await cli.ok(['import', '--with-keys'], ndjson({ ...shared, id: 40, name: 'The same', createdAt: 6 }))
    assert.deepEqual(
      keysIn(await cli.export()).map(({ id, name }) => [id, name]),
      [[1, 'The same']],
    )
  })

  test('causes an event only if it changes', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const lastEvent = async () => /"lastEventId":(\d+)/.exec(await cli.export())?.[1]
    await cli.ok(['import', '--with-keys'], ndjson(shared))
    const before = await lastEvent()
    await cli.ok(['import', '--with-keys'], ndjson(shared))
    assert.equal(await lastEvent(), before)
  })
})

test('a renumbered key does not get an id that another line of the file has', async (t) => {
  const cli = await cliOnNewDatabase(t)
  await cli.ok(['keys', 'create', '--name', 'own'])
  const record = (id: number) => ({
    ...keyRecord,
    id,
    name: `key ${id}`,
    secrets: [secretOf(`secret ${id}`)],
  })
  await cli.ok(['import', '--with-keys'], ndjson(record(1), record(2), record(3)))
  assert.deepEqual(
    keysIn(await cli.export()).map(({ id, name }) => [id, name]),
    [
      [1, 'own'],
      [2, 'key 2'],
      [3, 'key 3'],
      [4, 'key 1'],
    ],
  )
})

test('all data moves through a pipe into an empty database, with the same ids and counters', async (t) => {
  const from = await cliOnNewDatabase(t)
  await from.ok(['seed', '--count', '5'])
  for (const name of ['one', 'two']) await from.ok(['keys', 'create', '--name', name])
  const to = await cliOnNewDatabase(t)
  const line = `"$NODE" "$MAIN" export |
    PETSTORE_DATA_DIR="$TO_FOLDER" DATABASE_URL="$TO_ADDRESS" "$NODE" "$MAIN" import --with-keys`
  const { stdout, stderr } = await runShell(line, {
    ...from.env,
    TO_FOLDER: to.env.PETSTORE_DATA_DIR,
    TO_ADDRESS: to.env.DATABASE_URL ?? '',
  })
  assert.equal(stderr, '')
  assert.match(
    stdout,
    /^Imported 5 animals, \d categories, 0 orders(?:, 0 [\w ]+)* and 2 keys: \d+ added, 0 changed, 0 unchanged\.\n$/,
  )
  assertSameExport(await to.export(), await from.export())
  assert.equal((await to.json(['keys', 'create', '--name', 'three'])).id, 3)
})
