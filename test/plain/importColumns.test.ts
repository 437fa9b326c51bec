import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { FileError } from '../../src/imports/csv/problem.ts'
import { usualHeadings } from '../../src/imports/headings.ts'
import { headingKey } from '../../src/imports/values/simplify.ts'
import { readAnimals } from '../support/importedAnimals.ts'

const read = (name: string) =>
  readFileSync(new URL(`../fixtures/imports/${name}.csv`, import.meta.url), 'utf8')
const usedOf = async (header: string, options = {}) => {
  const { columns } = await readAnimals(`${header}\n`, options)
  return columns.used.map(({ heading, fields }) => `${heading}=${fields.join()}`)
}

describe('a messy spreadsheet', () => {
  const options = { dateOrder: 'dmy', currency: 'EUR' } as const

  test('is read, and only the lines that are really wrong are reported', async () => {
    const { animals, problems, columns } = await readAnimals(read('messy'), options)
    assert.deepEqual(problems, [
      { line: 33, reason: 'D.O.B. must be a date such as 2026-01-31, but is "2022-02-30"' },
      { line: 35, reason: 'Pet Name is required' },
    ])
    assert.equal(animals.length, 28)
    assert.deepEqual(columns.unused, ['Favourite toy'])
    const [milo] = animals
    assert.deepEqual(milo, {
      externalId: 'HT-1',
      name: 'Milo',
      category: 'dog',
      kind: 'dog',
      status: 'available',
      profile: {
        species: 'dog',
        breeds: ['Labrador / Poodle'],
        sex: 'male',
        birthDate: '2022-02-01',
        size: 'large',
        colors: ['Black'],
        altered: true,
        vaccinated: true,
        goodWith: { children: 'yes', dogs: 'yes', cats: 'no' },
        fee: { amount: 15_000, currency: 'EUR' },
        arrivedOn: '2026-09-05',
        description: 'Milo loves water, mud and people.\nHe is looking for a garden.',
      },
    })
  })

  test('every spelling of a value is understood', async () => {
    const { animals } = await readAnimals(read('messy'), options)
    const valuesOf = (field: string) =>
      animals.map(({ profile }) => (profile as Record<string, unknown>)[field] ?? null)
    const count = (field: string, value: unknown) => valuesOf(field).filter((each) => each === value).length
    assert.deepEqual(new Set(animals.map(({ status }) => status)), new Set(['available', 'pending', 'sold']))
    assert.deepEqual(
      new Set(valuesOf('species')),
      new Set(['dog', 'cat', 'rabbit', 'Birds', 'Bird', 'Guinea pig', 'guinea pigs', 'Tortoise']),
    )
    assert.equal(count('sex', null), 2, 'an unknown sex does not leave an animal out')
    assert.equal(count('altered', null), 3)
    assert.equal(animals.find(({ externalId }) => externalId === 'HT-15')?.name, '=Formula')
    const born = animals.filter(({ profile, approximateBirth }) => profile?.birthDate || approximateBirth)
    const grouped = animals.filter(({ profile }) => profile?.ageGroup)
    assert.deepEqual([born.length, grouped.length], [23, 5])
  })
})

describe('columns', () => {
  test('are found by their usual headings, in any spelling', async () => {
    assert.deepEqual(await usedOf('NAME,species,Good With Dogs?,date-of-birth,Micro chip,ID,Memo'), [
      'NAME=name',
      'species=species',
      'Good With Dogs?=goodWith.dogs',
      'date-of-birth=birthDate',
      'Micro chip=microchip',
      'ID=externalId',
      'Memo=staffNotes',
    ])
  })

  test('id is the id here only beside categoryId', async () => {
    assert.deepEqual(await usedOf('id,name,categoryId'), ['id=id', 'name=name', 'categoryId=categoryId'])
    assert.deepEqual(await usedOf('id,name,category'), ['id=externalId', 'name=name', 'category=category'])
  })

  test('beside categoryId, the columns of a pet have their own names', async () => {
    assert.deepEqual(await usedOf('NAME,CategoryID,Ref,number,category,availability,breed'), [
      'NAME=name',
      'CategoryID=categoryId',
      'breed=breeds',
    ])
  })

  test('of which several could be one field: the usual one is used', async () => {
    const { columns } = await readAnimals('Name,Type,Species,Breed,Secondary breed,Breed 1\n')
    assert.deepEqual(
      columns.used.map(({ heading }) => heading),
      ['Name', 'Species', 'Secondary breed', 'Breed 1'],
    )
    assert.deepEqual(columns.unused, ['Type', 'Breed'])
  })

  test('are chosen by the caller, or ignored', async () => {
    const map = new Map([
      ['Tier', 'name'],
      ['Art', 'category'],
      ['Mood', 'attributes'],
      ['Notes', ''],
    ])
    const { columns, animals } = await readAnimals('Tier,Art,Name,Mood,Notes\nMilo,Dog,x,happy,y\n', { map })
    assert.deepEqual(columns.unused, ['Name', 'Notes'])
    assert.deepEqual(animals, [{ name: 'Milo', category: 'Dog', profile: { attributes: { Mood: 'happy' } } }])
  })

  for (const [what, header, options, message] of [
    [
      'no name',
      'a,category',
      { columnAdvice: (field: string) => `Name the ${field}.` },
      /has no column name\. Its columns are: a, category\. Name the name\./,
    ],
    ['no category', 'name,b', {}, /has no column category\./],
    ['an unknown heading', 'name,category', { map: new Map([['x', 'size']]) }, /has no column "x"\./],
    ['two names', 'name,Name,category', {}, /has two columns for name\./],
    ['a blank heading after 500 others', `name,category${',x'.repeat(498)},`, {}, /has 501 columns/],
  ] as const)
    test(`${what} is an error`, async () => {
      await assert.rejects(readAnimals(`${header}\nx,y\n`, options), (error) => {
        assert.ok(error instanceof FileError)
        assert.match(error.message, message)
        return true
      })
    })

  test('are listed in the guide', () => {
    const guide = readFileSync(new URL('../../docs/guides/move-in.md', import.meta.url), 'utf8')
    const rowOf = new Map(
      [...guide.matchAll(/^\| `(\S+)` \| [^|]* \| ([^|]*) \|$/gm)].map((row) => [row[1], row[2]]),
    )
    for (const [field, list] of usualHeadings)
      if (!/^photo [2-9]|^photo \d\d/.test(list))
        assert.ok(rowOf.get(field)?.includes(list), `${field}: ${list}`)
  })

  test('each usual heading stands for one field', () => {
    const keys = usualHeadings.flatMap(([, list]) => list.split(', ').map(headingKey))
    assert.deepEqual(
      keys.filter((key, at) => keys.indexOf(key) !== at),
      [],
    )
  })
})
