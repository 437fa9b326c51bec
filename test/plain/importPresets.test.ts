import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { RecognizeOptions } from '../../src/imports/recognize.ts'
import { readAnimals } from '../support/importedAnimals.ts'

const readFixture = async (name: string, options: Partial<RecognizeOptions> = {}) => {
  const text = readFileSync(new URL(`../fixtures/imports/${name}.csv`, import.meta.url), 'utf8')
  const result = await readAnimals(text, options)
  assert.deepEqual(result.problems, [])
  // Everything in the fixtures that must not be imported has this word.
  assert.doesNotMatch(JSON.stringify(result.animals), /secret/i)
  return { ...result, animals: result.animals as readonly Record<string, unknown>[] }
}
const statusesOf = (animals: readonly Record<string, unknown>[]) =>
  animals.map(({ name, status, profile }) => [name, status, (profile as { listed?: boolean }).listed])

describe('ASM3', () => {
  test('all that a profile can hold is read, from all lines of an animal', async () => {
    const { animals, columns } = await readFixture('asm3', { dateOrder: 'dmy' })
    assert.equal(columns.preset?.name, 'asm3')
    assert.deepEqual(animals[0], {
      source: 'asm3',
      externalId: 'D2026001',
      name: 'Bella',
      category: 'Dog',
      kind: 'Dog',
      status: 'available',
      photos: [
        'https://shelter.example/service?method=animal_image&animalid=1',
        'https://shelter.example/service?method=media_file&mediaid=11',
      ],
      profile: {
        species: 'dog',
        breeds: ['Border Collie'],
        colors: ['Black and White'],
        sex: 'female',
        birthDate: '2024-05-31',
        description: 'Bella is clever.\nShe loves to run, and to swim.',
        altered: true,
        houseTrained: true,
        vaccinated: true,
        goodWith: { cats: 'no', dogs: 'yes', children: 'selective' },
        minChildAge: 5,
        microchip: '985112000000001',
        location: 'Kennels',
        arrivedOn: '2026-09-01',
        attributes: { Weight: '12.5', Litter: 'L7' },
        listed: true,
      },
    })
    assert.deepEqual(
      columns.unused.filter((heading) => !/OWNER|PERSON|VET|VACC/.test(heading)),
      [
        'ANIMALID',
        'ANIMALTYPE',
        'ANIMALUNIT',
        'ANIMALWARNING',
        'ANIMALHIDDENDETAILS',
        'ANIMALPICKUPADDRESS',
      ].concat('LOGCOMMENTS'),
    )
  })

  test('movements decide on the status, and nothing that is not offered is listed', async () => {
    const { animals } = await readFixture('asm3', { dateOrder: 'dmy' })
    assert.deepEqual(statusesOf(animals), [
      ['Bella', 'available', true],
      ['Tom', 'sold', true],
      ['Rex', 'available', false],
      ['Reserved', 'pending', true],
      ['Gone', 'available', false],
      ['Foster', 'available', true],
    ])
    const tom = animals[1] as { adoptedOn: string; profile: object }
    assert.equal(tom.adoptedOn, '2026-10-05')
    assert.equal('sex' in tom.profile || 'birthDate' in tom.profile || 'description' in tom.profile, false)
  })

  test('without the order of its dates, the lines say what is missing', async () => {
    const text = readFileSync(new URL('../fixtures/imports/asm3.csv', import.meta.url), 'utf8')
    const { problems } = await readAnimals(text)
    assert.match(
      problems[0]?.reason ?? '',
      /^ANIMALDOB must be a date .* the date order .* but is "31\/05\/2024"/,
    )
  })

  test('what all lines of an animal say together has the limits of a profile', async () => {
    const lines = ['D1,Milo,Dog,Red', 'D1,Milo,,Black', 'D1,Milo,,White', 'D1,Milo,,Brown']
    const text = `ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALCOLOR\n${lines.join('\n')}\n`
    const { animals, problems } = await readAnimals(text)
    assert.deepEqual([animals, problems], [[], [{ line: 2, reason: 'has more than 3 colors' }]])
  })

  test('a column about people cannot be chosen', async () => {
    const map = new Map([['PERSONLASTNAME', 'staffNotes']])
    await assert.rejects(readFixture('asm3', { map }), /can be about people and is never imported/)
  })
})

test('Shelterluv', async () => {
  const { animals, columns } = await readFixture('shelterluv')
  assert.equal(columns.preset?.name, 'shelterluv')
  assert.deepEqual(columns.unused, ['Location', 'Foster Name'])
  assert.equal(animals.length, 3, 'repeated headings are no animals')
  assert.deepEqual(animals[0], {
    source: 'shelterluv',
    externalId: 'A-101',
    name: 'Luna',
    category: 'Dog',
    kind: 'Dog',
    photos: ['https://shelter.example/luna.jpg'],
    approximateBirth: { date: '2024-06-23', toleranceDays: 7 },
    profile: {
      species: 'dog',
      sex: 'female',
      breeds: ['Retriever, Labrador', 'Mix'],
      colors: ['Black'],
      attributes: { Weight: '45.5 lbs' },
      goodWith: { dogs: 'yes', cats: 'no' },
      description: "Luna is sweet.\nShe's ready!",
      altered: true,
      arrivedOn: '2026-09-01',
      listed: true,
    },
  })
  assert.equal(animals[1]?.name, 'A-102', 'an animal without a name has its number')
  const [, unnamed, gone] = animals.map(({ profile }) => profile as { description: string; listed: boolean })
  assert.deepEqual([unnamed?.description.length, gone?.listed], [5_000, false])
})

test('PetPoint', async () => {
  const { animals, columns } = await readFixture('petpoint', { dateOrder: 'mdy' })
  assert.equal(columns.preset?.name, 'petpoint')
  assert.deepEqual(columns.unused, ['Intake Type', 'Intake Subtype', 'Outcome Subtype', 'Outcome Person'])
  assert.deepEqual(animals[0], {
    source: 'petpoint',
    externalId: 'A0001',
    name: 'Daisy',
    category: 'Dog',
    kind: 'Dog',
    status: 'available',
    profile: {
      listed: true,
      attributes: { ARN: '12345' },
      species: 'dog',
      breeds: ['Terrier, Pit Bull', 'Mix'],
      sex: 'female',
      altered: true,
      birthDate: '2023-05-31',
      location: 'Adoption Floor',
      arrivedOn: '2026-09-15',
    },
  })
  assert.deepEqual(statusesOf(animals), [
    ['Daisy', 'available', true],
    ['A0002', 'sold', undefined],
    ['Duke', undefined, false],
  ])
  assert.equal(animals[1]?.adoptedOn, '2026-10-20')
})

describe('RescueGroups', () => {
  test('a report', async () => {
    const { animals, columns } = await readFixture('rescuegroups-report')
    assert.equal(columns.preset?.name, 'rescuegroups')
    assert.deepEqual(columns.unused, ['Foster Name'])
    assert.deepEqual(animals[0], {
      source: 'rescuegroups',
      externalId: '500',
      name: 'Coco',
      category: 'Dog',
      kind: 'Dog',
      status: 'available',
      photos: ['https://pics.example/1.jpg', 'https://pics.example/2.jpg'],
      profile: {
        attributes: { 'Rescue ID': 'R-1' },
        listed: true,
        species: 'dog',
        breeds: ['Poodle', 'Maltese'],
        mixed: true,
        sex: 'female',
        ageGroup: 'young',
        colors: ['White'],
        size: 'small',
        altered: true,
        houseTrained: true,
        specialNeeds: false,
        goodWith: { dogs: 'yes', cats: 'no' },
        description: 'Coco sings.',
      },
    })
    assert.deepEqual(statusesOf(animals), [
      ['Coco', 'available', true],
      ['Ginger', 'pending', true],
      ['Old Tom', undefined, false],
      ['Happy', 'sold', undefined],
    ])
  })

  test('the file of its import', async () => {
    const { animals, columns } = await readFixture('rescuegroups-import')
    assert.deepEqual([columns.preset?.name, columns.unused], ['rescuegroups', []])
    assert.deepEqual(animals[0], {
      source: 'rescuegroups',
      externalId: 'E1',
      name: 'Biscuit',
      category: 'Dog',
      kind: 'Dog',
      status: 'available',
      photos: ['biscuit-1.jpg'],
      profile: {
        attributes: { 'Rescue ID': 'R-9', Pattern: 'Brindle' },
        listed: true,
        species: 'dog',
        breeds: ['Corgi'],
        mixed: false,
        sex: 'male',
        ageGroup: 'adult',
        goodWith: { dogs: 'yes', children: 'no' },
        houseTrained: true,
        specialNeeds: false,
        altered: true,
        size: 'xlarge',
        vaccinated: true,
        colors: ['Red'],
        coat: 'medium',
        courtesy: true,
        description: 'Biscuit\nbarks.',
        videoUrl: 'https://video.example/1',
      },
    })
  })
})

describe('Petfinder', () => {
  test('all that a profile can hold is read', async () => {
    const { animals, columns } = await readFixture('petfinder', { currency: 'USD' })
    assert.equal(columns.preset?.name, 'petfinder')
    assert.deepEqual(columns.unused, ['Internal', 'display_adoption_fee'])
    assert.deepEqual(animals[0], {
      source: 'petfinder',
      externalId: 'P1',
      name: 'Pepper',
      category: 'Dog',
      kind: 'Dog',
      status: 'available',
      photos: ['https://pf.example/1.jpg', 'https://pf.example/6.jpg'],
      profile: {
        breeds: ['Labrador Retriever', 'Poodle'],
        sex: 'female',
        size: 'large',
        ageGroup: 'adult',
        description: 'Pepper is calm.\nShe likes naps.',
        species: 'dog',
        listed: true,
        vaccinated: true,
        altered: true,
        goodWith: { dogs: 'yes', cats: 'no' },
        houseTrained: true,
        specialNeeds: true,
        mixed: true,
        arrivedOn: '2026-09-01',
        birthDate: '2022-02-03',
        colors: ['Black', 'White', 'Brown'],
        coat: 'short',
        fee: { amount: 15_000, currency: 'USD' },
        specialNeedsNotes: 'Needs pills.',
        attributes: {
          'Other animals': 'no',
          'Note about other animals': 'No birds.',
          Tags: 'calm, friendly',
        },
      },
    })
    assert.deepEqual(statusesOf(animals), [
      ['Pepper', 'available', true],
      ['Salt', 'pending', true],
      ['Basil', 'sold', undefined],
      ['Stray', undefined, false],
      ['Hold', 'pending', true],
    ])
  })

  test('a fee that is not shown, or waived, is not read', async () => {
    const { animals } = await readFixture('petfinder', { currency: 'USD' })
    const [, salt, basil] = animals.map(({ profile }) => profile as Record<string, unknown>)
    assert.equal(salt?.fee, undefined)
    assert.deepEqual([basil?.fee, basil?.attributes], [undefined, { 'Adoption fee': 'waived' }])
  })
})

describe('beside the columns of a system', () => {
  test('a column that the caller has chosen for a field replaces that of the system', async () => {
    const map = new Map([
      ['Rescue ID', 'externalId'],
      ['Nickname', 'name'],
      ['Mood', 'status'],
      ['Other breed', 'breeds'],
    ])
    const text = [
      'Animal ID,Rescue ID,Name,Nickname,Species,Status,Mood,Primary Breed,Other breed',
      '500,R-1,Coco,Co,Dog,Available,reserved,Poodle,Pug',
      '501,R-2,Tom,To,Cat,Archived,available,,',
    ].join('\n')
    const { animals, problems } = await readAnimals(text, { map })
    assert.deepEqual(problems, [])
    assert.deepEqual(animals, [
      {
        ...{ source: 'rescuegroups', externalId: 'R-1', name: 'Co', category: 'Dog', kind: 'Dog' },
        ...{ status: 'pending', profile: { species: 'dog', listed: true, breeds: ['Poodle', 'Pug'] } },
      },
      {
        ...{ source: 'rescuegroups', externalId: 'R-2', name: 'To', category: 'Cat', kind: 'Cat' },
        ...{ status: 'available', profile: { species: 'cat', listed: false } },
      },
    ])
  })

  test('no texts are read by their usual headings', async () => {
    const text = [
      'Animal ID,Name,Species,In Custody,Internal notes,Memo,Bio,Kennel,Size',
      'A-1,Luna,Dog,yes,secret,secret,secret,secret,small',
    ].join('\n')
    const { animals, columns } = await readAnimals(text)
    assert.equal(columns.preset?.name, 'shelterluv')
    assert.deepEqual(animals[0]?.profile, { species: 'dog', listed: true, size: 'small' })
  })
})

test('--from names the system if the headings do not', async () => {
  const text = 'ANIMALCODE,ANIMALNAME,ANIMALSPECIES\nX1,Milo,Cat\n'
  const { animals } = await readAnimals(text, { from: 'asm3' })
  assert.deepEqual([animals[0]?.source, animals[0]?.externalId], ['asm3', 'X1'])
  await assert.rejects(readAnimals('a,b\nc,d\n', { from: 'asm3' }), /^Error: The header has no column name\./)
})
