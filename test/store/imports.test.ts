import assert from 'node:assert/strict'
import { afterEach, before, describe, test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { cliOn, cliOnNewDatabase, lines, withoutTimes } from '../support/commands.ts'
import { databaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { importCalls } from '../support/imports.ts'
import { amplePlan, assertError } from '../support/responses.ts'
import { serviceFor } from '../support/service.ts'

const { service, call } = useCheckedCalls()
const hourMs = 60 * 60 * 1000
let key: string
let keyId: number
before(async () => {
  const scopes = ['keys:manage', 'pets:read', 'pets:write', 'categories:read', 'events:read']
  ;({ key, id: keyId } = await service.makeKey({ ...amplePlan, scopes }))
})
const send = (method: string, path: string, options = {}) => call(method, path, { key, ...options })
const { upload, checked, get, apply, remove, applied, importAll } = importCalls(send)

/** One import at a time: each test begins without one. */
afterEach(async () => {
  for (const { id } of (await send('GET', '/v1/imports')).json) await remove(id)
})

let files = 0
/** A name that no other test uses. */
const unique = (name: string) => `${name} ${++files}`
const listings = async (query = '') =>
  (await send('GET', `/v1/listings?view=staff&listed=any&limit=100${query}`)).json
const newestEvent = async () => Number((await send('GET', '/v1/events?limit=1')).headers['last-event-id'])
const counts = (given: object) => ({ added: 0, changed: 0, unchanged: 0, unlisted: 0, ...given })

describe('the check of a file', () => {
  test('says what is recognized and what would be stored, and changes nothing', async () => {
    const before = [await newestEvent(), JSON.stringify(await listings())]
    const csv = [
      'Name,Species,Sex,Born,Shoe size,Notes',
      'Luna,Dog,F,2024-05-01,38,Likes balls',
      'Milo,dog,maybe,2023-01-01,,',
      'Nala,Unicorn,m,3/4/2020,,',
    ].join('\n')
    const response = await upload(csv, '?createCategories=true&dateOrder=dmy')
    assert.equal(response.status, 201, response.text)
    const { json, headers } = response
    assert.equal(headers.location, `/v1/imports/${json.id}`)
    assert.equal(headers['x-stability'], 'beta')
    assert.equal(json.state, 'ready')
    assert.deepEqual(
      json.columns.map(({ heading, fields }: { heading: string; fields: string[] }) => [heading, ...fields]),
      [
        ['Name', 'name'],
        ['Species', 'species'],
        ['Sex', 'sex'],
        ['Born', 'birthDate'],
        ['Shoe size'],
        ['Notes', 'staffNotes'],
      ],
    )
    assert.deepEqual(json.newCategories, ['Dog', 'Unicorn'])
    assert.deepEqual([json.total, json.done, json.wrong], [2, 0, 1])
    assert.deepEqual(json.expected, counts({ added: 2 }))
    assert.deepEqual(json.result, counts({}))
    assert.equal(json.wrongLines[0].line, 3)
    assert.match(json.wrongLines[0].reason, /^Sex must be male, female or unknown, but is "maybe"$/)
    const [luna, nala] = json.animals
    assert.deepEqual(
      [luna.line, luna.change, luna.petId, luna.name, luna.category, luna.status],
      [2, 'added', undefined, 'Luna', 'Dog', 'available'],
    )
    assert.deepEqual(
      [luna.profile.sex, luna.profile.birthDate, luna.profile.staffNotes, luna.profile.listed],
      ['female', '2024-05-01', 'Likes balls', true],
    )
    assert.deepEqual([nala.profile.species, nala.profile.birthDate], ['unicorn', '2020-04-03'])
    assert.deepEqual((await get(json.id)).json, json)
    assert.deepEqual((await send('GET', '/v1/imports')).json, [{ ...json, animals: [] }])
    assert.deepEqual([await newestEvent(), JSON.stringify(await listings())], before)
  })
})

describe('an import', () => {
  test('adds, changes and keeps animals as its check has said, by its key', async () => {
    const source = unique('S')
    const header = 'external id,name,categoryId,status,description'
    const first = await importAll(`${header}\n${source}-1,Luna,3,,Calm\n${source}-2,Milo,3,reserved,`)
    assert.deepEqual(first.result, counts({ added: 2 }))
    assert.deepEqual([first.total, first.done, first.animals], [2, 2, []])
    const csv = `${header}\n${source}-1,Luna,3,,Lively\n${source}-2,Milo,3,,\n${source}-3,Nala,3,,`
    const { id, expected, animals } = await checked(csv)
    assert.deepEqual(expected, counts({ added: 1, changed: 1, unchanged: 1 }))
    assert.deepEqual(
      animals.map(({ change, status }: { change: string; status: string }) => [change, status]),
      [
        ['changed', 'available'],
        ['unchanged', 'pending'],
        ['added', 'available'],
      ],
    )
    assert.equal((await apply(id)).json.state, 'applying')
    assert.deepEqual((await applied(id)).result, expected)
    const stored = (await listings()).filter(({ profile }: { profile: { externalId: string } }) =>
      profile.externalId?.startsWith(`${source}-`),
    )
    assert.deepEqual(
      stored.map(({ pet }: { pet: { name: string } }) => pet.name),
      ['Nala', 'Milo', 'Luna'],
    )
    assert.equal(stored[2].profile.summary, 'Lively')
    const { json: history } = await send('GET', `/v1/pets/${stored[2].pet.id}/history`)
    assert.equal(history[0].actor.keyId, keyId)
  })

  test('does not know when an animal was adopted unless the file has the date', async () => {
    const source = unique('A')
    const header = 'external id,name,categoryId,status,adopted on'
    await importAll(`${header}\n${source}-1,Luna,3,adopted,\n${source}-2,Milo,3,adopted,2026-10-05`)
    const dates = (await listings('&status=sold')).flatMap(
      ({ profile }: { profile: Record<string, string> }) =>
        profile.externalId?.startsWith(`${source}-`) ? [profile.adoptedOn] : [],
    )
    assert.deepEqual(dates, ['2026-10-05', null])
  })

  test('is applied once, and audited', async () => {
    const { id } = await checked(`name,categoryId\n${unique('Once')},3`)
    const [first, second] = await Promise.all([apply(id), apply(id)])
    assert.deepEqual([first.status, second.status], [202, 202])
    const { result } = await applied(id)
    assert.deepEqual(result, counts({ added: 1 }))
    assert.equal((await apply(id)).json.state, 'applied')
    const { json: entries } = await send('GET', '/v1/audit?limit=5')
    const imported = entries.filter(({ action }: { action: string }) => action === 'database.imported')
    assert.deepEqual(imported[0].actor, { keyId })
    const requestIds = [first, second].map(({ headers }) => headers['x-request-id'])
    assert.ok(requestIds.includes(imported[0].requestId))
    assert.ok(!requestIds.includes(imported[1]?.requestId))
  })

  test('keeps the next one waiting until it is applied or deleted', async () => {
    const csv = 'name,categoryId\nA,3'
    const { id } = await checked(csv)
    assertError(await upload(csv), 409, 'import_in_progress')
    assert.equal((await remove(id)).status, 204)
    const next = await checked(csv)
    await apply(next.id)
    await applied(next.id)
    const [one, other] = await Promise.all([upload(csv), upload(csv)])
    assert.deepEqual([one.status, other.status].sort(), [201, 409])
  })

  test('keeps the next one waiting while its file is checked', async () => {
    const first = upload(manyAnimals(5_000))
    const database = await service.openDatabase()
    const checking = database.read.selectFrom('import_jobs').select('id').where('state', '=', 'checking')
    await eventually('the file is being checked', () => checking.executeTakeFirst())
    const second = await upload('name,categoryId\nA,3')
    assert.equal((await first).status, 201)
    assertError(second, 409, 'import_in_progress')
    assert.equal(second.json.message, 'Another file is being checked. Try again in a moment.')
  })

  test('is not stored if its caller leaves during the check, and can be sent again', async () => {
    const caller = new AbortController()
    const headers = { 'content-type': 'text/csv', 'idempotency-key': unique('leaves').replace(' ', '-') }
    const request = { body: manyAnimals(5_000), headers }
    const first = send('POST', '/v1/imports', { ...request, signal: caller.signal })
    const { read } = await service.openDatabase()
    const jobs = read.selectFrom('import_jobs').select('state')
    await eventually('the file is being checked', () => jobs.executeTakeFirst())
    caller.abort()
    await assert.rejects(first)
    await eventually('nothing is stored', async () => (await jobs.execute()).length === 0)
    // The first request with this key may not have ended yet.
    const { status, json } = await eventually('it is checked', async () => {
      const response = await send('POST', '/v1/imports', request)
      return response.json.code !== 'idempotency_in_progress' && response
    })
    assert.deepEqual([status, json.state, json.total], [201, 'ready', 5_000])
  })

  test('leaves out a line whose animal was changed after the check', async () => {
    const code = unique('E')
    const [first, second] = [await addPet(), await addPet()]
    const { id } = await checked(
      `id,externalId,name,categoryId\n${first},${code},Luna,3\n${second},${code}-b,Milo,3`,
    )
    const taken = await send('PATCH', `/v1/pets/${await addPet()}/profile`, { body: { externalId: code } })
    assert.equal(taken.status, 200, taken.text)
    await apply(id)
    const { result, wrong, wrongLines, done } = await applied(id)
    assert.deepEqual([result, wrong, done], [counts({ changed: 1 }), 1, 2])
    assert.equal(wrongLines[0].line, 2)
    assert.match(wrongLines[0].reason, /cannot have the external id/)
    assert.equal((await send('GET', `/v1/listings/${second}?view=staff`)).json.pet.name, 'Milo')
  })

  test('unlists animals that a later file lacks, unless they are more than half', async () => {
    const header = 'Animal ID,Name,Species,Primary Breed,Age (Y/M/D),Sex'
    const rows = [1, 2, 3, 4, 5].map((at) => `SL-${at},Pet ${at},Cat,Tabby,2Y/ 4M/ 26D,Male`)
    const query = '?from=shelterluv&createCategories=true'
    await importAll([header, ...rows].join('\n'), query)
    const fewer = [header, ...rows.slice(0, 4)].join('\n')
    const kept = await checked(fewer, query)
    assert.equal(kept.expected.unlisted, 0)
    await remove(kept.id)
    const { expected, result } = await importAll(fewer, `${query}&missing=unlist`)
    assert.deepEqual([expected, result], [counts({ unchanged: 4, unlisted: 1 }), expected])
    const isListed = async (code: string) =>
      (await listings()).find(
        ({ profile }: { profile: { source: string; externalId: string } }) =>
          profile.source === 'shelterluv' && profile.externalId === code,
      ).profile.listed
    assert.deepEqual([await isListed('SL-5'), await isListed('SL-4')], [false, true])
    const least = [header, rows[0]].join('\n')
    const refused = await upload(least, `${query}&missing=unlist`)
    assertError(refused, 400, 'validation_failed')
    assert.match(refused.json.message, /lacks 3 animals of the 4/)
    assert.equal((await importAll(least, `${query}&missing=unlist&force=true`)).result.unlisted, 3)
    assert.equal((await importAll([header, ...rows].join('\n'), query)).result.changed, 4)
  })

  test('unlists the others if one animal cannot be unlisted, and ends', async () => {
    const rows = Array.from({ length: 5 }, (_, at) => `SL-${unique('U')},Pet ${at},Cat,yes`)
    const header = 'Animal ID,Name,Species,In Custody'
    const query = '?from=shelterluv&createCategories=true'
    await importAll([header, ...rows].join('\n'), query)
    const code = rows[4]?.split(',')[0] as string
    const { id } = await checked(
      [header, ...rows.slice(0, 2)].join('\n'),
      `${query}&missing=unlist&force=true`,
    )
    const database = await service.openDatabase()
    const setData = (data: string) =>
      database.write(async (trx) => {
        const pets = trx.selectFrom('pets').select('id').where('external_id', '=', code)
        const [row] = await trx.selectFrom('profiles').select('data').where('pet_id', 'in', pets).execute()
        await trx.updateTable('profiles').set({ data }).where('pet_id', 'in', pets).execute()
        return row?.data as string
      })
    const stored = await setData('damaged')
    try {
      await apply(id)
      const { total, done, expected, result } = await applied(id)
      assert.deepEqual([done, result.unlisted], [total, expected.unlisted - 1])
    } finally {
      await setData(stored)
    }
  })

  test('does not assign an id that a later line has', async () => {
    const id = (await addPet()) + 40
    const rows = Array.from({ length: 120 }, (_, at) => `,New ${at},3`)
    const { result } = await importAll(`id,name,categoryId\n${rows.join('\n')}\n${id},Given,3`)
    assert.deepEqual(result, counts({ added: 121 }))
    assert.equal((await send('GET', `/v1/listings/${id}`)).json.pet.name, 'Given')
  })

  test('is erased after an hour, or an hour after it was applied', async () => {
    const waiting = await checked('name,categoryId\nA,3')
    service.advance(hourMs - 1)
    assert.equal((await get(waiting.id)).status, 200)
    service.advance(1)
    assertError(await get(waiting.id), 404, 'import_not_found')
    assertError(await apply(waiting.id), 404, 'import_not_found')
    const { id } = await checked('name,categoryId\nA,3')
    service.advance(hourMs / 2)
    await apply(id)
    await applied(id)
    service.advance(hourMs - 1)
    assert.equal((await get(id)).json.state, 'applied')
    service.advance(1)
    assertError(await get(id), 404, 'import_not_found')
    const database = await service.openDatabase()
    await eventually('nothing is left', async () => {
      const jobs = await database.read.selectFrom('import_jobs').select('id').execute()
      const batches = await database.read.selectFrom('import_batches').select('import_id').execute()
      return jobs.length + batches.length === 0
    })
  })

  test('is not kept in the responses for retries', async () => {
    const name = unique('Secretive')
    const headers = { 'idempotency-key': name.replace(' ', '-') }
    const csv = `name,categoryId,sex\n${name},3,f\nB,3,${name}`
    const { json } = await upload(csv, '', headers)
    assert.equal(json.animals[0].name, name)
    const again = await upload(csv, '', headers)
    assert.deepEqual([again.headers['idempotent-replayed'], again.json], ['true', json])
    assert.equal((await remove(json.id)).status, 204)
    const erased = await upload(csv, '', headers)
    assert.deepEqual(erased.json, { ...json, animals: [], wrongLines: [] })
    const database = await service.openDatabase()
    const records = await database.read.selectFrom('idempotency_records').select('body').execute()
    assert.ok(!JSON.stringify(records).includes(name))
  })
})

const addPet = async (): Promise<number> =>
  (await send('POST', '/v1/pets', { body: { name: 'Pet', categoryId: 3 } })).json.id

/** Enough for many batches. */
const manyAnimals = (count: number) =>
  `external id,name,categoryId,breed,description\n${Array.from(
    { length: count },
    (_, at) => `M-${at},Pet ${at},${1 + (at % 3)},Boxer,Number ${at}`,
  ).join('\n')}`

test('an import that is deleted while it is applied stops, and keeps what it has changed', async () => {
  const { id, total } = await checked(manyAnimals(800))
  await apply(id)
  await eventually('some are applied', async () => (await get(id)).json.done > 0)
  assert.equal((await remove(id)).status, 204)
  assertError(await get(id), 404, 'import_not_found')
  const database = await service.openDatabase()
  const countImported = async () => {
    const rows = await database.read
      .selectFrom('pets')
      .select('id')
      .where('external_id', 'like', 'M-%')
      .execute()
    return rows.length
  }
  const count = await countImported()
  assert.ok(count > 0 && count < total, `${count} of ${total}`)
  const next = await importAll(manyAnimals(800))
  assert.deepEqual(next.result, counts({ added: total - count, unchanged: count }))
})

test('an import continues after a restart, and nothing is applied twice', async (t) => {
  const restarted = await serviceFor(t)
  const calls = importCalls((method, path, options = {}) =>
    restarted.request(method, path, { key: restarted.operatorKey, ...options }),
  )
  const { id, expected } = await calls.checked(manyAnimals(600))
  await calls.apply(id)
  await eventually('some are applied', async () => (await calls.get(id)).json.done > 0)
  await restarted.restart()
  assert.equal((await calls.get(id)).json.state, 'applying')
  restarted.advance(10_000)
  assert.deepEqual((await calls.applied(id)).result, expected)
  const { available } = (
    await restarted.request('GET', '/v1/store/inventory', { key: restarted.operatorKey })
  ).json
  assert.equal(available, 600)
})

test('an import has the result of the command with the same file', async (t) => {
  const csv = [
    'ID,Name,Type,Breed,Sex,Age,Good with dogs,Fee,Status,Photo,Notes',
    '1,Luna,Dog,Boxer,Spayed Female,2 years,yes,$150,Adoptable,https://a.example/1.jpg,"a, b"',
    '2,Milo,dogs,,m,Puppy,,free,On hold,,',
    "3,'=Nala,Cat,Tabby,,8 weeks,no,EUR 20,Adopted,,",
    '4,Wrong,Cat,Tabby,sometimes,,,,,,',
    '2,Milo again,Dogs,,,,,,,,',
  ].join('\n')
  const cli = await cliOnNewDatabase(t)
  const byCommand = await cli.run(
    ['import', '--format', 'csv', '--create-categories', '--currency', 'usd', '--skip-bad', '--json'],
    csv,
  )
  assert.equal(byCommand.code, 3, byCommand.stderr)
  const databaseEnv = await databaseFor(t)
  const other = await serviceFor(t, databaseEnv)
  const calls = importCalls((method, path, options = {}) =>
    other.request(method, path, { key: other.operatorKey, ...options }),
  )
  const { expected, result, wrong } = await calls.importAll(csv, '?createCategories=true&currency=usd')
  const { changes, skipped } = JSON.parse(byCommand.stdout)
  assert.deepEqual(result, counts(changes.pets))
  assert.deepEqual([expected, wrong], [result, skipped])
  const animalsOf = (text: string) =>
    lines(withoutTimes(text)).filter((line) => /"type":"(?:pet|profile|category)"/.test(line))
  const exported = animalsOf(await cli.export())
  assert.ok(exported.length > 6)
  assert.deepEqual(animalsOf(await cliOn(databaseEnv).export()), exported)
})

test('an import that does not exist is not found', async () => {
  for (const id of ['x'.repeat(22), '1', 'a b', '\0', 'a\0'])
    for (const response of [get, apply, remove].map((request) => request(encodeURIComponent(id))))
      assertError(await response, 404, 'import_not_found')
})
