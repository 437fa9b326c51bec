import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { generateApiKey, hashApiKey } from '../../src/auth/apiKey.ts'
import { readRecords } from '../../src/commands/import/readRecords.ts'
import { scopes } from '../../src/keys/key.ts'
import {
  assertCommandFails,
  assertSameExport,
  cliOn,
  cliOnNewDatabase,
  keyChangeMs,
  lines,
} from '../support/commands.ts'
import { contentsOf, type DatabaseEnv, newDatabase, removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { runShell } from '../support/process.ts'
import { serverFor, stopped } from '../support/servers.ts'

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

const head = { type: 'petstore', format: 1, lastPetId: 700, lastKeyId: 700 }
const feed = Array.from({ length: 600 }, (_, n) => ({ name: `Pet ${n}`, categoryId: 1 }))
const ndjson = (...records: object[]) => records.map((record) => JSON.stringify(record)).join('\n')

/** A database with one key that no test here changes. */
function sharedStore() {
  let cli: ReturnType<typeof cliOn>
  let contents: Awaited<ReturnType<typeof contentsOf>>
  before(async () => {
    cli = cliOn(await newDatabase())
    await cli.ok(['keys', 'create', '--name', 'own'])
    contents = await contentsOf(cli.env)
  })
  after(() => removeDatabase(cli.env))
  return async (args: string[], input: string, ...messages: [RegExp, ...RegExp[]]) => {
    const ended = await cli.run(args, input)
    for (const message of messages) assertCommandFails(ended, 1, message)
    assert.deepEqual(await contentsOf(cli.env), contents)
  }
}

/** The same check as of an import, without starting one. */
async function assertUnreadable(input: string, ...messages: [RegExp, ...RegExp[]]) {
  const options = { format: 'ndjson', withKeys: true, map: new Map(), externalId: undefined } as const
  const read = Array.fromAsync(readRecords(Readable.from([Buffer.from(input)]), options))
  const [problem] = (await read).flatMap(({ problems }) => problems)
  for (const expected of messages) assert.match(`Line ${problem?.line}: ${problem?.reason}`, expected)
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into records of every shape.
const keysIn = (exported: string): any[] =>
  lines(exported)
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'key')

describe('an import without --with-keys rejects a file with keys or counters and changes nothing', {
  concurrency: 2,
}, () => {
  const assertUnchanged = sharedStore()
  const scenarios: [what: string, record: object][] = [
    ['an operator key', { ...keyRecord, plan: 'enterprise', scopes }],
    ['an invalid key', { type: 'key' }],
    ['all counters', head],
    ['one counter', { type: 'petstore', format: 1, lastEventId: 9_000_000 }],
    ['an invalid counter', { type: 'petstore', format: 1, lastPetId: 'many' }],
  ]
  for (const [what, record] of scenarios) {
    test(what, async () => {
      const input = ndjson(...feed, record, { name: 'Last', categoryId: 1 })
      await assertUnchanged(['import'], input, /^Line 601: .*--with-keys.*--without-keys/)
    })
  }

  test('an export, with a message that says what to do', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['seed', '--count', '3'])
    const message = /^Line 1: .*"petstore import --with-keys".*"petstore export --without-keys"/
    await assertUnchanged(['import'], await cli.export(), message)
  })

  test('but accepts an export without keys, including its ids', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['seed', '--count', '3'])
    await cli.ok(['keys', 'create', '--name', 'stays here'])
    const exported = await cli.ok(['export', '--without-keys'])
    assert.doesNotMatch(exported, /"key"|last\w+Id|hash/)
    const second = await cliOnNewDatabase(t)
    assert.match(
      await second.ok(['import'], exported),
      /^Imported 3 animals, \d categories, 0 orders(?:, 0 \w+)* and 0 keys: \d added, 0 changed, 0 unchanged\.\n$/,
    )
    assert.equal(await second.ok(['export', '--without-keys']), exported)
    assert.equal(await second.ok(['keys', 'list']), '')
  })
})

describe('an import with --with-keys rejects a key that the API would reject, and changes nothing', {
  concurrency: 2,
}, () => {
  const origin = 'https://shop.example'
  const assertUnchanged = sharedStore()
  const scenarios: [what: string, fields: object, message: RegExp][] = [
    ['a blank name', { name: ' ' }, /name must be 1 to 100/],
    ['a long name', { name: 'x'.repeat(101) }, /name must be 1 to 100/],
    ['an unknown plan', { plan: 'gold' }, /plan must be one of/],
    ['an unknown scope', { scopes: ['pets:all'] }, /scopes\/0 must be one of/],
    ['too many scopes', { scopes: Array(10).fill('pets:read') }, /scopes must have at most 9/],
    ['own limits outside of enterprise', { perMinute: 5 }, /limits are fixed by the plan free/],
    ['no limit at all', { plan: 'enterprise', perDay: 0 }, /perDay must be an integer from 1/],
    ['too high a limit', { plan: 'enterprise', perMinute: 1e9 + 1 }, /perMinute must be an integer from 1/],
    ['a publishable key that writes', { origins: [origin], scopes: ['pets:write'] }, /scopes .*publishable/],
    ['an origin that is none', { origins: ['shop.example'] }, /origins\/0 must be an origin/],
    ['an origin with a path', { origins: [`${origin}/shop`] }, /origins\/0 must be an origin/],
    ['too many origins', { origins: Array(21).fill(origin) }, /origins must have at most 20/],
    ['an end before time began', { expiresAt: -1 }, /expiresAt must be/],
    [
      'too many secrets',
      { secrets: Array.from({ length: 11 }, (_, n) => secretOf(String(n))) },
      /secrets must have at most 10/,
    ],
  ]
  const endToEnd = ['a blank name', 'own limits outside of enterprise']
  for (const [what, fields, message] of scenarios) {
    test(what, async () => {
      const input = ndjson(...feed, { ...keyRecord, ...fields })
      if (endToEnd.includes(what))
        await assertUnchanged(['import', '--with-keys'], input, /^Line 601: /, message)
      else await assertUnreadable(input, /^Line 601: /, message)
    })
  }

  test('a lifted ban cannot be dated in the future, which would prevent bans', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import', '--with-keys'], ndjson({ ...keyRecord, unbannedAt: Date.now() + 400 * dayMs }))
    const [key] = keysIn(await cli.export())
    assert.ok(key.unbannedAt <= Date.now())
  })
})

describe('an order that the API would reject is rejected', { concurrency: 2 }, () => {
  const order = {
    type: 'order',
    id: 1,
    petId: 1,
    status: 'approved',
    customer: { name: 'Zoë' },
    note: null,
    placedAt: 1,
    updatedAt: 1,
    holdExpiresAt: null,
    cancelReason: null,
  }
  const assertUnchanged = sharedStore()
  const scenarios: [what: string, fields: object, message: RegExp][] = [
    ['a blank customer', { customer: { name: ' ' } }, /customer\/name must be 1 to 255/],
    ['an address that is none', { customer: { name: 'Zoë', email: 'zoe' } }, /customer\/email must be/],
    ['a long note', { note: 'x'.repeat(1_001) }, /note must have at most 1000/],
    ['an unknown reason', { cancelReason: 'x'.repeat(5_000) }, /cancelReason must be/],
  ]
  for (const [what, fields, message] of scenarios) {
    test(what, () =>
      assertUnchanged(['import'], ndjson(...feed, { ...order, ...fields }), /^Line 601: /, message),
    )
  }
})

describe('an import with --with-keys never invalidates an operator key', { concurrency: 2 }, () => {
  const worksOn = async (server: Awaited<ReturnType<typeof serverFor>>, key: string | undefined) =>
    (await server.request('GET', '/v1/keys', { key })).status

  test('of a database that has created one: both keys work, and the imported one gets a new id', async (t) => {
    const first = await serverFor(t)
    const second = await serverFor(t)
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

  const attempts: [what: string, fields: (createdAt: number) => object][] = [
    ['without its secrets', () => ({ secrets: [] })],
    ['with another secret', () => ({ secrets: [secretOf('another')] })],
    ['revoked', () => ({ revokedAt: 1 })],
    ['expired', () => ({ expiresAt: 1 })],
    ['with fewer scopes', () => ({ scopes: ['pets:read'] })],
    ['as a publishable one', () => ({ scopes: ['pets:read'], origins: ['https://shop.example'] })],
    ['with another time of creation', (createdAt) => ({ createdAt: createdAt - 1 })],
  ]
  for (const env of [{}, { PETSTORE_ADMIN_KEY: adminKey }] as Record<string, string>[]) {
    test(`when the file contains a changed copy of it (${Object.keys(env)[0] ?? 'made at the start'})`, async (t) => {
      const first = await cliOnNewDatabase(t)
      const server = await serverFor(t, { ...first.env, ...env })
      const key = server.operatorKey ?? adminKey
      const [record] = keysIn(await first.export())
      for (const [what, fields] of attempts) {
        await first.ok(['import', '--with-keys'], ndjson({ ...record, ...fields(record.createdAt) }))
        assert.equal(await worksOn(server, key), 200, what)
        assert.deepEqual(keysIn(await first.export())[0], record, what)
      }
      await stopped(server)
      assert.equal(await worksOn(await serverFor(t, { ...first.env, ...env }), key), 200)
    })
  }

  test('whose secret another key of the file claims', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const server = await serverFor(t, cli.env)
    const [operator] = keysIn(await cli.export())
    const forged = { ...keyRecord, secrets: [secretOf('own'), ...operator.secrets] }
    await cli.ok(['import', '--with-keys'], ndjson(forged))
    assert.equal(await worksOn(server, server.operatorKey), 200)
    assert.deepEqual(keysIn(await cli.export())[0], operator)
  })

  test('of two deployments with different settings: a start replaces only the key of its setting', async (t) => {
    const clis = [await cliOnNewDatabase(t), await cliOnNewDatabase(t)] as const
    const settings = [`${adminKey}-1`, `${adminKey}-2`] as const
    const start = (env: DatabaseEnv, PETSTORE_ADMIN_KEY: string) =>
      serverFor(t, { ...env, PETSTORE_ADMIN_KEY })
    await stopped(await start(clis[0].env, settings[0]))
    await stopped(await start(clis[1].env, settings[1]))
    await clis[1].ok(['import', '--with-keys'], await clis[0].export())
    const keys = keysIn(await clis[1].export())
    assert.deepEqual(
      keys.map(({ isFromSetting }) => isFromSetting),
      [true, false],
    )
    const changed = await start(clis[1].env, `${adminKey}-3`)
    assert.equal(await worksOn(changed, settings[1]), 401, 'replaced by the setting')
    assert.equal(await worksOn(changed, settings[0]), 200, 'imported as an ordinary key')
    assert.equal(await worksOn(changed, `${adminKey}-3`), 200)
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

  test('keeps an origin with a wildcard, which earlier versions accepted', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const wildcard = { ...shared, origins: ['https://*.example', 'https://shop.example'] }
    await cli.ok(['import', '--with-keys'], ndjson(wildcard))
    const exported = await cli.export()
    assert.deepEqual(keysIn(exported), [wildcard])
    const other = await cliOnNewDatabase(t)
    await other.ok(['import', '--with-keys'], exported)
    // A change of something else does not need other origins.
    await other.ok(['keys', 'update', '1', '--name', 'Renamed'])
    assert.deepEqual(keysIn(await other.export()), [{ ...wildcard, name: 'Renamed' }])
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
    /^Imported 5 animals, \d categories, 0 orders(?:, 0 \w+)* and 2 keys: \d+ added, 0 changed, 0 unchanged\.\n$/,
  )
  assertSameExport(await to.export(), await from.export())
  assert.equal((await to.json(['keys', 'create', '--name', 'three'])).id, 3)
})
