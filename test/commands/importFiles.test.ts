import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { lineBytesMax } from '../../src/imports/csv/readText.ts'
import {
  assertCommandFails,
  cliOnNewDatabase,
  countsOf,
  importOfNew,
  int64Min,
  lines,
  petsIn,
} from '../support/commands.ts'
import { contentsOf } from '../support/engine.ts'
import { folderFor } from '../support/servers.ts'

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
    assert.deepEqual(await cli.json(['import', file]), {
      ...importOfNew({ pets: 3 }),
      unusedColumns: ['note'],
    })
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
      /^Line 3: categoryId must be the id or the name of a category, but is "one" .*\nLine 5: has 3 columns, but the header has 2\nLine 6: name is required\nLine 7: name has a quotation mark that is not closed\nNothing was imported\.\n$/,
    ],
  ]
  for (const [what, args, text, code, message] of wrong) {
    test(`rejects ${what}, and changes nothing`, async (t) => {
      const cli = await cliOnNewDatabase(t)
      // The first command notes the environment.
      await cli.export()
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

  test('that is neither text nor an exact integer is a wrong line', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const values = ['12345678901234567890123', '0.5', 'true', '["q"]', '{"a":1}']
    const text = ['null', '"q"', ...values]
      .map((chip) => `{"chip":${chip},"name":"x","categoryId":1}`)
      .join('\n')
    const { code, stderr } = await cli.run(['import', '--external-id', 'chip', '--skip-bad'], text)
    assert.equal(code, 3)
    const reason = 'chip must be a string or an integer of at most 64 bits'
    assert.deepEqual(
      stderr.split('\n').slice(0, values.length),
      values.map((_, index) => `Line ${index + 3}: ${reason}`),
    )
    const found = (await petsIn(cli)).map(({ externalId }) => externalId)
    assert.deepEqual(found, [undefined, 'q'])
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
    const long = `{"name":"${'x'.repeat(lineBytesMax)}"}`
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
})

describe('an import of profiles', { concurrency: 2 }, () => {
  const dateIn = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 10)
  const text = (fields: string) =>
    `{"id":1,"name":"Luna","categoryId":1}\n{"type":"profile","id":1,${fields}}\n`

  test('accepts a birth date that is today somewhere', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const birthDate = dateIn(13)
    await cli.ok(['import'], text(`"birthDate":"${birthDate}"`))
    assert.ok((await cli.export()).includes(`"birthDate":"${birthDate}"`))
  })

  for (const [what, fields, message] of [
    ['a birth date in the future', `"birthDate":"${dateIn(48)}"`, /^Line 2: .*birthDate.* future/],
    ['an attribute that is not kept', '"attributes":{"__proto__":"x"}', /^Line 2: .*attributes.*__proto__/],
  ] as const)
    test(`rejects ${what}`, async (t) => {
      const cli = await cliOnNewDatabase(t)
      assertCommandFails(await cli.run(['import'], text(fields)), 1, message)
      assert.deepEqual(await petsIn(cli), [])
    })
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
})
