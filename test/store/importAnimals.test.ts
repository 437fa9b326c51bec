import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertCommandFails, cliOnNewDatabase, lines } from '../support/commands.ts'
import { contentsOf } from '../support/engine.ts'
import { animalsIn, categoriesIn, importFixture } from '../support/importedStore.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { serviceFor } from '../support/service.ts'

const csv = (...rows: string[]) => rows.map((row) => `${row}\n`).join('')
const fromText = ['import', '--format', 'csv', '--create-categories']

describe('an import of animals from CSV', { concurrency: 2 }, () => {
  test('adds them with their profiles, and changes only what has changed', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const args = ['import', importFixture('petfinder'), '--create-categories', '--currency', 'USD']
    const dry = await cli.json([...args, '--dry-run'])
    assert.deepEqual(
      [dry.changes.pets, dry.changes.categories.added, dry.from, dry.newCategories],
      [{ added: 5, changed: 0, unchanged: 0 }, 2, 'petfinder', ['Dog', 'Cat']],
    )
    const first = await cli.json(args)
    assert.deepEqual(first.changes.pets, { added: 5, changed: 0, unchanged: 0 })
    assert.equal(first.changes.categories.added, 2)
    assert.deepEqual(await categoriesIn(cli), [
      [1, 'Dog'],
      [2, 'Cat'],
    ])
    const { Pepper, Stray } = await animalsIn(cli)
    assert.deepEqual(
      [Pepper?.pet.source, Pepper?.pet.externalId, Pepper?.pet.categoryId, Pepper?.pet.status],
      ['petfinder', 'P1', 1, 'available'],
    )
    assert.deepEqual(Pepper?.profile.fee, { amount: 15_000, currency: 'USD' })
    assert.deepEqual(Pepper?.profile.goodWith, { children: null, dogs: 'yes', cats: 'no' })
    assert.equal(Pepper?.profile.description, 'Pepper is calm.\nShe likes naps.')
    assert.equal(Stray?.profile.listed, false)

    const before = await contentsOf(cli.env)
    const again = await cli.json(args)
    assert.deepEqual(again.changes.pets, { added: 0, changed: 0, unchanged: 5 })
    const after = await contentsOf(cli.env)
    assert.deepEqual([after.pets, after.profiles], [before.pets, before.profiles])
    assert.deepEqual((await cli.json([...args, '--dry-run'])).changes.pets, {
      added: 0,
      changed: 0,
      unchanged: 5,
    })
  })

  test('finds categories by name, singular or plural, and by id', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const categories = [
      { type: 'category', id: 3, name: 'Dogs' },
      { type: 'category', id: 4, name: 'Guinea pig' },
      { type: 'category', id: 5, name: 'Puppies' },
    ]
    await cli.ok(['import'], categories.map((each) => JSON.stringify(each)).join('\n'))
    const text = csv(
      'name,category',
      ...['a,dog', 'b,DOGS', 'c,canine', 'd,guinea pigs', 'e,puppy', 'f,77', 'g,Ferret', 'h,ferrets'],
    )
    const { newCategories } = await cli.json(fromText, text)
    assert.deepEqual(newCategories, ['Ferret'])
    const animals = Object.values(await animalsIn(cli))
    assert.deepEqual(
      animals.map(({ pet }) => pet.categoryId),
      [3, 3, 3, 4, 5, 77, 1, 1],
    )
  })

  test('leaves what the file does not say, also inside objects', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const header = 'Animal ID,Name,Species,Good with dogs,Good with cats,Weight,Description,Status'
    await cli.ok(fromText, csv(header, '1,Milo,Dog,yes,no,12 kg,Kind.,Pending'))
    await cli.ok(fromText, csv('Animal ID,Name,Species,Good with cats,Mood', '1,Milo,Dog,yes,good'))
    await cli.ok(
      [...fromText, '--map', 'Mood=attributes'],
      csv('Animal ID,Name,Species,Mood', '1,Milo,Dog,good'),
    )
    const { Milo } = await animalsIn(cli)
    assert.deepEqual(Milo?.profile.goodWith, { children: null, dogs: 'yes', cats: 'yes' })
    assert.deepEqual(Milo?.profile.attributes, { Weight: '12 kg', Mood: 'good' })
    assert.deepEqual([Milo?.profile.description, Milo?.pet.status], ['Kind.', 'pending'])
  })

  test('keeps a birth date that an age agrees with, and one that is exact', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const ages = (age: string) => csv('Animal ID,Name,Species,Age', `1,Milo,Dog,${age}`)
    await cli.ok(fromText, ages('2 years'))
    const birth = async () => (await animalsIn(cli)).Milo?.profile
    const first = await birth()
    assert.equal(first.birthDateEstimated, true)
    const same = await cli.json(fromText, ages('2 years 3 weeks'))
    assert.equal(same.changes.pets.changed, 1, 'three weeks are more than two')
    const estimated = await birth()
    assert.deepEqual((await cli.json(fromText, ages('2.5 years'))).changes.pets.unchanged, 1)
    assert.equal((await birth()).birthDate, estimated.birthDate)
    await cli.ok(
      fromText,
      csv('Animal ID,Name,Species,Born,Birth date estimated', '1,Milo,Dog,2015-05-05,no'),
    )
    await cli.ok(fromText, ages('1 month'))
    assert.equal((await birth()).birthDate, '2015-05-05')
    await cli.ok(fromText, csv('Animal ID,Name,Species,Born,Age', '2,Rex,Dog,2020-05-05,2 years'))
    const { birthDate, birthDateEstimated } = (await animalsIn(cli)).Rex?.profile ?? {}
    assert.deepEqual([birthDate, birthDateEstimated], ['2020-05-05', null])
  })

  test('of several lines about one animal merges them for a system that writes such lines', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const args = ['import', importFixture('asm3'), '--create-categories', '--date-order', 'dmy']
    const { changes, unusedColumns } = await cli.json(args)
    assert.deepEqual(changes.pets, { added: 6, changed: 0, unchanged: 0 })
    assert.ok(unusedColumns.includes('PERSONLASTNAME'))
    const text = await cli.export()
    assert.doesNotMatch(text, /secret/i)
    const { Bella, Tom } = await animalsIn(cli)
    assert.equal(Bella?.profile.vaccinated, true)
    assert.deepEqual([Tom?.pet.status, Tom?.pet.adoptedOn], ['sold', '2026-10-05'])
  })

  test('does not know when an animal was adopted unless the file has the date', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const file = (status: string, date = '') =>
      csv('Animal ID,Name,Species,Status,Adoption date', `1,Milo,Dog,${status},${date}`)
    const adoption = async (name: string) => {
      const { pet } = (await animalsIn(cli))[name] ?? {}
      return [pet.status, pet.adoptedOn]
    }
    await cli.ok(fromText, file('adopted'))
    assert.deepEqual(await adoption('Milo'), ['sold', undefined])
    await cli.ok(fromText, file('available'))
    await cli.ok(fromText, file('adopted'))
    assert.deepEqual(await adoption('Milo'), ['sold', undefined], 'also if it was available before')
    await cli.ok(fromText, file('adopted', '2026-10-05'))
    await cli.ok(fromText, file('adopted'))
    assert.deepEqual(await adoption('Milo'), ['sold', '2026-10-05'], 'a known date stays')
    await cli.ok(['import'], JSON.stringify({ name: 'Luna', categoryId: 1, status: 'sold' }))
    assert.deepEqual(await adoption('Luna'), ['sold', undefined])
  })

  test('makes an animal available again whose adoption or outcome is over', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const petpoint = (outcome: string) =>
      csv('Animal #,ARN,Animal Name,Species,Outcome Type', `A1,1,Milo,Dog,${outcome}`)
    const asm3 = (movement: string, date: string) =>
      csv(
        'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,MOVEMENTTYPE,MOVEMENTDATE',
        ...[`D1,Luna,Dog,${movement},${date}`, 'D1,Luna,,,'],
      )
    const state = async (name: string) => {
      const { pet, profile } = (await animalsIn(cli))[name] ?? {}
      return [pet.status, profile.listed, pet.adoptedOn]
    }
    await cli.ok(fromText, petpoint('Adoption'))
    await cli.ok(fromText, petpoint('Transfer Out'))
    assert.deepEqual((await state('Milo')).slice(0, 2), ['sold', false])
    await cli.ok(fromText, petpoint(''))
    assert.deepEqual(await state('Milo'), ['available', true, undefined])
    await cli.ok(fromText, asm3('1', '2026-10-05'))
    assert.deepEqual(await state('Luna'), ['sold', true, '2026-10-05'])
    await cli.ok(fromText, asm3('', ''))
    assert.deepEqual(await state('Luna'), ['available', true, undefined])
  })

  test('of which one line is wrong leaves out the other lines of the same animal', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = csv(
      'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALSEX,ANIMALIMAGE',
      ...['D1,Milo,Dog,perhaps,', 'D1,Milo,,,a.jpg', 'D1,Milo,,,b.jpg'],
      ...['D2,Luna,Dog,female,', 'D2,Luna,,perhaps,'],
    )
    const { code, stdout, stderr } = await cli.run([...fromText, '--skip-bad', '--json'], text)
    assert.deepEqual([code, JSON.parse(stdout).changes.pets.added], [3, 1])
    assert.deepEqual(
      lines(stderr).map((line) => line.slice(0, 40)),
      ['Line 2: ANIMALSEX must be male, female o', 'Line 6: ANIMALSEX must be male, female o'],
    )
    assert.equal((await animalsIn(cli)).Luna?.profile.sex, 'female')
  })

  test('says which attributes an animal cannot have besides those that it has', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const names = (letter: string, count: number) =>
      Array.from({ length: count }, (_, at) => `${letter}${at}`)
    const file = (all: readonly string[]): [string[], string] => [
      [...fromText, ...all.flatMap((name) => ['--map', `${name}=attributes`])],
      csv(['Animal ID,Name,Species', ...all].join(), `1,Milo,Dog${',x'.repeat(all.length)}`),
    ]
    await cli.ok(...file(names('a', 20)))
    const { code, stderr } = await cli.run(...file(names('b', 14)))
    assert.deepEqual(
      [code, stderr],
      [3, 'Line 2: These attributes are left out, because an animal can have 32: b12, b13\n'],
    )
  })

  test('is in the history as a change of the command, and searched', async (t) => {
    const cleanup = reverseCleanup(t)
    const cli = await cliOnNewDatabase(cleanup)
    await cli.ok(fromText, csv('Animal ID,Name,Species,Sex', '1,Milo,Dog,male'))
    const server = await serviceFor(cleanup, cli.env)
    const get = async (path: string) => (await server.request('GET', path, { key: server.operatorKey })).json
    const history = await get('/v1/pets/1/history')
    assert.deepEqual(
      history.map(({ type, actor }: { type: string; actor: object }) => [type, actor]),
      [
        ['profile.updated', { command: 'import' }],
        ['pet.created', { command: 'import' }],
      ],
    )
    const { pet, profile } = await get('/v1/listings/1')
    assert.deepEqual([pet.name, profile.sex, profile.species], ['Milo', 'male', 'dog'])
    assert.notEqual(profile.createdAt, null)
  })

  test('with an id of an animal here changes that animal', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], '{"id":9,"name":"Old","categoryId":1,"status":"pending"}')
    const text = csv('id,name,categoryId,sex', '9,New,1,female', ',Other,1,male')
    assert.deepEqual((await cli.json(fromText, text)).changes.pets, { added: 1, changed: 1, unchanged: 0 })
    const { New, Other } = await animalsIn(cli)
    assert.deepEqual([New?.pet.id, New?.profile.sex, New?.pet.status], [9, 'female', 'pending'])
    assert.deepEqual([Other?.pet.id, Other?.profile.sex], [10, 'male'])
  })

  test('two lines with the same number are one animal, and the last one counts', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = csv('Animal ID,Name,Species,Sex,Size', '1,Milo,Dog,male,small', '1,Milo,Dog,female,')
    const dry = await cli.json([...fromText, '--dry-run'], text)
    const { changes } = await cli.json(fromText, text)
    assert.deepEqual(changes.pets, { added: 1, changed: 1, unchanged: 0 })
    assert.deepEqual(dry.changes.pets, changes.pets)
    const { Milo } = await animalsIn(cli)
    assert.deepEqual([Milo?.profile.sex, Milo?.profile.size], ['female', 'small'])
  })

  test('does not take an unknown category for one without a letter, and knows words of JavaScript', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.json(fromText, csv('Ref,Name,Category', '1,Zed,?', '2,Con,constructor'))
    const text = csv(
      'Ref,Name,Category',
      '3,Hedge,Hedgehog',
      '4,Con,Constructors',
      `5,Long,${'c'.repeat(256)}`,
    )
    const { stderr } = await cli.run(['import', '--format', 'csv', '--skip-bad'], text)
    assert.match(stderr, /^Line 2: Category must be the id or the name of a category, but is "Hedgehog"/m)
    assert.match(stderr, /^Line 4: .*more than 255 characters/m)
    const { Con, Zed } = await animalsIn(cli)
    assert.notEqual(Con?.pet.categoryId, Zed?.pet.categoryId)
    assert.deepEqual(
      (await categoriesIn(cli)).map(([, name]) => name),
      ['?', 'constructor'],
    )
  })

  test('two animals with the same number are not mixed: the second line is wrong', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = csv('Animal ID,Name,Species', '1,Rosa,Dog', '1,Bruno,Dog')
    const { stderr } = await cli.run([...fromText, '--skip-bad'], text)
    assert.match(stderr, /^Line 3: the external id "1" is that of another animal on line 2$/m)
    assert.deepEqual(Object.keys(await animalsIn(cli)), ['Rosa'])
  })
})

describe('animals that a later file does not have', { concurrency: 2 }, () => {
  const file = (...numbers: number[]) =>
    csv('Animal ID,Name,Species,In Custody', ...numbers.map((number) => `A${number},Pet ${number},Dog,`))
  const listedIn = async (cli: { export(): Promise<string> }) =>
    Object.values(await animalsIn(cli)).flatMap(({ pet, profile }) =>
      profile?.listed === false ? [] : pet.name,
    )
  const unlisting = [...fromText, '--missing', 'unlist']

  test('are kept, or unlisted until a file has them again', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(fromText, file(1, 2, 3, 4))
    await cli.ok(fromText, csv('name,category', 'Own,Dog'))
    await cli.ok(fromText, file(1, 2, 3))
    assert.deepEqual(await listedIn(cli), ['Pet 1', 'Pet 2', 'Pet 3', 'Pet 4', 'Own'])

    const dry = await cli.json([...unlisting, '--dry-run'], file(1, 2, 3))
    assert.equal(dry.unlisted, 1)
    const output = await cli.ok(unlisting, file(1, 2, 3))
    assert.match(output, /\nUnlisted 1 animal that the file does not have any more\.\n/)
    assert.deepEqual(await listedIn(cli), ['Pet 1', 'Pet 2', 'Pet 3', 'Own'])
    assert.equal((await cli.json(unlisting, file(1, 2, 3))).unlisted, 0)

    const returned = await cli.json(unlisting, file(1, 2, 3, 4))
    assert.deepEqual([returned.unlisted, returned.changes.pets.changed], [0, 1])
    assert.deepEqual(await listedIn(cli), ['Pet 1', 'Pet 2', 'Pet 3', 'Pet 4', 'Own'])
  })

  test('staff can hide an animal that the file has', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(unlisting, file(1, 2))
    await cli.ok(['import'], '{"type":"profile","id":1,"listed":false}')
    assert.deepEqual((await cli.json(unlisting, file(1, 2))).changes.pets.unchanged, 2)
    assert.deepEqual(await listedIn(cli), ['Pet 2'])
  })

  test('are not unlisted if they are more than half, or all, unless that is forced', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(unlisting, file(1, 2, 3, 4, 5))
    const before = await contentsOf(cli.env)
    const half = await cli.run(unlisting, file(1, 2))
    assertCommandFails(
      half,
      1,
      /^The file lacks 3 animals of the 5 that are listed from it: more than half\./,
    )
    const refused = await cli.run([...unlisting, '--dry-run'], file(1, 2))
    assertCommandFails(refused, 1, /more than half/)
    assertCommandFails(await cli.run(unlisting, file()), 1, /^The file has no animals\./)
    assertCommandFails(await cli.run(unlisting, ''), 1, /^The file has no animals\./)
    assertCommandFails(await cli.run(fromText, file()), 1, /^The file has no animals\./)
    assert.deepEqual(await contentsOf(cli.env), before)
    assert.equal((await cli.json([...unlisting, '--force'], file(1, 2))).unlisted, 3)
    assert.deepEqual(await listedIn(cli), ['Pet 1', 'Pet 2'])
  })

  test('an animal of a wrong line is not missing, and a line that cannot be read stops it', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(unlisting, file(1, 2, 3))
    const header = 'Animal ID,Name,Species,In Custody'
    const wrong = csv(header, 'A1,Pet 1,Dog,', 'A2,Pet 2,Dog,perhaps')
    const { code, stdout } = await cli.run([...unlisting, '--skip-bad', '--json'], wrong)
    assert.deepEqual([code, JSON.parse(stdout).unlisted], [3, 1])
    assert.deepEqual(await listedIn(cli), ['Pet 1', 'Pet 2'])
    const unreadable = csv(header, 'A1,Pet 1,Dog,', '"A2,Pet 2,Dog,')
    assertCommandFails(
      await cli.run([...unlisting, '--skip-bad'], unreadable),
      1,
      /so it is not known which animals are missing/,
    )
  })

  test('need a column that identifies them', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const { code, stderr } = await cli.run(unlisting, csv('name,category', 'Milo,Dog'))
    assert.deepEqual([code, lines(stderr)[0]?.slice(0, 40)], [1, '--missing unlist needs a column with the'])
  })

  test('that were adopted stay as they are', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(unlisting, file(1, 2, 3))
    await cli.ok(['import'], '{"id":3,"name":"Pet 3","categoryId":1,"status":"sold"}')
    assert.equal((await cli.json(unlisting, file(1, 2))).unlisted, 0)
  })
})
