import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { byResource } from '../../src/commands/counts.ts'
import { noCounts } from '../../src/records/resource.ts'
import {
  assertCommandFails,
  assertSameExport,
  cliOnNewDatabase,
  countsOf,
  countsText,
  importOfNew,
  int64Min,
  lines,
} from '../support/commands.ts'
import { contentsOf, inDatabase } from '../support/engine.ts'
import { preloadOption, spawnPetstore } from '../support/process.ts'
import { folderFor, serverFor } from '../support/servers.ts'

const adminKey = 'the-admin-key-of-the-large-import'

type Cli = Awaited<ReturnType<typeof cliOnNewDatabase>>

// biome-ignore lint/suspicious/noExplicitAny: a test looks into records of every shape.
const petsIn = async (cli: Cli): Promise<any[]> =>
  lines(await cli.export())
    .filter((line) => line.includes('"type":"pet"'))
    .map((line) => JSON.parse(line))

const openOrder = (id: number, petId: number) => ({
  ...{ type: 'order', id, petId, status: 'approved', customer: null, note: null },
  ...{ placedAt: 1, updatedAt: 2, holdExpiresAt: null, cancelReason: null },
})

const csv = (...rows: string[]) => rows.map((row) => `${row}\r\n`).join('')

describe('an import of CSV', { concurrency: 2 }, () => {
  test('reads every spelling of a cell', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const file = join(folderFor(t), 'animals.csv')
    const rows = [
      '\ufeffName,note,categoryid,STATUS',
      'Milo,"a ""b"", c",3,sold',
      '"Lu\nna",,-9,',
      '',
      '" x ",,0,pending',
    ]
    writeFileSync(file, csv(...rows))
    assert.deepEqual(await cli.json(['import', file]), importOfNew({ pets: 3 }))
    assert.deepEqual(
      (await petsIn(cli)).map(({ name, categoryId, status }) => [name, categoryId, status]),
      [
        ['Milo', 3, 'sold'],
        ['Lu\nna', -9, 'available'],
        [' x ', 0, 'pending'],
      ],
    )
  })

  test('reads other column names and other delimiters', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const options = [
      '--format',
      'csv',
      '--map',
      'Pet=name',
      '--map',
      'Kind=categoryId',
      '--external-id',
      'Chip',
    ]
    await cli.ok(['import', ...options], csv('Chip;name;Pet;Kind', 'c1;ignored;Milo;4', 'c2;;Luna;5'))
    await cli.ok(['import', '-', ...options], csv('Kind;Pet;Chip', '6;Luna II;c2', '7;New;c3'))
    assert.deepEqual(
      (await petsIn(cli)).map(({ id, name, categoryId, externalId }) => [id, name, categoryId, externalId]),
      [
        [1, 'Milo', 4, 'c1'],
        [2, 'Luna II', 6, 'c2'],
        [3, 'New', 7, 'c3'],
      ],
    )
  })

  test('reads a byte order mark before a quoted header', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import', '--format', 'csv'], csv('\ufeff"name","categoryId"', 'Milo,3'))
    assert.equal((await petsIn(cli))[0].name, 'Milo')
  })

  const wrong: [what: string, args: string[], text: string, code: number, message: RegExp][] = [
    ['no name', [], csv('a,categoryId', 'x,1'), 1, /^The header has no column name\..*--map HEADER=name/],
    ['an unknown header', ['--map', 'Pet=name'], csv('name,categoryId', 'x,1'), 1, /no column "Pet"/],
    ['an unknown field', ['--map', 'a=breed'], csv('a'), 2, /^--map must be HEADER=FIELD with one of/],
    ['two names', ['--map', 'a=name', '--map', 'b=name'], csv('a,b,categoryId'), 1, /two columns for name/],
    ['a NUL character', [], csv('name,categoryId', 'a\0b,1'), 1, /^Line 2: has a NUL character\n/],
    [
      'wrong lines',
      [],
      csv('name,categoryId', 'x,1', '"two\nlines",one', 'x,1,2', ',3', '"x,1', 'y,9'),
      1,
      /^Line 3: categoryId must be an integer .*\nLine 5: has 3 columns, but the header has 2\nLine 6: name is required\nLine 7: name has a quotation mark that is not closed\nNothing was imported\.\n$/,
    ],
  ]
  for (const [what, args, text, code, message] of wrong) {
    test(`rejects ${what}, and changes nothing`, async (t) => {
      const cli = await cliOnNewDatabase(t)
      const before = await contentsOf(cli.env)
      assertCommandFails(await cli.run(['import', '--format', 'csv', ...args], text), code, message)
      assert.deepEqual(await contentsOf(cli.env), before)
    })
  }

  test('of a CSV export gives the same animals', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const names = ['Milo', ' "x", ', 'a;b', 'Łuna 🐾\u2028', 'x\ny']
    const records = names.map((name, at) => ({ id: at * 3 + 1, name, categoryId: 0, status: 'sold' }))
    const text = records
      .map((record) => JSON.stringify({ ...record, externalId: `e ${record.id}` }))
      .join('\n')
    await cli.ok(['import'], `${text}\n{"name":"Least","categoryId":${int64Min}}`)
    const exported = await cli.ok(['export', '--format', 'csv'])
    assert.match(exported, /^id,externalId,name,categoryId,status\n1,e 1,Milo,0,sold\n/)
    const second = await cliOnNewDatabase(t)
    await second.ok(['import', '--format', 'csv'], exported)
    assert.equal(await second.ok(['export', '--format', 'csv']), exported)
    assert.deepEqual(await petsIn(second), await petsIn(cli))
  })
})

test('a CSV export has no formulas, and an import of it gives the same animals', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const starts = ['=', '+', '-', '@', "'", '\t', '\r']
  const names = [...starts.map((start) => `${start}1+1`), "'=1", "''", '-5', 'a=b', "O'Neil"]
  const records = names.map((name, at) => ({ name, categoryId: -at, externalId: `${starts[at % 5]}x${at}` }))
  await cli.ok(['import'], records.map((record) => JSON.stringify(record)).join('\n'))
  const exported = await cli.ok(['export', '--format', 'csv'])
  const rows = exported
    .replaceAll(/"'[\t\r]1\+1"/g, 'control')
    .split('\n')
    .slice(1, -1)
  assert.deepEqual(rows, [
    "1,'=x0,'=1+1,0,available",
    "2,'+x1,'+1+1,-1,available",
    "3,'-x2,'-1+1,-2,available",
    "4,'@x3,'@1+1,-3,available",
    "5,''x4,''1+1,-4,available",
    "6,'=x5,control,-5,available",
    "7,'+x6,control,-6,available",
    "8,'-x7,''=1,-7,available",
    "9,'@x8,''',-8,available",
    "10,''x9,'-5,-9,available",
    "11,'=x10,a=b,-10,available",
    "12,'+x11,O'Neil,-11,available",
  ])
  const second = await cliOnNewDatabase(t)
  await second.ok(['import', '--format', 'csv'], exported)
  assert.deepEqual(await petsIn(second), await petsIn(cli))
  assert.equal(await second.ok(['export', '--format', 'csv']), exported)
  // A number with the mark, and a text that begins with the same character and has no mark.
  await second.ok(['import', '--format', 'csv'], "id,name,categoryId\n1,'tis,'-7\n")
  const [first] = await petsIn(second)
  assert.deepEqual([first.name, first.categoryId], ["'tis", -7])
})

const pet = '{"name":"Milo","categoryId":3}'
const otherFormats = [
  ['gzip', 'pets.ndjson.gz', gzipSync(pet), /compressed with gzip/],
  ['a spreadsheet', 'pets.csv', Buffer.from('PK\x03\x04\x14\x00'), /ZIP archive or a spreadsheet/],
  ['UTF-16 with a byte order mark', 'pets.csv', Buffer.from('\ufeffname,categoryId\n', 'utf16le'), /UTF-16/],
  ['UTF-16 without one', 'pets.ndjson', Buffer.from(pet, 'utf16le'), /UTF-16/],
  ['a JSON array', 'pets.json', Buffer.from(` [\n${pet}\n]`), /JSON array/],
  ['lines that end with CR', 'pets.csv', Buffer.from('name,categoryId\rMilo,3\r'), /CR alone/],
] as const

for (const [what, name, content, message] of otherFormats) {
  test(`an import says what is wrong with ${what}, and creates no database`, async (t) => {
    const file = join(folderFor(t), name)
    writeFileSync(file, content)
    const cli = await cliOnNewDatabase(t, {}, { isBare: true })
    assertCommandFails(await cli.run(['import', file]), 1, message)
    assertCommandFails(await cli.run(['export']), 1, /no (?:database|tables)/)
  })
}

test('an export with --json prints the counts to standard error', async (t) => {
  const cli = await cliOnNewDatabase(t)
  await cli.ok(['import'], [1, 2].map((id) => JSON.stringify({ id, name: 'x', categoryId: 1 })).join('\n'))
  const exported = await cli.ok(['export', '--without-keys'])
  const ndjson = await cli.run(['export', '--without-keys', '--json'])
  assert.deepEqual(
    [ndjson.stdout, JSON.parse(ndjson.stderr)],
    [exported, countsOf({ pets: 2, categories: 1 })],
  )
  const asCsv = await cli.run(['export', '--format', 'csv', '--json'])
  assert.deepEqual(JSON.parse(asCsv.stderr), { pets: 2 })
})

describe('an external id', { concurrency: 2 }, () => {
  test('identifies an animal, is exported, and is not part of the API or of events', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const feed = (name: string) => `{"externalId":"secret-7","name":"${name}","categoryId":1}`
    await cli.ok(['import'], `${feed('first')}\n{"name":"other","categoryId":1}\n${feed('second')}`)
    await cli.ok(['import'], feed('third'))
    await cli.ok(['import'], '{"id":2,"name":"other","categoryId":1,"externalId":"secret-8"}')
    const pet = { type: 'pet', categoryId: 1, status: 'available' }
    assert.deepEqual(await petsIn(cli), [
      { ...pet, id: 1, name: 'third', externalId: 'secret-7' },
      { ...pet, id: 2, name: 'other', externalId: 'secret-8' },
    ])
    const exported = await cli.export()
    const second = await cliOnNewDatabase(t)
    await second.ok(['import', '--with-keys'], exported)
    assertSameExport(await second.export(), exported)

    const server = await serverFor(t, cli.env)
    const key = server.operatorKey
    const read = async (path: string) => (await server.request('GET', path, { key })).text
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/events'])
      assert.doesNotMatch(await read(path), /secret|external/)
    assert.equal((await server.request('PATCH', '/v1/pets/1', { key, body: { status: 'sold' } })).status, 200)
    assert.deepEqual((await petsIn(cli))[0], {
      ...pet,
      id: 1,
      name: 'third',
      status: 'sold',
      externalId: 'secret-7',
    })
    await cli.ok(['import'], feed('third'))
    assert.equal((await petsIn(cli))[0].status, 'sold', 'a line without a status leaves it')
  })

  const pet = (fields: object) => JSON.stringify({ name: 'x', categoryId: 1, ...fields })

  test('of another animal makes a line wrong, in the database and in the file', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], [pet({ id: 1, externalId: 'a' }), pet({ id: 2 })].join('\n'))
    const text = [
      ...Array.from({ length: 3_000 }, () => pet({})),
      pet({ id: 2, externalId: 'a' }),
      pet({ id: 5_001, externalId: 'b' }),
      pet({ externalId: 'b', name: 'the same' }),
      pet({ id: 5_002, externalId: 'b' }),
      pet({ externalId: 'c' }),
      pet({ id: 5_003, externalId: 'c' }),
      JSON.stringify(openOrder(1, 5_002)),
      pet({ id: 5_004, externalId: 'd' }),
      JSON.stringify(openOrder(2, 5_004)),
    ].join('\n')
    const wrong =
      'Line 3001: Animal 2 cannot have the external id "a", because animal 1 has it.\n' +
      'Line 3004: Animal 5002 cannot have the external id "b", because animal 5001 has it.\n' +
      'Line 3006: Animal 5003 cannot have the external id "c", because line 3005 adds an animal with it.\n' +
      'Line 3007: the order is open, but there is no animal 5002\n'
    const before = await contentsOf(cli.env)
    const failed = await cli.run(['import'], text)
    assert.deepEqual([failed.code, failed.stderr], [1, `${wrong}Nothing was imported.\n`])
    const dry = await cli.run(['import', '--dry-run'], text)
    assert.deepEqual([dry.code, dry.stderr], [1, wrong])
    assert.match(
      dry.stdout,
      /^This would add 3003 animals, change 1 and leave 0 unchanged\..* 4 lines are wrong/,
    )
    assert.deepEqual(await contentsOf(cli.env), before)
    const skipped = await cli.run(['import', '--skip-bad'], text)
    assert.deepEqual([skipped.code, skipped.stderr], [3, wrong])
    assert.match(skipped.stdout, /^Imported 3004 animals, 0 categories, 1 order /)
    assert.deepEqual(
      (await petsIn(cli)).flatMap(({ id, name, externalId }) => (externalId ? [[id, name, externalId]] : [])),
      [
        [1, 'x', 'a'],
        [5_001, 'the same', 'b'],
        [5_004, 'x', 'd'],
        [8_005, 'x', 'c'],
      ],
    )
  })

  test('that an earlier line gives up is free', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], [pet({ id: 1, externalId: 'a' }), pet({ id: 2, externalId: 'b' })].join('\n'))
    const text = [
      pet({ id: 1, externalId: 'c' }),
      pet({ id: 2, externalId: 'a' }),
      pet({ id: 1, externalId: 'b' }),
      pet({ id: 3, externalId: 'c' }),
    ].join('\n')
    assert.match(await cli.ok(['import', '--dry-run'], text), /^This would add 1 animal, change 3 /)
    await cli.ok(['import'], text)
    assert.deepEqual(
      (await petsIn(cli)).map(({ id, externalId }) => [id, externalId]),
      [
        [1, 'b'],
        [2, 'a'],
        [3, 'c'],
      ],
    )
  })

  test('has no spaces around it, in both formats', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = '{"name":"Milo","categoryId":1,"externalId":" a b\\t"}\n'
    await cli.ok(['import'], text)
    await cli.ok(['import', '--external-id', 'chip'], '{"name":"Luna","categoryId":1,"chip":" a b"}')
    await cli.ok(['import', '--format', 'csv'], csv('externalId,name,categoryId', '" a b ",Rex,1'))
    await cli.ok(['import'], '{"name":"Last","categoryId":1,"externalId":"a b "}\n')
    assert.deepEqual(
      (await petsIn(cli)).map(({ id, name, externalId }) => [id, name, externalId]),
      [[1, 'Last', 'a b']],
    )
  })

  test('can be any field of a line', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import', '--external-id', 'chip'], '{"chip":12345678901234567,"name":"x","categoryId":1}')
    assert.equal((await petsIn(cli))[0].externalId, '12345678901234567')
  })
})

describe('wrong lines', { concurrency: 2 }, () => {
  const good = (name: string) => `{"name":"${name}","categoryId":1}`
  const bad = Array.from({ length: 25 }, () => '{"name":"x"}')

  test('are all counted, and the first ones listed', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const { code, stderr } = await cli.run(['import'], [good('a'), ...bad, good('b')].join('\n'))
    assert.equal(code, 1)
    const listed = stderr.split('\n')
    assert.equal(listed[0], 'Line 2: categoryId is required')
    assert.equal(listed[19], 'Line 21: categoryId is required')
    assert.match(stderr, /\n5 more wrong lines\. --report FILE lists all\.\nNothing was imported\.\n$/)
    assert.deepEqual(await petsIn(cli), [])
  })

  test('are left out with --skip-bad, and reported', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const report = join(folderFor(t), 'bad.ndjson')
    const long = `{"name":"${'x'.repeat(2_000_000)}"}`
    const text = [good('a'), ...bad, long, 'x', good('b')].join('\n')
    const { code, stdout, stderr } = await cli.run(
      ['import', '--skip-bad', '--report', report, '--json'],
      text,
    )
    assert.deepEqual([code, JSON.parse(stdout)], [3, { ...importOfNew({ pets: 2 }), skipped: 27 }])
    assert.match(stderr, /^Line 2: /)
    const reported = lines(readFileSync(report, 'utf8')).map((line) => JSON.parse(line))
    assert.deepEqual(
      reported.map(({ line }) => line),
      Array.from({ length: 27 }, (_, at) => at + 2),
    )
    assert.match(reported[25].reason, /longer than/)
    assert.deepEqual(
      (await petsIn(cli)).map(({ name }) => name),
      ['a', 'b'],
    )
  })

  test('are not reported to the file that is imported, or to one that cannot be written', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const file = join(folderFor(t), 'animals.ndjson')
    writeFileSync(file, good('a'))
    const run = (report: string) => cli.run(['import', file, '--report', report])
    assertCommandFails(await run(file), 1, /^The report must be another file than the import\.\n$/)
    assert.equal(readFileSync(file, 'utf8'), good('a'))
    assertCommandFails(
      await run(join(file, 'x')),
      1,
      /^The folder \S+ cannot be written, because \S+ is not a folder: move that file away, or choose another folder\.\n$/,
    )
    assert.deepEqual(await petsIn(cli), [])
  })

  test('an open order for an animal that is nowhere is one of them', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = [good('a'), JSON.stringify(openOrder(1, 7))].join('\n')
    const message = /^Line 2: the order is open, but there is no animal 7\nNothing was imported\.\n$/
    assertCommandFails(await cli.run(['import'], text), 1, message)
    assert.deepEqual(await petsIn(cli), [])
    assert.equal((await cli.run(['import', '--skip-bad'], text)).code, 3)
    assert.equal((await petsIn(cli)).length, 1)
    await cli.ok(['import'], `{"id":7,"name":"seven","categoryId":1}\n${text}`)
    assert.equal((await petsIn(cli)).find(({ id }) => id === 7).status, 'pending')
  })
})

test('a second open order for an animal is a wrong line, and nothing is imported', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const pet = (id: number) => `{"id":${id},"name":"Pet ${id}","categoryId":1}`
  const order = (id: number, petId: number, status = 'approved') =>
    JSON.stringify({ ...openOrder(id, petId), status })
  const reason = (id: number) => `the order is open, but animal 1 has the open order ${id}`
  const text = [pet(1), pet(2), order(1, 1), order(2, 1), order(3, 2)].join('\n')
  const { code, stdout } = await cli.run(['import', '--dry-run', '--json'], text)
  assert.deepEqual([code, JSON.parse(stdout).problems], [1, [{ line: 4, reason: reason(1) }]])
  const message = new RegExp(`^Line 4: ${reason(1)}\nNothing was imported\\.\n$`)
  assertCommandFails(await cli.run(['import'], text), 1, message)
  assert.deepEqual(await petsIn(cli), [])
  assert.equal((await cli.run(['import', '--skip-bad'], text)).code, 3)
  assert.equal((await petsIn(cli)).length, 2)
  // The other order is in the database.
  const conflict = new RegExp(`^Line 1: ${reason(1)}\nNothing was imported\\.\n$`)
  assertCommandFails(await cli.run(['import'], order(4, 1)), 1, conflict)
  // An earlier line can end an order, or move it to another animal.
  await cli.ok(
    ['import'],
    [order(1, 1, 'delivered'), order(4, 1), pet(3), order(4, 3), order(5, 1)].join('\n'),
  )
  await cli.ok(['import'], [order(5, 1), order(5, 1, 'cancelled'), order(6, 1)].join('\n'))
  // An order whose hold has expired is not open.
  const held = { ...openOrder(6, 1), status: 'placed', holdExpiresAt: 3 }
  await cli.ok(['import'], [JSON.stringify(held), order(7, 1)].join('\n'))
  await cli.ok(['import'], order(7, 1))
})

test('an import counts what it has added, changed and left unchanged, as its dry run does', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const key = (id: number, name: string) => ({
    ...{
      type: 'key',
      id,
      name,
      plan: 'free',
      perMinute: null,
      perDay: null,
      scopes: ['pets:read'],
      origins: [],
    },
    ...{ isFromSetting: false, createdAt: id, expiresAt: null, revokedAt: null, unbannedAt: 0 },
    secrets: [{ hash: String(id).repeat(64), createdAt: id, expiresAt: null }],
  })
  const category = (id: number, name: string) => ({ type: 'category', id, name })
  const animal = (id: number, name: string) => ({ type: 'pet', id, name, categoryId: 1, status: 'sold' })
  const order = (id: number, note: string) => ({ ...openOrder(id, id), status: 'delivered', note })
  const ndjson = (...records: object[]) => records.map((record) => JSON.stringify(record)).join('\n')
  const make = [category, order, animal, key]
  const args = ['import', '--with-keys']
  await cli.ok(args, ndjson(...make.flatMap((one) => [one(1, 'same'), one(2, 'before')])))

  const text = ndjson(...make.flatMap((one) => [one(1, 'same'), one(2, 'after'), one(3, 'new')]))
  const each = { added: 1, changed: 1, unchanged: 1 }
  const changes = { ...byResource(noCounts), pets: each, categories: each, orders: each, keys: each }
  const counts = countsOf({ pets: 3, categories: 3, orders: 3, keys: 3 })
  const dry = await cli.json([...args, '--dry-run'], text)
  assert.deepEqual(dry.changes, changes)
  assert.match(
    await cli.ok([...args, '--dry-run'], text),
    /^This would add 1 animal, change 1 and leave 1 unchanged\. The file has 3 categories \(1 added, 1 changed\), 3 orders \(1 added, 1 changed\)(?:, 0 \w+ \(0 added, 0 changed\))* and 3 keys \(1 added, 1 changed\)\./,
  )
  const imported = await cli.json(args, text)
  assert.deepEqual(imported, { ...counts, changes, keysRenumbered: 0, keysUnchanged: 0 })
  assert.equal(
    await cli.ok(args, text),
    `Imported ${countsText(counts)}: 0 added, 0 changed, 12 unchanged.\n`,
  )
})

describe('a dry run', { concurrency: 2 }, () => {
  test('does not take the external id of an animal for another record', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const lines = [
      { type: 'pet', id: 1, name: 'Milo', categoryId: 3, status: 'available', externalId: 'category 3' },
      { type: 'category', id: 3, name: 'Cats' },
      { type: 'category', id: 4, name: 'Dogs' },
      { type: 'pet', name: 'Rex', categoryId: 4, status: 'available', externalId: 'category 4' },
    ]
    const text = lines.map((line) => JSON.stringify(line)).join('\n')
    const { changes } = await cli.json(['import', '--dry-run'], text)
    assert.deepEqual([changes.pets.added, changes.categories.added], [2, 2])
  })

  test('shows what would change, and changes nothing', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], '{"name":"one","categoryId":1}\n{"externalId":"b","name":"two","categoryId":1}')
    const before = await contentsOf(cli.env)
    const text = [
      '{"id":1,"name":"one","categoryId":1,"status":"available"}',
      '{"externalId":"b","name":"changed","categoryId":1}',
      '{"externalId":"c","name":"new","categoryId":1}',
      '{"externalId":"c","name":"again","categoryId":1}',
      '{"name":"wrong"}',
    ].join('\n')
    const { code, stdout } = await cli.run(['import', '--dry-run', '--json'], text)
    assert.deepEqual(JSON.parse(stdout), {
      dryRun: true,
      pets: { added: 1, updated: 2, unchanged: 1 },
      categories: { added: 0, updated: 0, unchanged: 0 },
      orders: 0,
      keys: 0,
      changes: { ...byResource(noCounts), pets: { added: 1, changed: 2, unchanged: 1 } },
      wrongLines: 1,
      problems: [{ line: 5, reason: 'categoryId is required' }],
    })
    assert.equal(code, 1)
    assert.match(
      await cli.ok(['import', '--dry-run'], '{"name":"x","categoryId":1}'),
      /^This would add 1 animal, /,
    )
    assert.deepEqual(await contentsOf(cli.env), before)
  })

  test('needs no database and creates none', async (t) => {
    const cli = await cliOnNewDatabase(t, {}, { isBare: true })
    for (const _ of [1, 2])
      assert.match(
        await cli.ok(['import', '--dry-run'], '{"name":"x","categoryId":1}'),
        /^This would add 1 animal, /,
      )
  })
})

test('an interrupted import continues after the last line that it has committed', async (t) => {
  const cli = await cliOnNewDatabase(t)
  await cli.ok(['import'], '{"name":"stop","categoryId":1}')
  const change = (text: string) =>
    inDatabase(cli.env, (database) => database.write((trx) => sql.raw(text).execute(trx)))
  await change(`CREATE UNIQUE INDEX stop ON pets (name) WHERE name = 'stop'`)
  const added = Array.from({ length: 12_000 }, (_, at) => `{"name":"new ${at}","categoryId":1}`)
  const text = [...added, '{"name":"stop","categoryId":1}', ...added].join('\n')
  const { code } = await cli.run(['import'], text)
  assert.equal(code, 1)
  const interrupted = (await petsIn(cli)).length - 1
  assert.ok(interrupted > 0 && interrupted <= 12_000)
  const [record] = (await contentsOf(cli.env)).imports as [string]
  assert.equal(record.split(',')[1], String(interrupted))

  const dryRun = await cli.json(['import', '--dry-run'], text)
  assert.deepEqual([dryRun.resumedAfterLine, dryRun.pets.added], [interrupted, 24_001 - interrupted])
  assert.match(
    await cli.ok(['import', '--dry-run'], text),
    new RegExp(
      `^The import would continue after line ${interrupted}, where it was interrupted\\. This would add `,
    ),
  )
  await change('DROP INDEX stop')
  const { resumedAfterLine, pets } = await cli.json(['import'], text)
  assert.deepEqual([resumedAfterLine, pets], [interrupted, 24_001 - interrupted])
  assert.equal((await petsIn(cli)).length, 24_002)
  assert.deepEqual((await contentsOf(cli.env)).imports, [])
})

test('a large file is imported in bounded memory while a server answers', async (t) => {
  const count = 50_000
  const file = join(folderFor(t), 'large.ndjson')
  const line = (id: number) =>
    `{"id":${id},"name":"Pet ${id}","categoryId":${id % 50},"externalId":"e${id}"}\n`
  writeFileSync(file, Array.from({ length: count }, (_, at) => line(at + 1)).join(''))
  const server = await serverFor(t, { PETSTORE_ADMIN_KEY: adminKey })
  // In KiB.
  const report = 'process.on("exit",()=>console.log(process.resourceUsage().maxRSS))'
  const { ended } = spawnPetstore(['import', file, '--json'], server.databaseEnv, {
    nodeOptions: [preloadOption(report)],
  })
  let isImporting = true
  const statuses = new Set<number>()
  const reader = (async () => {
    while (isImporting) {
      statuses.add((await server.request('GET', '/v1/pets?limit=5', { key: adminKey })).status)
      const body = { name: 'during the import', categoryId: 1 }
      statuses.add((await server.request('POST', '/v1/pets', { key: adminKey, body })).status)
    }
  })()
  const { code, stdout, stderr } = await ended
  isImporting = false
  await reader
  assert.equal(code, 0, stderr)
  const [result = '', maxRss] = lines(stdout)
  assert.equal(JSON.parse(result).pets, count)
  assert.deepEqual([...statuses].toSorted(), [200, 201])
  assert.ok(Number(maxRss) < 200 * 1024, `${maxRss} KiB`)
})
