import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { generateApiKey, hashApiKey } from '../../src/auth/apiKey.ts'
import { lineBytesMax } from '../../src/imports/csv/readText.ts'
import {
  assertCommandFails,
  cliOn,
  cliOnNewDatabase,
  importOfNew,
  keyChangeMs,
  lines,
  oneLine,
  petsIn,
  withoutTimes,
} from '../support/commands.ts'
import { contentsOf, engine, newDatabase, removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { runShell } from '../support/process.ts'
import { folderFor, type Server, SuiteCleanup, serverFor } from '../support/servers.ts'

describe('a failed command exits with status 1 and a reason', { concurrency: 2 }, () => {
  const scenarios: [name: string, args: string[], message: RegExp][] = [
    ['an unknown key is updated', ['keys', 'update', '99', '--name', 'x'], /There is no key 99/],
    ['an unknown key is revoked', ['keys', 'revoke', '99'], /There is no key 99/],
    ['an unknown key is rotated', ['keys', 'rotate', '99'], /There is no key 99/],
    ['an unknown key is unbanned', ['keys', 'unban', '99'], /There is no key 99/],
    ['a folder is imported', ['import', '/tmp'], /^\/tmp is a folder, not a file\.\n$/],
    ['a file to import is missing', ['import', '/not/there/none'], /There is no file .*none/],
  ]
  for (const [name, args, message] of scenarios) {
    test(name, async (t) => {
      assertCommandFails(await (await cliOnNewDatabase(t)).run(args), 1, message)
    })
  }
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

describe('keys, also while a server is running', { concurrency: 2 }, () => {
  test('are printed as readable text', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const made = await cli.ok(['keys', 'create', '--name', 'Zoë'])
    assert.match(
      made,
      /^Key 1 \(Zoë, free\)\. Save its secret now: it is shown only once\.\n\n {2}ps_live_[0-9A-Za-z]{36}\n$/,
    )
    const defaults = 'pets:read,pets:write,categories:read,categories:write,orders:read,orders:write'
    const limits = '60/min 1000/day 2 streams'
    const table = (name: string) =>
      `ID  NAME  PLAN  STATUS  ${'LIMITS'.padEnd(limits.length)}  EXPIRES  LAST USED  ${'SCOPES'.padEnd(defaults.length)}  ORIGINS\n1   ${name}   free  active  ${limits}  never    never      ${defaults}  -\n`
    assert.equal(await cli.ok(['keys', 'list']), table('Zoë'))
    assert.equal(await cli.ok(['keys', 'update', '1', '--name', 'Zoe']), `Updated key 1:\n${table('Zoe')}`)
    assert.match(await cli.ok(['keys', 'rotate', '1']), /^Key 1 \(Zoe, free\)[\s\S]*ps_live_/)
    assert.equal(await cli.ok(['keys', 'revoke', '1']), 'Key 1 (Zoe) is revoked.\n')
    assert.match(await cli.ok(['keys', 'list']), / revoked /)
    const before = await cli.export()
    assertCommandFails(
      await cli.run(['keys', 'rotate', '1']),
      1,
      /^Key 1 is revoked\. Revocation is permanent: create a new key\.\n$/,
    )
    assert.equal(await cli.export(), before)
  })

  test('are all listed, beyond one page', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const record = (id: number) => JSON.stringify({ ...keyRecord, id, name: `key ${id}`, secrets: [] })
    await cli.ok(
      ['import', '--with-keys'],
      Array.from({ length: 205 }, (_, index) => record(index + 1)).join('\n'),
    )
    const ids = lines(await cli.ok(['keys', 'list', '--json'])).map((line) => JSON.parse(line).id)
    assert.deepEqual(
      ids,
      Array.from({ length: 205 }, (_, index) => 205 - index),
    )
  })

  test('have the prefix of the environment', async (t) => {
    const { key } = await (await cliOnNewDatabase(t, { PETSTORE_ENV: 'staging' })).json([
      'keys',
      'create',
      '--name',
      'x',
    ])
    assert.match(key, /^ps_test_/)
  })

  test('can expire, and the expiry can be removed', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const made = await cli.json(['keys', 'create', '--name', 'x', '--expires-at', '2999-01-31T12:00:00Z'])
    assert.equal(made.expiresAt, '2999-01-31T12:00:00.000Z')
    assert.equal((await cli.json(['keys', 'update', '1', '--expires-at', 'never'])).expiresAt, undefined)
    const changed = await cli.json(['keys', 'update', '1', '--expires-at', '2999-01-31t14:00:00.5+02:00'])
    assert.equal(changed.expiresAt, '2999-01-31T12:00:00.500Z')
  })

  test('with origins are read-only', async (t) => {
    const { scopes, origins } = await (await cliOnNewDatabase(t)).json([
      ...['keys', 'create', '--name', 'x', '--origin', 'https://a.example', '--origin', 'https://b.example'],
    ])
    assert.deepEqual(origins, ['https://a.example', 'https://b.example'])
    assert.ok(scopes.every((scope: string) => scope.endsWith(':read')))
  })
})

describe('without a database', { concurrency: 2 }, () => {
  for (const args of [['migrate'], ['seed', '--count', '1'], ['import']]) {
    test(`${args[0]} creates it and says so`, async (t) => {
      const cli = await cliOnNewDatabase(t, {}, { isBare: true })
      const { code, stderr } = await cli.run(args)
      assert.equal(code, 0, stderr)
      assert.match(
        stderr,
        /^Creating the (?:database \/.*petstore\.db|tables in the PostgreSQL database at .*)\.\n$/,
      )
      await cli.ok(args)
    })
  }

  for (const args of [['keys', 'list'], ['keys', 'create', '--name', 'x'], ['export']]) {
    test(`${args.join(' ')} fails and creates none`, async (t) => {
      const cli = await cliOnNewDatabase(t, {}, { isBare: true })
      for (const _ of [1, 2])
        assertCommandFails(
          await cli.run(args),
          1,
          /^There is no database at .*petstore\.db\. Start the service, or set PETSTORE_DATA_DIR\.\n$|^There are no tables in the PostgreSQL database at /,
        )
      if (engine === 'sqlite') assert.deepEqual(readdirSync(cli.dataDir), [])
    })
  }
})

test('a command warns about an unknown setting', async (t) => {
  const cli = await cliOnNewDatabase(t, { PETSTORE_DATADIR: '/tmp' })
  const { code, stderr } = await cli.run(['seed', '--count', '1'])
  assert.deepEqual(
    [code, stderr],
    [0, 'Warning: PETSTORE_DATADIR is not a setting and is ignored. Did you mean PETSTORE_DATA_DIR?\n'],
  )
})

test('the reader of the output may close it: the command ends quietly', async (t) => {
  const cli = await cliOnNewDatabase(t)
  await cli.ok(['seed', '--count', '20000'])
  for (const command of ['export', 'openapi --yaml']) {
    const { stdout, stderr } = await runShell(
      `{ "$NODE" "$MAIN" ${command}; echo "$?" >&2; } | head -n 1`,
      cli.env,
    )
    assert.equal(lines(stdout).length, 1)
    assert.equal(stderr, '141\n')
  }
})

test('output that cannot be written is an error without a stack', async (t) => {
  const file = join(folderFor(t), 'openapi.json')
  // The unit of the limit is 512 bytes.
  const line = `{ ulimit -f 8; "$NODE" "$MAIN" openapi > "${file}"; echo "$?" >&2; }`
  const { stderr } = await runShell(line)
  assert.match(stderr, /^The output cannot be written \(EFBIG[^\n]*\)\.\n1\n$/)
})

describe('seed', () => {
  test('always adds the same animals with --count', async (t) => {
    const exports = await Promise.all(
      [await cliOnNewDatabase(t), await cliOnNewDatabase(t)].map(async (cli) => {
        assert.deepEqual(await cli.json(['seed', '--count', '100']), { added: 100 })
        return withoutTimes(await cli.export())
      }),
    )
    assert.equal(exports[0], exports[1])
  })
})

describe('export and import', { concurrency: 2 }, () => {
  test('transfer only the hashes of keys', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const { key } = await cli.json([
      'keys',
      'create',
      '--name',
      'x',
      '--plan',
      'enterprise',
      '--per-day',
      '77',
    ])
    const exported = await cli.export()
    assert.ok(!exported.includes(key))
    assert.ok(exported.includes(hashApiKey(key)))
    const second = await cliOnNewDatabase(t)
    await second.ok(['import', '--with-keys'], exported)
    const [before, after] = await Promise.all(
      [cli, second].map((each) => each.ok(['keys', 'list', '--json'])),
    )
    assert.equal(before, after)
  })

  test('an animal with an id replaces the one that was there', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], '{"name":"before","categoryId":1}')
    const result = await cli.json(['import'], '{"id":1,"name":"after","categoryId":2,"status":"sold"}')
    assert.equal(result.pets, 1)
    assert.deepEqual(result.changes.pets, { added: 0, changed: 1, unchanged: 0 })
    assert.deepEqual(await petsIn(cli), [
      { type: 'pet', id: 1, name: 'after', categoryId: 2, status: 'sold' },
    ])
  })

  test('from a file, with empty lines, Windows line ends and no last line end', async (t) => {
    const file = join(folderFor(t), 'feed.ndjson')
    writeFileSync(file, '{"name":"One","categoryId":1}\r\n\r\n{"type":"pet","name":"Two","categoryId":1}')
    const cli = await cliOnNewDatabase(t)
    assert.deepEqual(await cli.json(['import', file]), importOfNew({ pets: 2 }))
  })

  test('read the same animal from every spelling of its line', async (t) => {
    const names = [
      'Milo',
      'a\u2028b',
      '\ufffd',
      ' \u{1f415}',
      'x'.repeat(255),
      '\u{1f415}'.repeat(255),
      '"}',
      '\\n',
    ]
    const spellings: ((name: string) => string)[] = [
      (name) => `{"name":${name},"categoryId":3}`,
      (name) => `{"name": ${name}, "categoryId": 3, "status": "available"}`,
      (name) => `\ufeff{"type":"pet","name":${name},"categoryId":3}\r`,
      (name) => ` {"categoryId":3.0e0,"status":"available","name":${name},"type":"pet"} `,
      (name) => `{"type":"pet","name":${name},"categoryId":3,"status":"available","breed":"unknown"}`,
    ]
    const cli = await cliOnNewDatabase(t)
    const text = names
      .flatMap((name) => spellings.map((numberTexts) => numberTexts(JSON.stringify(name))))
      .join('\n')
    await cli.ok(['import'], text)
    const expected = names.flatMap((name) => spellings.map(() => name))
    assert.deepEqual(
      await petsIn(cli),
      expected.map((name, at) => ({ type: 'pet', id: at + 1, name, categoryId: 3, status: 'available' })),
    )
  })

  test('accept the path of a pipe, which can be read only once', async (t) => {
    const cli = await cliOnNewDatabase(t)
    // By a shell: a pipe of this process to a child is a socket, which has no path.
    const line = '{"name":"One","categoryId":1}'
    const { stdout, stderr } = await runShell(
      `echo '${line}' | "$NODE" "$MAIN" import --json /dev/stdin`,
      cli.env,
    )
    assert.equal(stderr, '')
    assert.deepEqual(oneLine(stdout), importOfNew({ pets: 1 }))
    assert.match(await cli.export(), /"name":"One"/)
  })

  test('of empty input change nothing', async (t) => {
    assert.deepEqual(await (await cliOnNewDatabase(t)).json(['import'], ''), importOfNew({ pets: 0 }))
  })
})

describe('an import with an invalid line changes nothing and reports the line', { concurrency: 2 }, () => {
  const good = '{"name":"good","categoryId":1}'
  const scenarios: [name: string, bad: string | Buffer, message: RegExp][] = [
    ['no JSON', 'Milo', /^Line 603: .*expected a value/],
    ['something behind an animal', '{"name":"x","categoryId":1} x', /^Line 603: .*expected nothing more/],
    ['half a line', '{"name":"Mi', /^Line 603: /],
    ['no object', '[]', /^Line 603: expected an object/],
    ['an unknown type', '{"type":"dragon","id":1}', /^Line 603: expected an object whose type/],
    ['no name', '{"categoryId":1}', /^Line 603: .*name is required/],
    [
      'a name of spaces of other kinds',
      '{"name":"\u00a0\u2003","categoryId":1}',
      /^Line 603: .*name must be/,
    ],
    ['a name of 256 letters', `{"name":"${'x'.repeat(256)}","categoryId":1}`, /^Line 603: .*name must be/],
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
    ['a line without end', `{"name":"${'x'.repeat(lineBytesMax)}"`, /^Line 603: longer than/],
    [
      'one of characters of several bytes',
      `{"name":"${'\u20ac'.repeat(lineBytesMax / 2)}"`,
      /^Line 603: longer than/,
    ],
    ['a category without a name', '{"type":"category","id":1,"name":" "}', /^Line 603: .*name must be/],
    [
      'a time that no date has',
      JSON.stringify({ ...keyRecord, id: 9, name: 'x', createdAt: 8.64e15 + 1 }),
      /^Line 603: .*createdAt must be/,
    ],
    [
      'a time after the year 9999, which RFC 3339 cannot show',
      JSON.stringify({
        ...{ type: 'order', id: 9, petId: 1, status: 'delivered', customer: null, note: null },
        ...{ placedAt: Date.UTC(10_000, 0), updatedAt: 1, holdExpiresAt: null, cancelReason: null },
      }),
      /^Line 603: .*placedAt must be/,
    ],
    ['invalid UTF-8', Buffer.from('{"name":"\xff","categoryId":1}', 'latin1'), /^Line 603: .*UTF-8/],
  ]
  let cli: ReturnType<typeof cliOn>
  let contents: Awaited<ReturnType<typeof contentsOf>>
  before(async () => {
    cli = cliOn(await newDatabase())
    await cli.ok(['seed', '--count', '1'])
    contents = await contentsOf(cli.env)
    assert.equal(contents.pets?.length, 1)
  })
  after(() => removeDatabase(cli.env))

  for (const [name, bad, message] of scenarios) {
    test(name, async (t) => {
      const file = join(folderFor(t), 'bad.ndjson')
      // More valid lines before it than one write imports.
      const start = `${`${good}\n`.repeat(601)}\n`
      writeFileSync(file, Buffer.concat([Buffer.from(start), Buffer.from(bad), Buffer.from(`\n${good}\n`)]))
      assertCommandFails(await cli.run(['import', '--with-keys', file]), 1, message)
      assert.deepEqual(await contentsOf(cli.env), contents)
    })
  }
})

test('keys list shows neither secrets nor their hashes', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const secret = generateApiKey('production')
  const record = {
    ...keyRecord,
    id: 5,
    name: 'carried over',
    secrets: [{ hash: hashApiKey(secret), createdAt: 1, expiresAt: null }],
  }
  await cli.ok(['import', '--with-keys'], JSON.stringify(record))
  const shown = (await cli.ok(['keys', 'list'])) + (await cli.ok(['keys', 'list', '--json']))
  assert.ok(!shown.includes(hashApiKey(secret)))
})

describe('while a server is running', () => {
  let server: Server
  const lasting = new SuiteCleanup()
  before(async () => {
    server = await serverFor(lasting, { PETSTORE_BAN_AFTER_REFUSALS: '1' })
  })
  after(() => lasting.end())

  test('keys are created, listed, updated, rotated and revoked, and the server applies it within 2 seconds', async () => {
    const cli = cliOn(server.databaseEnv)
    const applies = (what: string, send: () => Promise<boolean>) => eventually(what, send, keyChangeMs)
    const statusOf = async (key: string) => (await server.request('GET', '/v1/limits', { key })).status

    const made = await cli.json([
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
    await applies('a new key works', async () => (await statusOf(key)) === 200)

    const listed = lines(await cli.ok(['keys', 'list', '--json'])).map((line) => JSON.parse(line))
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
    const changed = await cli.json(['keys', 'update', String(made.id), '--plan', 'business'])
    assert.equal(changed.plan, 'business')
    assert.equal(changed.name, 'Web site', 'what is not given stays')
    await applies('a changed plan counts', async () => (await limitOf()) === '1000')

    const own = await cli.json([
      ...['keys', 'update', String(made.id), '--plan', 'enterprise'],
      ...['--per-minute', '20', '--per-day', '200', '--streams', '7'],
    ])
    assert.deepEqual(own.limits, { perMinute: 20, perDay: 200, streams: 7 })

    const rotated = await cli.json(['keys', 'rotate', String(made.id), '--overlap-seconds', '3600'])
    assert.notEqual(rotated.key, key)
    await applies('the new secret works', async () => (await statusOf(rotated.key)) === 200)
    assert.equal(await statusOf(key), 200, 'the previous secret is valid during the overlap')

    const again = await cli.json(['keys', 'rotate', String(made.id)])
    await applies('a secret without overlap ends', async () => (await statusOf(rotated.key)) === 401)
    await applies('and so does the one before it', async () => (await statusOf(key)) === 401)
    assert.equal(await statusOf(again.key), 200)

    const revoked = await cli.json(['keys', 'revoke', String(made.id)])
    assert.ok(revoked.revokedAt)
    await applies('a revoked key is rejected', async () => (await statusOf(again.key)) === 401)
  })

  test('keys are unbanned, and the server applies it within 2 seconds', async () => {
    const cli = cliOn(server.databaseEnv)
    const { id, key } = await cli.json([
      ...['keys', 'create', '--name', 'eager', '--plan', 'enterprise', '--per-minute', '1'],
    ])
    const send = async () => (await server.request('GET', '/v1/pets', { key })).json.code
    await eventually('the key is banned', async () => (await send()) === 'key_banned', keyChangeMs)
    await eventually('the list shows the ban', async () =>
      /banned until 2\d{3}-/.test(await cli.ok(['keys', 'list'])),
    )
    assert.equal(await cli.ok(['keys', 'unban', String(id)]), `Key ${id} (eager) is no longer banned.\n`)
    const bannedUntil = async () => (await server.request('GET', '/v1/limits', { key })).json.bannedUntil
    await eventually('the ban is lifted', async () => (await bannedUntil()) === null, keyChangeMs)
  })
})
