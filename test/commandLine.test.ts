import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { hashApiKey, makeApiKey } from '../src/keys/apiKey.ts'
import { eventually } from './support/eventually.ts'
import { type Ended, runPetstore, runShell } from './support/process.ts'
import { folderFor, type Server, serverFor, stopped } from './support/servers.ts'
import { holdWriteLock } from './support/writeLock.ts'

/** What the interface promises for a change of keys on every instance. */
const keyChangeMs = 2_000

const int64Min = '-9223372036854775808'
const int64Max = '9223372036854775807'

/** Commands on one store; each fails the test unless it ends well. */
function storeAt(dataDir: string, more: Record<string, string> = {}) {
  const run = (args: string[], input = '') =>
    runPetstore(args, { PETSTORE_DATA_DIR: dataDir, ...more }, input)
  const ok = async (args: string[], input = ''): Promise<string> => {
    const { code, stdout, stderr } = await run(args, input)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, args.join(' '))
    return stdout
  }
  const json = async (args: string[], input = '') => oneLine(await ok([...args, '--json'], input))
  return { dataDir, run, ok, json, export: () => ok(['export']) }
}

function oneLine(text: string) {
  assert.match(text, /^[^\n]+\n$/, 'one line')
  return JSON.parse(text)
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '')

function assertRefused({ code, stdout, stderr }: Ended, status: number, message: RegExp) {
  assert.equal(code, status, stderr)
  assert.equal(stdout, '')
  assert.match(stderr, message)
  assert.doesNotMatch(stderr, /\n {4}at /, 'no stack')
}

describe('help', { concurrency: 2 }, () => {
  test('of the whole lists every command', async () => {
    for (const word of ['--help', '-h', 'help']) {
      const { code, stdout } = await runPetstore([word])
      assert.equal(code, 0)
      for (const command of ['serve', 'keys', 'seed', 'import', 'export', 'backup', 'restore', 'openapi'])
        assert.match(stdout, new RegExp(`^ {2}${command} `, 'm'))
    }
  })

  for (const command of ['serve', 'keys', 'seed', 'import', 'export', 'backup', 'restore', 'openapi']) {
    test(`of ${command} says how it is called, and does nothing`, async (t) => {
      const dataDir = join(folderFor(t), 'data')
      const { code, stdout, stderr } = await storeAt(dataDir).run([command, '--help'])
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      assert.ok(stdout.startsWith(`petstore ${command}`))
      assert.throws(() => statSync(dataDir), { code: 'ENOENT' })
    })
  }
})

describe('wrong usage ends with status 2 and says how it is right', { concurrency: 2 }, () => {
  const scenarios: [args: string[], message: RegExp][] = [
    [[], /petstore <command>/],
    [['adopt'], /There is no command "adopt"[\s\S]*petstore <command>/],
    [['constructor'], /There is no command/],
    [['serve', '--port', '80'], /--port[\s\S]*petstore serve/],
    [['serve', 'now'], /Unexpected argument "now"/],
    [['keys'], /create, list, update, revoke, rotate, unban[\s\S]*petstore keys create/],
    [['keys', 'borrow'], /keys needs one of/],
    [['keys', 'create'], /^--name is required\.$/m],
    [['keys', 'create', '--name', ' '], /^--name must be 1 to 100 characters and not blank\.$/m],
    [
      ['keys', 'create', '--name', 'x', '--plan', 'gold'],
      /^--plan must be one of free, pro, business, enterprise\.$/m,
    ],
    [
      ['keys', 'create', '--plan', 'gold', '--origin', 'nowhere'],
      /^--name is required\.\n--plan must be one of [^\n]*\.\n--origin must be an origin [^\n]*\.\n$/,
    ],
    [
      ['keys', 'create', '--name', 'x', '--per-minute', '5'],
      /^--per-minute and --per-day are fixed by the plan free; only enterprise has its own\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--plan', 'enterprise', '--per-minute', '0'],
      /^--per-minute must be a whole number from 1 to 1000000000, but is "0"\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--plan', 'enterprise', '--per-day', '1000000001'],
      /^--per-day must be a whole number from 1 to 1000000000, but is "1000000001"\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--scope', 'pets:read', '--scope', 'pets:eat'],
      /^--scope must be one of pets:read, pets:write, [^\n]*, keys:manage\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--origin', 'https://a.example', '--scope', 'pets:write'],
      /^The --scope options of a key with origins \(a publishable key\) must all end in ":read"\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--origin', 'example.com'],
      /^--origin must be an origin such as https:\/\/example\.com\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', ...Array(21).fill('--origin=https://a.example')],
      /^The --origin options must be at most 20\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--expires-at', 'tomorrow'],
      /^--expires-at must be a time such as 2027-01-31T12:00:00Z\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--expires-at', '2020-01-01T00:00:00Z'],
      /^--expires-at must lie in the future\.$/m,
    ],
    [['keys', 'create', '7', '--name', 'x'], /keys create takes no id/],
    [['keys', 'list', '--plan', 'pro'], /keys list does not take --plan/],
    [['keys', 'revoke'], /keys revoke needs the id of a key/],
    [
      ['keys', 'revoke', 'mine'],
      /^The id of a key is a whole number above 0, as "keys list" shows it: "mine" is none\.$/m,
    ],
    [['keys', 'revoke', '0'], /"0" is none/],
    [['keys', 'rotate', '1.5'], /"1\.5" is none/],
    [['keys', 'revoke', '1', '2'], /Unexpected argument "2"/],
    [['keys', 'rotate', '1', '--overlap-seconds', 'long'], /--overlap-seconds must be a whole number/],
    [['seed', '--count', '0'], /--count must be a whole number/],
    [['seed', '--count'], /--count/],
    [['seed', '10'], /Unexpected argument "10"/],
    [['import', 'a', 'b'], /Unexpected argument "b"/],
    [['export', 'file'], /Unexpected argument "file"/],
    [['backup'], /backup needs the name of a file/],
    [['restore'], /restore needs the name of a file/],
    [['openapi', '--xml'], /--xml[\s\S]*petstore openapi/],
  ]
  for (const [args, message] of scenarios) {
    test(['petstore', ...args].join(' '), async (t) => {
      assertRefused(await storeAt(folderFor(t)).run(args), 2, message)
    })
  }
})

describe('what cannot be done ends with status 1 and says why', { concurrency: 2 }, () => {
  const scenarios: [name: string, args: (folder: string) => string[], message: RegExp][] = [
    ['an unknown key is updated', () => ['keys', 'update', '99', '--name', 'x'], /There is no key 99/],
    ['an unknown key is revoked', () => ['keys', 'revoke', '99'], /There is no key 99/],
    ['an unknown key is rotated', () => ['keys', 'rotate', '99'], /There is no key 99/],
    ['an unknown key is unbanned', () => ['keys', 'unban', '99'], /There is no key 99/],
    ['a file to import is missing', (folder) => ['import', join(folder, 'none')], /There is no file .*none/],
    ['there is nothing to back up', (folder) => ['backup', join(folder, 'copy')], /There is no store at/],
    ['a backup would overwrite', (folder) => ['backup', folder], /exists already/],
    [
      'a backup to restore is missing',
      (folder) => ['restore', join(folder, 'none')],
      /There is no file .*none/,
    ],
  ]
  for (const [name, args, message] of scenarios) {
    test(name, async (t) => {
      const folder = folderFor(t)
      assertRefused(await storeAt(join(folder, 'data')).run(args(folder)), 1, message)
    })
  }
})

describe('keys, also while a server is running on the store', { concurrency: 2 }, () => {
  test('are made, listed, changed, rotated, revoked, and the server follows within 2 seconds', async (t) => {
    const server = await serverFor(t)
    const store = storeAt(server.dataDir)
    const follows = (what: string, ask: () => Promise<boolean>) => eventually(what, ask, keyChangeMs)
    const statusOf = async (key: string) => (await server.request('GET', '/v1/limits', { key })).status

    const made = await store.json([
      'keys',
      'create',
      '--name',
      'Web site',
      '--plan',
      'pro',
      '--scope',
      'pets:read',
    ])
    const { key, ...rest } = made
    assert.match(key, /^ps_live_[0-9A-Za-z]{36}$/)
    assert.equal(rest.name, 'Web site')
    assert.deepEqual(rest.scopes, ['pets:read'])
    await follows('a new key works', async () => (await statusOf(key)) === 200)

    const listed = lines(await store.ok(['keys', 'list', '--json'])).map((line) => JSON.parse(line))
    assert.deepEqual(
      listed.map(({ id, name }) => ({ id, name })),
      [
        { id: made.id, name: 'Web site' },
        { id: 1, name: 'operator' },
      ],
      'newest first, one a line',
    )
    assert.ok(!JSON.stringify(listed).includes(key))

    const limitOf = async () =>
      (await server.request('GET', '/v1/pets', { key })).headers['x-ratelimit-limit'] as string
    assert.equal(await limitOf(), '300')
    const changed = await store.json(['keys', 'update', String(made.id), '--plan', 'business'])
    assert.equal(changed.plan, 'business')
    assert.equal(changed.name, 'Web site', 'what is not given stays')
    await follows('a changed plan counts', async () => (await limitOf()) === '1000')

    const rotated = await store.json(['keys', 'rotate', String(made.id), '--overlap-seconds', '3600'])
    assert.notEqual(rotated.key, key)
    await follows('the new secret works', async () => (await statusOf(rotated.key)) === 200)
    assert.equal(await statusOf(key), 200, 'the old secret lives on for the overlap')

    const again = await store.json(['keys', 'rotate', String(made.id)])
    await follows('a secret without overlap ends', async () => (await statusOf(rotated.key)) === 401)
    assert.equal(await statusOf(key), 401)
    assert.equal(await statusOf(again.key), 200)

    const revoked = await store.json(['keys', 'revoke', String(made.id)])
    assert.ok(revoked.revokedAt)
    await follows('a revoked key is refused', async () => (await statusOf(again.key)) === 401)
  })

  test('that are banned are unbanned, and the server follows within 2 seconds', async (t) => {
    const server = await serverFor(t, { PETSTORE_BAN_AFTER_REFUSALS: '1' })
    const store = storeAt(server.dataDir)
    const { id, key } = await store.json([
      ...['keys', 'create', '--name', 'eager', '--plan', 'enterprise', '--per-minute', '1'],
    ])
    const ask = async () => (await server.request('GET', '/v1/pets', { key })).json.code
    await eventually('the key is banned', async () => (await ask()) === 'key_banned', keyChangeMs)
    await eventually('the list shows the ban', async () =>
      /banned until 2\d{3}-/.test(await store.ok(['keys', 'list'])),
    )
    assert.equal(
      await store.ok(['keys', 'unban', String(id)]),
      `Key ${id} (eager) may be used again: any ban on it is lifted.\n`,
    )
    const bannedUntil = async () => (await server.request('GET', '/v1/limits', { key })).json.bannedUntil
    await eventually('the ban is lifted', async () => (await bannedUntil()) === null, keyChangeMs)
  })

  test('are for people, too', async (t) => {
    const store = storeAt(folderFor(t))
    const made = await store.ok(['keys', 'create', '--name', 'Zoë'])
    assert.match(
      made,
      /^Key 1 \(Zoë, free\)\. Its secret is shown this once[^\n]*\n\n {2}ps_live_[0-9A-Za-z]{36}\n$/,
    )
    assert.match(await store.ok(['keys', 'list']), /^ +1 {2}free +active +last used never +Zoë\n$/)
    assert.match(await store.ok(['keys', 'update', '1', '--name', 'Zoe']), /^Key 1 is changed:\n.*Zoe\n$/)
    assert.match(await store.ok(['keys', 'rotate', '1']), /^Key 1 \(Zoe, free\)[\s\S]*ps_live_/)
    assert.equal(await store.ok(['keys', 'revoke', '1']), 'Key 1 (Zoe) is revoked.\n')
    assert.match(await store.ok(['keys', 'list']), / revoked /)
    const before = await store.export()
    assertRefused(
      await store.run(['keys', 'rotate', '1']),
      1,
      /^Key 1 is revoked, and that is for good: make a new one\.\n$/,
    )
    assert.equal(await store.export(), before)
  })

  test('are all listed, however many', async (t) => {
    const store = storeAt(folderFor(t))
    const record = (id: number) => JSON.stringify({ ...keyRecord, id, name: `key ${id}`, secrets: [] })
    await store.ok(['import'], Array.from({ length: 205 }, (_, index) => record(index + 1)).join('\n'))
    const ids = lines(await store.ok(['keys', 'list', '--json'])).map((line) => JSON.parse(line).id)
    assert.deepEqual(
      ids,
      Array.from({ length: 205 }, (_, index) => 205 - index),
    )
  })

  test('are of the environment of the store', async (t) => {
    const { key } = await storeAt(folderFor(t), { PETSTORE_ENV: 'staging' }).json([
      'keys',
      'create',
      '--name',
      'x',
    ])
    assert.match(key, /^ps_test_/)
  })

  test('can expire, and the expiry can be taken away', async (t) => {
    const store = storeAt(folderFor(t))
    const made = await store.json(['keys', 'create', '--name', 'x', '--expires-at', '2999-01-31T12:00:00Z'])
    assert.equal(made.expiresAt, '2999-01-31T12:00:00.000Z')
    assert.equal((await store.json(['keys', 'update', '1', '--expires-at', 'never'])).expiresAt, undefined)
  })

  test('with origins only read', async (t) => {
    const { scopes, origins } = await storeAt(folderFor(t)).json([
      ...['keys', 'create', '--name', 'x', '--origin', 'https://a.example', '--origin', 'https://b.example'],
    ])
    assert.deepEqual(origins, ['https://a.example', 'https://b.example'])
    assert.ok(scopes.every((scope: string) => scope.endsWith(':read')))
  })
})

test('several commands at once on a store that is not there yet all succeed', async (t) => {
  const store = storeAt(join(folderFor(t), 'data'))
  const made = await Promise.all(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => store.json(['keys', 'create', '--name', name])),
  )
  assert.equal(new Set(made.map(({ id }) => id)).size, 6)
})

describe('seed', () => {
  test('adds animals that a running server shows', async (t) => {
    const server = await serverFor(t)
    const store = storeAt(server.dataDir)
    assert.equal(await store.ok(['seed', '--count', '7']), 'Added 7 animals.\n')
    assert.deepEqual(await store.json(['seed', '--count', '3']), { added: 3 })
    const { json } = await server.request('GET', '/v1/pets?limit=100', { key: server.operatorKey })
    assert.equal(json.length, 10)
    assert.deepEqual(new Set(json.map(({ id }: { id: number }) => id)).size, 10)
  })

  test('adds the same animals for everybody, a hundred unless told otherwise', async (t) => {
    const exports = await Promise.all(
      [storeAt(folderFor(t)), storeAt(folderFor(t))].map(async (store) => {
        assert.deepEqual(await store.json(['seed']), { added: 100 })
        return store.export()
      }),
    )
    assert.equal(exports[0], exports[1])
  })
})

const keyRecord = {
  type: 'key',
  plan: 'free',
  perMinute: null,
  perDay: null,
  scopes: ['pets:read'],
  origins: [],
  isFromSetting: false,
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
  unbannedAt: 0,
}

/** A running store with everything in it that could get lost on the way. */
async function eventfulServer(t: TestContext): Promise<Server> {
  const server = await serverFor(t)
  const add = async (body: string) => {
    const { status, text } = await server.request('POST', '/v1/pets', {
      key: server.operatorKey,
      body,
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(status, 201, text)
  }
  await add(`{"name":"Least","categoryId":${int64Min}}`)
  await add(`{"name":"Greatest","categoryId":${int64Max},"status":"sold"}`)
  await add(`{"name":"gone in the middle","categoryId":1}`)
  await add(
    `{"name":"Łuna \\"the\\" 🐾 \\n\\u2028\\u2029\\u0085 end","categoryId":9007199254740993,"status":"pending"}`,
  )
  for (const name of ['gone', 'gone', 'gone']) await add(`{"name":"${name} at the end","categoryId":2}`)
  const ordered = await server.request('POST', '/v1/store/orders', {
    key: server.operatorKey,
    body: { petId: 1, customer: { name: 'Zoë', email: 'zoe@example.org' }, note: 'has a garden' },
  })
  assert.equal(ordered.status, 201, ordered.text)
  for (const id of [3, 5, 6, 7]) {
    const { status } = await server.request('DELETE', `/v1/pets/${id}`, { key: server.operatorKey })
    assert.equal(status, 204)
  }
  return server
}

describe('export and import', { concurrency: 2 }, () => {
  test('carry a store over whole: ids, int64 extremes, odd names, and no id is ever assigned again', async (t) => {
    const first = await eventfulServer(t)
    const exported = await storeAt(first.dataDir).export()
    const second = storeAt(folderFor(t))
    assert.match(
      await second.ok(['import'], exported),
      /^Imported 3 animals, 5 categories, 1 orders and 1 keys\.\n$/,
    )
    assertSameStore(await second.export(), exported)

    const server = await serverFor(t, { PETSTORE_DATA_DIR: second.dataDir })
    const [there, here] = await Promise.all(
      [first, server].map((each) => each.request('GET', '/v1/pets', { key: first.operatorKey })),
    )
    assert.equal(here?.status, 200, 'a key of the first store works in the second')
    assert.equal(here?.text, there?.text)
    assert.match(here?.text ?? '', new RegExp(int64Min))
    assert.match(here?.text ?? '', new RegExp(int64Max))
    const added = await server.request('POST', '/v1/pets', {
      key: first.operatorKey,
      body: { name: 'next', categoryId: 1 },
    })
    assert.equal(added.json.id, 8)
  })

  test('carry keys by their hashes alone', async (t) => {
    const store = storeAt(folderFor(t))
    const { key } = await store.json([
      'keys',
      'create',
      '--name',
      'x',
      '--plan',
      'enterprise',
      '--per-day',
      '77',
    ])
    const exported = await store.export()
    assert.ok(!exported.includes(key))
    assert.ok(exported.includes(hashApiKey(key)))
    const second = storeAt(folderFor(t))
    await second.ok(['import'], exported)
    const [before, after] = await Promise.all(
      [store, second].map((each) => each.ok(['keys', 'list', '--json'])),
    )
    assert.equal(before, after)
  })

  test('work while servers are running on both stores', async (t) => {
    const first = await eventfulServer(t)
    const second = await serverFor(t)
    const { operatorKey } = first
    assert.deepEqual(await storeAt(second.dataDir).json(['import'], await storeAt(first.dataDir).export()), {
      pets: 3,
      categories: 5,
      orders: 1,
      keys: 1,
    })
    const shows = async () => (await second.request('GET', '/v1/pets', { key: operatorKey })).status === 200
    await eventually('the key of the first store works in the second', shows, keyChangeMs)
    const { text } = await second.request('GET', '/v1/pets', { key: operatorKey })
    assert.equal(text, (await first.request('GET', '/v1/pets', { key: operatorKey })).text)
    const { status } = await second.request('GET', '/v1/pets', { key: second.operatorKey })
    assert.equal(status, 401, 'the key that was replaced is gone')
  })

  test('twice are the same as once', async (t) => {
    const first = await eventfulServer(t)
    const exported = await storeAt(first.dataDir).export()
    const second = storeAt(folderFor(t))
    await second.ok(['import'], exported)
    await second.ok(['import'], exported)
    assertSameStore(await second.export(), exported)
  })

  test('over more animals than fit one write', async (t) => {
    const store = storeAt(folderFor(t))
    await store.ok(['seed', '--count', '1203'])
    const exported = await store.export()
    assert.equal(lines(exported).filter((line) => line.includes('"type":"pet"')).length, 1203)
    const second = storeAt(folderFor(t))
    await second.ok(['import'], exported)
    assertSameStore(await second.export(), exported)
  })

  test('never take an id back: a store that has assigned more keeps its place', async (t) => {
    const ahead = storeAt(folderFor(t))
    await ahead.ok(['seed', '--count', '10'])
    const behind = storeAt(folderFor(t))
    await behind.ok(['seed', '--count', '2'])
    await ahead.ok(['import'], await behind.export())
    await ahead.ok(['import'], '{"name":"next","categoryId":1}')
    assert.match(await ahead.export(), /"id":11,"name":"next"/)
  })

  test('of a store with the same PETSTORE_ADMIN_KEY leave that key working, also after the next start', async (t) => {
    const adminKey = 'the-same-admin-key-everywhere'
    const start = (dataDir: string) =>
      serverFor(t, { PETSTORE_DATA_DIR: dataDir, PETSTORE_ADMIN_KEY: adminKey })
    const stores = [storeAt(folderFor(t)), storeAt(folderFor(t))] as const
    // In the second store the same secret has another id.
    for (const name of ['one', 'two']) await stores[1].ok(['keys', 'create', '--name', name])
    const operators: string[] = []
    for (const store of stores) {
      await stopped(await start(store.dataDir))
      operators.push(
        lines(await store.export()).find((line) => line.includes('"isFromSetting":true')) as string,
      )
    }
    assert.notEqual(operators[0], operators[1])
    for (const [index, store] of stores.entries()) {
      await store.ok(['import'], operators[1 - index])
      const server = await start(store.dataDir)
      assert.equal((await server.request('GET', '/v1/keys', { key: adminKey })).status, 200)
    }
  })

  test('an animal with an id replaces the one that was there', async (t) => {
    const store = storeAt(folderFor(t))
    await store.ok(['import'], '{"name":"before","categoryId":1}')
    assert.deepEqual(await store.json(['import'], '{"id":1,"name":"after","categoryId":2,"status":"sold"}'), {
      pets: 1,
      categories: 0,
      orders: 0,
      keys: 0,
    })
    const pets = lines(await store.export()).filter((line) => line.includes('"type":"pet"'))
    assert.deepEqual(pets, ['{"type":"pet","id":1,"name":"after","categoryId":2,"status":"sold"}'])
  })

  test('from a file, with empty lines, Windows line ends and no last line end', async (t) => {
    const folder = folderFor(t)
    const file = join(folder, 'feed.ndjson')
    writeFileSync(file, '{"name":"One","categoryId":1}\r\n\r\n{"type":"pet","name":"Two","categoryId":1}')
    const store = storeAt(join(folder, 'data'))
    assert.deepEqual(await store.json(['import', file]), { pets: 2, categories: 0, orders: 0, keys: 0 })
  })

  test('begin with the newest ids that were ever assigned', async (t) => {
    const { dataDir } = await eventfulServer(t)
    const [head = ''] = lines(await storeAt(dataDir).export())
    const { lastEventId, ...rest } = JSON.parse(head)
    assert.deepEqual(rest, {
      type: 'petstore',
      format: 1,
      lastPetId: 7,
      lastKeyId: 1,
      lastCategoryId: 0,
      lastOrderId: 1,
    })
    const store = new DatabaseSync(join(dataDir, 'petstore.db'), { readOnly: true })
    assert.equal(lastEventId, store.prepare('SELECT max(id) AS newest FROM events').get()?.newest)
    store.close()
  })

  test('through the path of a pipe, which can be read only once', async (t) => {
    const store = storeAt(folderFor(t))
    // By a shell: what this process gives a child is a socket, which has no path.
    const line = '{"name":"One","categoryId":1}'
    const { stdout, stderr } = await runShell(`echo '${line}' | "$NODE" "$MAIN" import --json /dev/stdin`, {
      PETSTORE_DATA_DIR: store.dataDir,
    })
    assert.equal(stderr, '')
    assert.deepEqual(oneLine(stdout), { pets: 1, categories: 0, orders: 0, keys: 0 })
    assert.match(await store.export(), /"name":"One"/)
  })

  test('of nothing change nothing', async (t) => {
    assert.deepEqual(await storeAt(folderFor(t)).json(['import'], ''), {
      pets: 0,
      categories: 0,
      orders: 0,
      keys: 0,
    })
  })

  test('an animal with the greatest id is listed, and one more can be added', async (t) => {
    const store = storeAt(folderFor(t))
    await store.ok(['import'], `{"id":${2 ** 52},"name":"far out","categoryId":1}`)
    const server = await serverFor(t, { PETSTORE_DATA_DIR: store.dataDir })
    const key = server.operatorKey
    const body = { name: 'one more', categoryId: 1 }
    assert.equal((await server.request('POST', '/v1/pets', { key, body })).json.id, 2 ** 52 + 1)
    const ids = (await server.request('GET', '/v1/pets', { key })).json.map(({ id }: { id: number }) => id)
    assert.deepEqual(ids, [2 ** 52 + 1, 2 ** 52])
  })
})

describe('an import with a bad line changes nothing and names the line', { concurrency: 2 }, () => {
  const good = '{"name":"good","categoryId":1}'
  const scenarios: [name: string, bad: string | Buffer, message: RegExp][] = [
    ['no JSON', 'Milo', /^Line 603: .*expected a value/],
    ['half a line', '{"name":"Mi', /^Line 603: /],
    ['no object', '[]', /^Line 603: expected an object/],
    ['an unknown type', '{"type":"dragon","id":1}', /^Line 603: expected an object whose type/],
    ['no name', '{"categoryId":1}', /^Line 603: .*name is required/],
    ['a blank name', '{"name":" ","categoryId":1}', /^Line 603: .*name must be/],
    [
      'a categoryId beyond int64',
      '{"name":"x","categoryId":9223372036854775808}',
      /^Line 603: .*categoryId must be/,
    ],
    [
      'an unknown status',
      '{"name":"x","categoryId":1,"status":"lost"}',
      /^Line 603: .*status must be one of/,
    ],
    ['an id below 1', '{"id":0,"name":"x","categoryId":1}', /^Line 603: .*id must be/],
    [
      'an id that leaves no room above',
      `{"id":${2 ** 52 + 1},"name":"x","categoryId":1}`,
      /^Line 603: .*id must be/,
    ],
    [
      'a newer format',
      '{"type":"petstore","format":2,"lastPetId":0,"lastKeyId":0}',
      /^Line 603: .*format must be/,
    ],
    [
      'a hash that is none',
      JSON.stringify({
        ...keyRecord,
        id: 9,
        name: 'x',
        secrets: [{ hash: 'x', createdAt: 1, expiresAt: null }],
      }),
      /^Line 603: .*secrets\/0\/hash/,
    ],
    ['a line without end', `{"name":"${'x'.repeat(2_000_000)}"`, /^Line 603: longer than/],
    ['invalid UTF-8', Buffer.from('{"name":"\xff","categoryId":1}', 'latin1'), /^Line 603: .*UTF-8/],
  ]
  for (const [name, bad, message] of scenarios) {
    test(name, async (t) => {
      const folder = folderFor(t)
      const store = storeAt(join(folder, 'data'))
      await store.ok(['seed', '--count', '1'])
      const before = await store.export()
      const file = join(folder, 'bad.ndjson')
      // More good lines before it than one write takes.
      const start = `${`${good}\n`.repeat(601)}\n`
      writeFileSync(file, Buffer.concat([Buffer.from(start), Buffer.from(bad), Buffer.from(`\n${good}\n`)]))
      assertRefused(await store.run(['import', file]), 1, message)
      assert.equal(await store.export(), before)
    })
  }
})

describe('backup and restore', { concurrency: 2 }, () => {
  test('bring a store back as it was, into an empty place', async (t) => {
    const folder = folderFor(t)
    const first = await eventfulServer(t)
    const store = storeAt(first.dataDir)
    const file = join(folder, 'copy.db')
    assert.match(await store.ok(['backup', file]), /^Backed up \d+ bytes to .*copy\.db\.\n$/)
    assert.deepEqual(readdirSync(folder), ['copy.db'])
    assert.equal(statSync(file).mode & 0o077, 0, 'it holds hashes of keys: for its owner alone')
    const second = storeAt(join(folder, 'restored'))
    assert.deepEqual(await second.json(['restore', file]), { file, bytes: statSync(file).size })
    assertSameStore(await second.export(), await store.export())
    assert.deepEqual(readdirSync(folder).sort(), ['copy.db', 'restored'], 'nothing is left beside the backup')
    const server = await serverFor(t, { PETSTORE_DATA_DIR: second.dataDir })
    assert.equal((await server.request('GET', '/v1/pets', { key: first.operatorKey })).status, 200)
  })

  test('--json says what was written', async (t) => {
    const folder = folderFor(t)
    const store = storeAt(join(folder, 'data'))
    await store.ok(['seed'])
    const file = join(folder, 'copy.db')
    assert.deepEqual(await store.json(['backup', file]), { file, bytes: statSync(file).size })
  })

  test('restore does not touch a store that is there, unless told to replace it', async (t) => {
    const folder = folderFor(t)
    const store = storeAt(join(folder, 'data'))
    await store.ok(['seed', '--count', '1'])
    await store.ok(['backup', join(folder, 'copy.db')])
    await store.ok(['seed', '--count', '1'])
    const before = await store.export()
    assertRefused(
      await store.run(['restore', join(folder, 'copy.db')]),
      1,
      /There is a store .* already: give --replace/,
    )
    assert.equal(await store.export(), before)
    await store.ok(['restore', join(folder, 'copy.db'), '--replace'])
    assert.equal(lines(await store.export()).filter((line) => line.includes('"type":"pet"')).length, 1)
  })

  test('restore --replace under a running server, which keeps serving and then shows the restored animals', async (t) => {
    const folder = folderFor(t)
    const server = await serverFor(t)
    const key = server.operatorKey
    const store = storeAt(server.dataDir)
    await store.ok(['seed', '--count', '3000'])
    await store.ok(['backup', join(folder, 'copy.db')])
    const before = await server.request('GET', '/v1/pets?limit=100', { key })
    await store.ok(['seed', '--count', '50'])
    const added = await server.request('POST', '/v1/pets', { key, body: { name: 'after', categoryId: 77 } })
    assert.equal(added.json.id, 3051)

    let isRestoring = true
    const statuses: number[] = []
    const readers = Array.from({ length: 4 }, async () => {
      while (isRestoring) statuses.push((await server.request('GET', '/v1/pets?limit=1', { key })).status)
    })
    await store.ok(['restore', join(folder, 'copy.db'), '--replace'])
    isRestoring = false
    await Promise.all(readers)
    assert.ok(statuses.length > 0)
    assert.deepEqual(new Set(statuses), new Set([200]), 'nobody was turned away meanwhile')

    assert.equal((await server.request('GET', '/v1/pets?limit=100', { key })).text, before.text)
    const next = await server.request('POST', '/v1/pets', { key, body: { name: 'next', categoryId: 1 } })
    assert.equal(next.json.id, 3001)
    assert.equal((await stopped(server)).code, 0)
    assertIsWhole(server.dataDir)
    assert.deepEqual(
      readdirSync(server.dataDir).filter((name) => name.startsWith('restore-')),
      [],
    )
  })

  /** Callers who add animals to a store of some size, until they are told to stop. */
  async function keepAdding(t: TestContext, seedCount: number) {
    const server = await serverFor(t)
    const store = storeAt(server.dataDir)
    await store.ok(['seed', '--count', String(seedCount)])
    const { key } = await store.json([
      'keys',
      'create',
      '--name',
      'busy',
      '--plan',
      'enterprise',
      '--per-minute',
      '1000000',
    ])
    let isAdding = true
    const statuses = new Set<number>()
    const callers = Array.from({ length: 4 }, async () => {
      while (isAdding)
        statuses.add(
          (await server.request('POST', '/v1/pets', { key, body: { name: 'new', categoryId: 1 } })).status,
        )
    })
    await eventually('animals are being added', () => statuses.has(201))
    const stop = async () => {
      isAdding = false
      await Promise.all(callers)
      assert.deepEqual(statuses, new Set([201]), 'nobody was turned away meanwhile')
    }
    return { server, store, key, stop }
  }

  test('a backup comes to its end while animals are being added, and is one moment of the store', {
    timeout: 120_000,
  }, async (t) => {
    const folder = folderFor(t)
    const { store, stop } = await keepAdding(t, 60_000)
    const file = join(folder, 'copy.db')
    await store.ok(['backup', file])
    await stop()
    const copy = new DatabaseSync(file, { readOnly: true })
    const { count, newest } =
      copy.prepare('SELECT count(*) AS count, max(id) AS newest FROM pets').get() ?? {}
    copy.close()
    assert.ok(Number(count) > 60_000)
    assert.equal(count, newest, 'no hole')
    const restored = storeAt(join(folder, 'restored'))
    await restored.ok(['restore', file])
    assertIsWhole(restored.dataDir)
  })

  test('restore --replace finds its moment while animals are being added', async (t) => {
    const folder = folderFor(t)
    const { server, store, key, stop } = await keepAdding(t, 2_000)
    const file = join(folder, 'copy.db')
    for (let round = 0; round < 5; round++) {
      if (round === 0) await store.ok(['backup', file])
      await server.request('POST', '/v1/pets', { key, body: { name: 'to be forgotten', categoryId: 77 } })
      await store.ok(['restore', file, '--replace'])
      assert.deepEqual((await server.request('GET', '/v1/pets?categoryId=77', { key })).json, [])
    }
    await stop()
    assert.equal((await stopped(server)).code, 0)
    assertIsWhole(server.dataDir)
  })

  test('restore gives up on a store that somebody never stops writing to, and changes nothing', async (t) => {
    const folder = folderFor(t)
    const store = storeAt(join(folder, 'data'))
    await store.ok(['seed', '--count', '3'])
    await store.ok(['backup', join(folder, 'copy.db')])
    await store.ok(['seed', '--count', '3'])
    const before = await store.export()
    const lock = await holdWriteLock(t, join(store.dataDir, 'petstore.db'))
    assertRefused(
      await store.run(['restore', join(folder, 'copy.db'), '--replace']),
      1,
      /is being written to: try again later/,
    )
    await lock.release()
    assert.equal(await store.export(), before)
  })

  /** A store with three animals whose file is then overwritten with something else, and a backup from before. */
  async function damagedStore(t: TestContext, damage: Buffer) {
    const folder = folderFor(t)
    const store = storeAt(join(folder, 'data'))
    await store.ok(['seed', '--count', '3'])
    const before = await store.export()
    const backup = join(folder, 'copy.db')
    await store.ok(['backup', backup])
    writeFileSync(join(store.dataDir, 'petstore.db'), damage)
    return { store, before, backup }
  }

  for (const [name, damage] of [
    ['garbage', Buffer.from('no database '.repeat(1_000))],
    ['half a page', Buffer.from('SQLite format 3\0'.padEnd(2_000, 'x'))],
  ] as const) {
    test(`restore --replace over a damaged store (${name}), which is kept aside`, async (t) => {
      const { store, before, backup } = await damagedStore(t, damage)
      assertRefused(await store.run(['export']), 1, /cannot be opened .*restore a backup/)
      await store.ok(['restore', backup, '--replace'])
      assertSameStore(await store.export(), before)
      assertIsWhole(store.dataDir)
      const [aside, ...others] = readdirSync(store.dataDir).filter((file) =>
        /^petstore\.db\.damaged-\d+$/.test(file),
      )
      assert.deepEqual(others, [])
      assert.deepEqual(readFileSync(join(store.dataDir, String(aside))), damage)
    })
  }

  test('restore does not put another file in place of a damaged store that a server has open', async (t) => {
    const folder = folderFor(t)
    const server = await serverFor(t)
    const store = storeAt(server.dataDir)
    const backup = join(folder, 'copy.db')
    await store.ok(['backup', backup])
    const file = join(server.dataDir, 'petstore.db')
    const damage = Buffer.from('no database '.repeat(1_000))
    writeFileSync(file, damage)
    assertRefused(
      await store.run(['restore', backup, '--replace']),
      1,
      /Another petstore server is running on .*: stop it/,
    )
    assert.deepEqual(readFileSync(file), damage)
  })

  test('a live restore makes the server forget the counts of keys, and applies PETSTORE_ADMIN_KEY again', async (t) => {
    const folder = folderFor(t)
    const adminKey = 'the-admin-key-of-this-deployment'
    const backup = join(folder, 'copy.db')
    // A store of before: another admin key, and a key that has used nothing.
    const old = storeAt(join(folder, 'old'))
    await stopped(
      await serverFor(t, {
        PETSTORE_DATA_DIR: old.dataDir,
        PETSTORE_ADMIN_KEY: 'the-admin-key-of-another-day',
      }),
    )
    const { id, key } = await old.json(['keys', 'create', '--name', 'counted'])
    await old.ok(['backup', backup])

    const server = await serverFor(t, { PETSTORE_ADMIN_KEY: adminKey })
    const store = storeAt(server.dataDir)
    const other = await store.json(['keys', 'create', '--name', 'vanishes'])
    assert.equal(other.id, id, 'both stores have a key under this id')
    const ask = (secret: string) => server.request('GET', '/v1/pets', { key: secret })
    for (let left = 59; left >= 50; left--)
      assert.equal((await ask(other.key)).headers['x-ratelimit-remaining'], String(left))

    // Showing the keys brings their counts into the store, so that memory alone has nothing more to say.
    assert.equal((await server.request('GET', '/v1/keys', { key: adminKey })).status, 200)

    await store.ok(['restore', backup, '--replace'])
    const left = async () => (await server.request('GET', '/v1/limits', { key })).json.minute.remaining
    await eventually(
      'what the vanished key used is forgotten',
      async () => (await left()) === 60,
      keyChangeMs,
    )
    assert.equal((await ask(key)).headers['x-ratelimit-remaining'], '59')
    assert.equal((await ask(other.key)).status, 401)
    await eventually(
      'the setting holds',
      async () => (await server.request('GET', '/v1/keys', { key: adminKey })).status === 200,
      keyChangeMs,
    )
    assert.equal((await ask('the-admin-key-of-another-day')).status, 401)
  })

  describe('a file that is no whole backup is refused and changes nothing', { concurrency: 2 }, () => {
    const scenarios: [name: string, damage: (whole: Buffer) => Buffer][] = [
      ['empty', () => Buffer.alloc(0)],
      ['garbage', () => Buffer.from('this is no database at all '.repeat(1000))],
      ['truncated in the middle of a page', (whole) => whole.subarray(0, whole.length - 1000)],
      ['truncated by half', (whole) => whole.subarray(0, 4096 * Math.floor(whole.length / 8192))],
      ['truncated to its first page', (whole) => whole.subarray(0, 4096)],
      ['overwritten in the middle', (whole) => Buffer.from(whole).fill(0xa5, 4096, 20_000)],
      ['a database of something else', otherDatabase],
    ]
    for (const [name, damage] of scenarios) {
      test(name, async (t) => {
        const folder = folderFor(t)
        const store = storeAt(join(folder, 'data'))
        await store.ok(['seed', '--count', '300'])
        const file = join(folder, 'copy.db')
        await store.ok(['backup', file])
        const before = await store.export()
        const bad = join(folder, 'bad.db')
        writeFileSync(bad, damage(readFileSync(file)))
        assertRefused(
          await store.run(['restore', bad, '--replace']),
          1,
          /bad\.db is not a whole backup of a petstore/,
        )
        assert.equal(await store.export(), before)
        assertRefused(await storeAt(join(folder, 'new')).run(['restore', bad]), 1, /is not a whole backup/)
        assert.ok(!readdirSync(folder).includes('new') || readdirSync(join(folder, 'new')).length === 0)
      })
    }

    function otherDatabase(): Buffer {
      const database = new DatabaseSync(':memory:')
      database.exec('CREATE TABLE something (x)')
      const bytes = Buffer.from(database.serialize())
      database.close()
      return bytes
    }
  })

  test('a backup of a newer version is refused and changes nothing', async (t) => {
    const folder = folderFor(t)
    const store = storeAt(join(folder, 'data'))
    await store.ok(['seed', '--count', '3'])
    const before = await store.export()
    const file = join(folder, 'copy.db')
    await store.ok(['backup', file])
    const database = new DatabaseSync(file)
    database.exec("INSERT INTO schema_migrations VALUES (99, 'from the future', 0)")
    database.close()
    assertRefused(await store.run(['restore', file, '--replace']), 1, /schema version 99/)
    assert.equal(await store.export(), before)
  })
})

describe('openapi', () => {
  test('prints what the server serves, as JSON, as YAML and into a file', async (t) => {
    const server = await serverFor(t)
    const folder = folderFor(t)
    const store = storeAt(server.dataDir)
    const { json: served } = await server.request('GET', '/v1/openapi.json')
    assert.equal(served.openapi.slice(0, 3), '3.1')
    assert.deepEqual(JSON.parse(await store.ok(['openapi'])), served)
    assert.deepEqual(await store.json(['openapi']), served)
    assert.deepEqual(parse(await store.ok(['openapi', '--yaml'])), served)
    assert.equal(await store.ok(['openapi', '--output', join(folder, 'openapi.json')]), '')
    assert.deepEqual(JSON.parse(readFileSync(join(folder, 'openapi.json'), 'utf8')), served)
  })

  test('needs no store and makes none', async (t) => {
    const dataDir = join(folderFor(t), 'data')
    await storeAt(dataDir).ok(['openapi'])
    assert.throws(() => statSync(dataDir), { code: 'ENOENT' })
  })
})

test('a folder that cannot hold a store is refused without a stack', async (t) => {
  const folder = folderFor(t)
  const file = join(folder, 'a-file')
  writeFileSync(file, '')
  mkdirSync(join(folder, 'garbage'))
  writeFileSync(join(folder, 'garbage', 'petstore.db'), 'no database '.repeat(1000))
  for (const dataDir of [file, join(folder, 'garbage')])
    for (const command of [['keys', 'list'], ['serve']])
      assertRefused(await storeAt(dataDir, { PORT: '0' }).run(command), 1, /\w/)
})

test('keys list shows nothing of a secret, not even its hash', async (t) => {
  const store = storeAt(folderFor(t))
  const secret = makeApiKey('production')
  const record = {
    ...keyRecord,
    id: 5,
    name: 'carried over',
    secrets: [{ hash: hashApiKey(secret), createdAt: 1, expiresAt: null }],
  }
  await store.ok(['import'], JSON.stringify(record))
  const shown = (await store.ok(['keys', 'list'])) + (await store.ok(['keys', 'list', '--json']))
  assert.ok(!shown.includes(hashApiKey(secret)))
})

/** An import is a change like any other and writes events: their count goes up, and must never go down. */
function assertSameStore(actual: string, expected: string) {
  const lastEventId = /"lastEventId":(\d+)/
  assert.equal(actual.replace(lastEventId, ''), expected.replace(lastEventId, ''))
  assert.ok(Number(lastEventId.exec(actual)?.[1]) >= Number(lastEventId.exec(expected)?.[1]))
}

function assertIsWhole(dataDir: string) {
  const database = new DatabaseSync(join(dataDir, 'petstore.db'))
  assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
  assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), [])
  database.close()
}
