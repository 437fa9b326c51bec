import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { assertCommandFails, cliOnNewDatabase, lines } from '../support/commands.ts'
import { animalsIn, importFixture } from '../support/importedStore.ts'
import { folderFor } from '../support/servers.ts'

const messy = ['import', importFixture('messy'), '--date-order', 'dmy', '--currency', 'eur']
const csv = (...rows: string[]) => rows.map((row) => `${row}\n`).join('')

describe('a messy spreadsheet', { concurrency: 2 }, () => {
  test('a dry run says what is recognized, what is not, and what is wrong', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const before = await cli.export()
    const { code, stdout, stderr } = await cli.run([...messy, '--create-categories', '--dry-run'])
    assert.equal(code, 1)
    assert.deepEqual(lines(stderr), [
      'Line 33: D.O.B. must be a date such as 2026-01-31, but is "2022-02-30"',
      'Line 35: Pet Name is required',
    ])
    assert.deepEqual(lines(stdout), [
      'This would add 28 animals, change 0 and leave 0 unchanged. 2 lines are wrong. Nothing was changed.',
      'Would add 6 categories: dog, Cat, Rabbit, Birds, Guinea pig, Tortoise.',
      'Columns that are not used: Favourite toy.',
      lines(stdout)[3] ?? '',
    ])
    assert.match(
      lines(stdout)[3] ?? '',
      /^Columns that are used: Ref \(externalId\), Pet Name \(name\), Type of animal \(species\), /,
    )
    assert.equal(await cli.export(), before)
  })

  test('cannot change the terminal', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = csv(
      'Name,Species,Photo,\u001b[31mToy',
      'Rex,Dog,\u001b[32mrex.jpg,',
      'Bello,\u001b[33mCat,,',
    )
    const run = (input: string, ...args: string[]) =>
      cli.run(['import', '--format', 'csv', '--photos', ...args], input)
    const runs = [
      await run(text, '--dry-run'),
      await run(text, '--create-categories'),
      await run(text.replace('Name', '\u001b[34mNone')),
    ]
    const shown = runs.map(({ stdout, stderr }) => stdout + stderr).join('')
    for (const part of [
      '[31mToy',
      '\ufffd[34mNone',
      'photo \ufffd[32mrex.jpg',
      'but is "\ufffd[33mCat"',
      'Dog, \ufffd[33mCat',
    ])
      assert.ok(shown.includes(part), shown)
    assert.doesNotMatch(shown.replaceAll('\n', ''), /\p{Cc}/u)
  })

  test('is imported without its wrong lines, which a report has with the reason', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const report = join(folderFor(t), 'wrong.csv')
    const failed = await cli.run([...messy, '--create-categories'])
    assertCommandFails(failed, 1, /\nNothing was imported\.\n$/)
    const args = [...messy, '--create-categories', '--skip-bad', '--report', report]
    const { code, stdout } = await cli.run(args)
    assert.equal(code, 3)
    assert.deepEqual(lines(stdout), [
      'Imported 28 animals: 28 added, 0 changed, 0 unchanged.',
      'Left out 2 wrong lines.',
      'Added 6 categories: dog, Cat, Rabbit, Birds, Guinea pig, Tortoise.',
      'Columns that are not used: Favourite toy.',
    ])
    const reported = readFileSync(report, 'utf8')
    assert.match(reported, /^line,reason,Ref,Pet Name,Type of animal,/)
    assert.match(reported, /\n33,"D\.O\.B\. must be a date [^\n]*",HT-27,Simba,Cat,Bengal,/)

    // The report can be corrected and imported.
    writeFileSync(report, reported.replaceAll('2022-02-30', '2022-02-28').replace('HT-29,,', 'HT-29,Penny,'))
    const corrected = await cli.json(['import', report, '--date-order', 'dmy', '--currency', 'EUR'])
    assert.deepEqual(corrected.changes.pets, { added: 2, changed: 0, unchanged: 0 })
    assert.deepEqual(corrected.unusedColumns, ['line', 'reason', 'Favourite toy'])
    const animals = await animalsIn(cli)
    assert.equal(Object.keys(animals).length, 30)
    assert.equal(animals.Simba?.profile.birthDate, '2022-02-28')
  })

  test('needs the categories, and says so', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(
      ['import'],
      '{"type":"category","id":1,"name":"Dogs"}\n{"type":"category","id":2,"name":"Cats"}',
    )
    const { stderr } = await cli.run([...messy, '--dry-run'])
    const unknown = lines(stderr).filter((line) => line.includes('category'))
    assert.equal(unknown.length, 7)
    assert.equal(
      unknown[0],
      'Line 12: Type of animal must be the id or the name of a category, but is "Rabbit" (the categories are Dogs, Cats; --create-categories adds new ones)',
    )
  })
})

test('a file without external ids is imported with a warning, which a file with them does not get', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const warning =
    'No column has the external id: importing this file again would add all its animals again. --external-id names the column.'
  const run = async (file: string, ...options: string[]) =>
    lines(await cli.ok(['import', '--format', 'csv', '--create-categories', ...options], file)).slice(1)
  const withoutIds = csv('Name,Kind,Paw No.', 'Milo,Dogs,1')
  assert.deepEqual(await run(withoutIds, '--dry-run'), [
    'Would add 1 category: Dogs.',
    'Columns that are not used: Paw No.',
    warning,
    'Columns that are used: Name (name), Kind (species).',
  ])
  const notUsed = 'Columns that are not used: Paw No.'
  assert.deepEqual(await run(withoutIds), ['Added 1 category: Dogs.', notUsed, warning])
  assert.deepEqual(await run(withoutIds, '--external-id', 'Paw No.'), [])
  assert.deepEqual(await run(csv('Name,Kind,Shelter No.', 'Luna,Dogs,2')), [])
  assert.deepEqual(await run(csv('id,name,categoryId', '7,Otto,1')), [])
})

describe('the columns of version 1.0', { concurrency: 2 }, () => {
  test('keep their meaning: id is the id here, and a name keeps its spaces', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = csv('id,externalId,name,categoryId,status', "7,' x1, Milo ,-3,sold", '8,,Luna,4,')
    await cli.ok(['import', '--format', 'csv'], text)
    const animals = await animalsIn(cli)
    assert.deepEqual(
      Object.values(animals).map(({ pet: { id, name, categoryId, status, externalId, createdAt } }) => [
        ...[id, name, categoryId, status],
        ...[externalId, createdAt],
      ]),
      [
        [7, ' Milo ', -3, 'sold', "' x1", undefined],
        [8, 'Luna', 4, 'available', undefined, undefined],
      ],
    )
  })

  test('can be mapped as before, and take words too', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], '{"type":"category","id":5,"name":"Dogs"}')
    const text = csv('Pet,Kind,State', 'Milo,5,available', 'Luna,dog,Adopted')
    await cli.ok(
      ['import', '--format', 'csv', '--map', 'Pet=name', '--map', 'Kind=categoryId', '--map', 'State=status'],
      text,
    )
    const { Milo, Luna } = await animalsIn(cli)
    assert.deepEqual([Milo?.pet.categoryId, Luna?.pet.categoryId, Luna?.pet.status], [5, 5, 'sold'])
  })
})

test('a report in NDJSON has lines and reasons, as in version 1.0', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const report = join(folderFor(t), 'bad.ndjson')
  await cli.run(['import', '--format', 'csv', '--report', report], csv('name,categoryId', ',1'))
  assert.deepEqual(
    lines(readFileSync(report, 'utf8')).map((line) => JSON.parse(line)),
    [{ line: 2, reason: 'name is required' }],
  )
})

test('a report has lines whose quotation marks are wrong too', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const report = join(folderFor(t), 'bad.csv')
  const text = csv('name,categoryId,notes', '"Milo" x,1,', 'Luna,x,"=1+1"', 'Rex,1,')
  await cli.run(['import', '--format', 'csv', '--report', report], text)
  assert.deepEqual(lines(readFileSync(report, 'utf8')), [
    'line,reason,name,categoryId,notes',
    '2,name has text after its closing quotation mark,"""Milo"" x,1,"',
    `3,"categoryId must be the id or the name of a category, but is ""x"" (there is none; --create-categories adds new ones)",Luna,x,'=1+1`,
  ])
})

test('a report has exactly the wrong lines, as the import has read them', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const report = join(folderFor(t), 'bad.csv')
  const rows = ['Ada,Guinea pig,', 'Bea,Guinea pig,"begin', 'Cleo,Guinea pig,x', 'Dot,Guinea pig,end"']
  const text = csv('Name,Species,Notes', ...rows, ',Guinea pig,z')
  const args = ['import', '--format', 'csv', '--create-categories', '--skip-bad', '--report', report]
  const { stdout } = await cli.run(args, text)
  assert.match(stdout, /^Imported 2 animals/)
  assert.deepEqual(lines(readFileSync(report, 'utf8')), [
    'line,reason,Name,Species,Notes',
    '3,Notes contains lines that look like records: a quotation mark is probably missing,"Bea,Guinea pig,""begin"',
    '5,Notes ends with a quotation mark but does not begin with one,"Dot,Guinea pig,end"""',
    '6,Name is required,,Guinea pig,z',
  ])
})

describe('usage', () => {
  for (const [args, message] of [
    [['--from', 'asm3', '--format', 'ndjson'], /^--from is for CSV only\.\n/],
    [['--photos'], /^--photos is for CSV only\.\n/],
    [
      ['--from', 'x', '--format', 'csv'],
      /Allowed choices are asm3, shelterluv, petpoint, rescuegroups, petfinder/,
    ],
    [['--date-order', 'xyz', '--format', 'csv'], /Allowed choices are dmy, mdy, ymd/],
    [
      ['--currency', 'gold', '--format', 'csv'],
      /^--currency must be a code of ISO 4217 such as EUR, but is "gold"/,
    ],
    [['--photos-from', '/nowhere', '--format', 'csv'], /^--photos-from must be a folder, but is "\/nowhere"/],
    [
      ['--map', 'a=mood', '--format', 'csv'],
      /^--map must be HEADER=FIELD with one of the fields id, externalId, /,
    ],
  ] as const)
    test(args.join(' '), async (t) => {
      const cli = await cliOnNewDatabase(t)
      assertCommandFails(await cli.run(['import', ...args], csv('a')), 2, message)
    })
})
