import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { hashApiKey } from '../../src/auth/apiKey.ts'
import { readRecords } from '../../src/commands/import/readRecords.ts'
import { scopes } from '../../src/keys/key.ts'
import { assertCommandFails, cliOn, cliOnNewDatabase, lines } from '../support/commands.ts'
import { contentsOf, newDatabase, removeDatabase } from '../support/engine.ts'
import { serviceFor, type TestService } from '../support/service.ts'

const adminKey = 'the-admin-key-of-the-key-import-test'

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
      /^Imported 3 animals, \d categories, 0 orders(?:, 0 [\w ]+)* and 0 keys: \d added, 0 changed, 0 unchanged\.\n$/,
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
    ['too many scopes', { scopes: Array(11).fill('pets:read') }, /scopes must have at most 10/],
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
})

describe('an invalid order is rejected, and nothing is changed', { concurrency: 2 }, () => {
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
    ['no id', { id: undefined }, /id is required/],
    ['an unknown status', { status: 'lost' }, /status must be one of placed, approved/],
    ['no animal', { petId: undefined }, /petId is required/],
    ['a placed order without a hold', { status: 'placed' }, /holdExpiresAt must be set on a placed/],
    [
      'a hold on an order that is over',
      { status: 'cancelled', holdExpiresAt: 5 },
      /holdExpiresAt must be set on a/,
    ],
    ['a customer without a name', { customer: {} }, /customer\/name is required/],
  ]
  for (const [what, fields, message] of scenarios) {
    test(what, () =>
      assertUnchanged(['import'], ndjson(...feed, { ...order, ...fields }), /^Line 601: /, message),
    )
  }
})

describe('a key that exists in both databases', () => {
  test('keeps an origin with a wildcard, which earlier versions accepted', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const wildcard = { ...keyRecord, id: 1, origins: ['https://*.example', 'https://shop.example'] }
    await cli.ok(['import', '--with-keys'], ndjson(wildcard))
    const exported = await cli.export()
    assert.deepEqual(keysIn(exported), [wildcard])
    const other = await cliOnNewDatabase(t)
    await other.ok(['import', '--with-keys'], exported)
    // A change of something else does not need other origins.
    await other.ok(['keys', 'update', '1', '--name', 'Renamed'])
    assert.deepEqual(keysIn(await other.export()), [{ ...wildcard, name: 'Renamed' }])
  })
})

describe('an import with --with-keys never invalidates an operator key', () => {
  const worksOn = async (server: TestService, key: string) =>
    (await server.request('GET', '/v1/keys', { key })).status

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
      const server = await serviceFor(t, env)
      const first = cliOn(server.databaseEnv)
      const key = server.operatorKey
      const [record] = keysIn(await first.export())
      for (const [what, fields] of attempts) {
        await first.ok(['import', '--with-keys'], ndjson({ ...record, ...fields(record.createdAt) }))
        assert.equal(await worksOn(server, key), 200, what)
        assert.deepEqual(keysIn(await first.export())[0], record, what)
      }
      await server.restart()
      assert.equal(await worksOn(server, key), 200)
    })
  }
})
