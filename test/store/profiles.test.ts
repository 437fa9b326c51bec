import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { amplePlan, assertError } from '../support/responses.ts'

const { service, call } = useCheckedCalls()
let readKey: string
before(async () => {
  readKey = (await service.makeKey({ ...amplePlan, scopes: ['pets:read'] })).key
})

async function addPet(pet: object = {}): Promise<number> {
  return (await call('POST', '/v1/pets', { body: { name: 'Luna', categoryId: 3, ...pet } })).json.id
}
const profilePath = (id: number, query = '') => `/v1/pets/${id}/profile${query}`
const change = (id: number, body: object, headers = {}) => call('PATCH', profilePath(id), { body, headers })
async function changed(id: number, body: object) {
  const response = await change(id, body)
  assert.equal(response.status, 200, response.text)
  return response.json
}

/** The date in UTC after a number of hours. */
const dateIn = (hours: number) => new Date(service.now() + hours * 3_600_000).toISOString().slice(0, 10)

const full = {
  source: 'asm',
  externalId: 'A2026-17',
  species: 'dog',
  breeds: ['Labrador Retriever', 'Boxer'],
  mixed: true,
  sex: 'female',
  birthDate: '2024-05-01',
  birthDateEstimated: true,
  size: 'large',
  coat: 'short',
  colors: ['black', 'white'],
  altered: true,
  houseTrained: false,
  declawed: false,
  vaccinated: true,
  specialNeeds: false,
  courtesy: false,
  goodWith: { children: 'yes', dogs: 'selective', cats: 'no' },
  minChildAge: 6,
  fee: { amount: 15_000, currency: 'EUR' },
  description: 'Luna is <b>friendly</b>.\nShe learns fast.',
  specialNeedsNotes: 'None.',
  contactUrl: 'https://example.com/luna',
  videoUrl: 'https://example.com/luna.mp4',
  arrivedOn: '2026-10-01',
  listed: true,
  attributes: { collar: 'red' },
}
const staff = { microchip: '276098100000001', location: 'Kennel 4', staffNotes: 'Shy at first.' }

describe('a profile', () => {
  test('of a new animal has null or empty fields, and the times of the animal', async () => {
    const id = await addPet()
    const { json, headers } = await call('GET', profilePath(id))
    const { petId, source, breeds, colors, attributes, bondedWith, listed, goodWith, ...others } = json
    assert.deepEqual(
      { petId, source, breeds, colors, attributes, bondedWith, listed, goodWith },
      {
        ...{ petId: id, source: '', breeds: [], colors: [], attributes: {}, bondedWith: [], listed: true },
        goodWith: { children: null, dogs: null, cats: null },
      },
    )
    const { createdAt, updatedAt, ...unknown } = others
    assert.equal(createdAt, new Date(service.now()).toISOString())
    assert.equal(updatedAt, createdAt)
    assert.deepEqual([...new Set(Object.values(unknown))], [null])
    assert.equal(headers['x-stability'], 'beta')
  })

  test('returns every field as it was given', async () => {
    const id = await addPet()
    const json = await changed(id, { ...full, ...staff })
    for (const [name, value] of Object.entries({ ...full, ...staff }))
      assert.deepEqual(json[name], value, name)
    assert.equal(json.ageGroup, 'young')
    const read = await call('GET', profilePath(id, '?view=staff'))
    assert.deepEqual(read.json, json)
    assert.deepEqual((await call('GET', `/v1/pets/${id}`)).json.name, 'Luna', 'the animal is unchanged')
  })

  test('replaces a given field whole, keeps the others, and clears with null', async () => {
    const id = await addPet()
    await changed(id, { ...full, externalId: 'A2026-18', ...staff })
    const json = await changed(id, {
      ...{ goodWith: { cats: 'yes' }, breeds: ['Poodle'], description: null, attributes: null, listed: null },
      species: 'CAT',
    })
    assert.deepEqual(json.goodWith, { children: null, dogs: null, cats: 'yes' })
    assert.deepEqual(json.breeds, ['Poodle'])
    assert.deepEqual([json.description, json.attributes, json.listed], [null, {}, true])
    assert.deepEqual([json.species, json.sex, json.staffNotes], ['cat', 'female', 'Shy at first.'])
  })

  test('has the age group of its birth date on every day', async () => {
    const id = await addPet()
    const at = (years: number, days: number) => {
      const date = new Date(service.now())
      date.setUTCFullYear(date.getUTCFullYear() - years)
      date.setUTCDate(date.getUTCDate() + days)
      return date.toISOString().slice(0, 10)
    }
    for (const [birthDate, group] of [
      [at(0, 0), 'baby'],
      [at(1, 1), 'baby'],
      [at(1, 0), 'young'],
      [at(3, 1), 'young'],
      [at(3, 0), 'adult'],
      [at(8, 0), 'senior'],
    ] as const)
      assert.equal((await changed(id, { birthDate, ageGroup: 'baby' })).ageGroup, group, birthDate)
    assert.equal((await changed(id, { birthDate: null })).ageGroup, 'baby')
  })

  test('can have the date of today anywhere on earth as the birth date', async () => {
    const birthDate = dateIn(14)
    const { ageGroup } = await changed(await addPet(), { birthDate })
    assert.equal(ageGroup, 'baby', birthDate)
  })

  test('is rejected with every problem, and changes nothing', async () => {
    const id = await addPet()
    const before = await call('GET', profilePath(id, '?view=staff'))
    const wrong: Record<string, unknown[]> = {
      source: ['x'.repeat(41), 1],
      externalId: ['', ' ', 'x'.repeat(256)],
      species: ['x'.repeat(41)],
      breeds: [['a', 'b', 'c'], [''], 'Boxer', ['x'.repeat(81)]],
      mixed: ['yes', 1],
      sex: ['unknown'],
      birthDate: ['2024-02-30', '1.2.2024', '2024-05-01T00:00:00Z', dateIn(38), '9999-12-31'],
      ageGroup: ['old'],
      size: ['tiny'],
      coat: ['silk'],
      colors: [['a', 'b', 'c', 'd'], ['x'.repeat(41)]],
      goodWith: ['yes', { cats: 'maybe' }],
      minChildAge: [-1, 19, 1.5],
      fee: [{ amount: -1, currency: 'EUR' }, { amount: 1, currency: 'XXQ' }, { amount: 1 }, 5],
      description: ['x'.repeat(20_001)],
      specialNeedsNotes: ['x'.repeat(2_001)],
      contactUrl: ['http://example.com', 'javascript:alert(1)', `https://example.com/${'x'.repeat(2_048)}`],
      attributes: [
        { '': 'x' },
        { a: 'x'.repeat(201) },
        JSON.parse('{"__proto__":"x"}'),
        JSON.parse('{"a":"","__proto__":{"b":""}}'),
        Object.fromEntries(Array.from({ length: 33 }, (_, i) => [i, ''])),
      ],
      listed: ['no'],
      microchip: ['x'.repeat(41)],
      location: ['x'.repeat(81)],
      staffNotes: ['x'.repeat(5_001)],
      bondedWith: [[1, 2, 3, 4, 5], ['a'], [id], [999_999]],
    }
    for (const [name, values] of Object.entries(wrong))
      for (const value of values) {
        const response = await change(id, { [name]: value, colors: name === 'colors' ? value : ['gray'] })
        assertError(response, 400, 'validation_failed')
        assert.match(response.json.details[0].path, new RegExp(`^/${name}`), name)
      }
    assert.deepEqual((await call('GET', profilePath(id, '?view=staff'))).text, before.text)
  })

  test('of a missing animal is 404', async () => {
    assertError(await call('GET', profilePath(999_999)), 404, 'pet_not_found')
    assertError(await change(999_999, { sex: 'male' }), 404, 'pet_not_found')
    assertError(await call('GET', '/v1/pets/x/profile'), 404, 'pet_not_found')
    for (const path of ['profile', 'photos', 'history'])
      assertError(await call('GET', `/v1/pets/9223372036854775807/${path}`), 404, 'pet_not_found')
    assertError(await call('GET', '/v1/listings/9223372036854775807'), 404, 'pet_not_found')
    const body = '{"bondedWith":[9223372036854775807]}'
    const headers = { 'content-type': 'application/json' }
    assertError(await call('PATCH', profilePath(await addPet()), { body, headers }), 400, 'validation_failed')
  })

  test('can have 20,000 characters of description, which are never cut', async () => {
    const id = await addPet()
    const description = '🐕'.repeat(20_000)
    await changed(id, { description })
    assert.equal((await call('GET', profilePath(id))).json.description, description)
    const large = { description: 'x'.repeat(300_000) }
    assertError(await change(id, large), 413, 'body_too_large')
  })
})

describe('the staff fields', () => {
  test('appear with view=staff only, which needs pets:write', async () => {
    const id = await addPet()
    await changed(id, staff)
    const { json } = await call('GET', profilePath(id), { key: readKey })
    for (const name of Object.keys(staff)) assert.ok(!(name in json), name)
    const rejected = await call('GET', profilePath(id, '?view=staff'), { key: readKey })
    assertError(rejected, 403, 'insufficient_scope')
    for (const query of ['?view=staff', '?%76iew=staff', '?view=staff&x=1']) {
      assert.equal((await call('GET', profilePath(id, query))).json.location, 'Kennel 4')
      assertError(await call('GET', profilePath(id, query), { key: readKey }), 403, 'insufficient_scope')
    }
    assertError(await call('GET', profilePath(id, '?view=all')), 400, 'validation_failed')
  })

  test('are in no event', async () => {
    const id = await addPet()
    await changed(id, { ...staff, description: 'A secret.' })
    const { json } = await call('GET', '/v1/events?limit=100', { key: service.operatorKey })
    const event = json.findLast(({ type }: { type: string }) => type === 'profile.updated')
    assert.deepEqual(event.data, { id, petId: id, updatedAt: new Date(service.now()).toISOString() })
  })
})

describe('an animal that is not listed', () => {
  test('has no profile and no photos without view=staff', async () => {
    const id = await addPet()
    await changed(id, { listed: false })
    for (const path of [profilePath(id), `/v1/pets/${id}/photos`, `/v1/listings/${id}`]) {
      assertError(await call('GET', path), 404, 'pet_not_found')
      assert.equal((await call('GET', `${path}?view=staff`)).status, 200, path)
    }
    assert.equal((await call('GET', `/v1/pets?id=${id}`)).json.length, 1)
  })
})

describe('ETag and If-Match of a profile', () => {
  test('reject a change of another version, and do not depend on photos or the view', async () => {
    const id = await addPet()
    const first = String((await call('GET', profilePath(id))).headers.etag)
    assert.equal((await call('GET', profilePath(id, '?view=staff'))).headers.etag, first)
    const changed = await change(id, { sex: 'male' }, { 'if-match': first })
    assert.equal(changed.status, 200)
    assert.notEqual(changed.headers.etag, first)
    assertError(await change(id, { sex: 'female' }, { 'if-match': first }), 412, 'precondition_failed')
    await call('PATCH', `/v1/pets/${id}`, { body: { name: 'Nova' } })
    assert.equal((await call('GET', profilePath(id))).headers.etag, changed.headers.etag)
    const notModified = { 'if-none-match': String(changed.headers.etag) }
    assert.equal((await call('GET', profilePath(id), { headers: notModified })).status, 304)
  })

  test('change on the day on which the age group does', async () => {
    const id = await addPet()
    const birthDate = new Date(service.now() + 5 * 86_400_000)
      .toISOString()
      .slice(0, 10)
      .replace(/^\d+/, (year) => String(Number(year) - 1))
    await changed(id, { birthDate })
    const { headers, json } = await call('GET', profilePath(id))
    assert.equal(json.ageGroup, 'baby')
    service.advance(6 * 86_400_000)
    const later = await call('GET', profilePath(id), { headers: { 'if-none-match': String(headers.etag) } })
    assert.deepEqual([later.status, later.json.ageGroup], [200, 'young'])
  })
})

describe('an external id', () => {
  test('is unique within its source', async () => {
    const [first, second] = [await addPet(), await addPet()]
    await changed(first, { externalId: 'X1' })
    assertError(await change(second, { externalId: 'X1' }), 409, 'external_id_in_use')
    assert.equal((await changed(second, { externalId: 'X1', source: 'other' })).externalId, 'X1')
    assertError(await change(second, { source: null }), 409, 'external_id_in_use')
    assert.equal((await changed(first, { externalId: 'X1', sex: 'male' })).sex, 'male')
  })

  test('is given to one of two animals that ask for it at the same time', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => addPet()))
    const responses = await Promise.all(ids.map((id) => change(id, { externalId: 'CONTESTED' })))
    const statuses = responses.map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join())
    assert.equal(statuses.filter((status) => status === 409).length, 7, statuses.join())
  })
})

describe('bonds', () => {
  const bondsOf = async (id: number, query = '?view=staff') =>
    (await call('GET', profilePath(id, query))).json.bondedWith

  test('are kept symmetric, and end with the animal', async () => {
    const [a, b, c] = [await addPet(), await addPet(), await addPet()]
    assert.deepEqual((await changed(a, { bondedWith: [c, b, b] })).bondedWith, [b, c])
    assert.deepEqual([await bondsOf(b), await bondsOf(c)], [[a], [a]])
    await changed(b, { bondedWith: [] })
    assert.deepEqual([await bondsOf(a), await bondsOf(b)], [[c], []])
    await call('DELETE', `/v1/pets/${c}`)
    assert.deepEqual(await bondsOf(a), [])
  })

  test('omit animals that are not listed without view=staff', async () => {
    const [a, b] = [await addPet(), await addPet()]
    await changed(a, { bondedWith: [b] })
    await changed(b, { listed: false })
    assert.deepEqual([await bondsOf(a), await bondsOf(a, '')], [[b], []])
    const { headers } = await call('GET', profilePath(a))
    await changed(b, { listed: true })
    const known = { 'if-none-match': String(headers.etag) }
    assert.deepEqual((await call('GET', profilePath(a), { headers: known })).json.bondedWith, [b])
  })

  test('of an animal are at most four, also those that others ask for', async () => {
    const [center, ...others] = await Promise.all(Array.from({ length: 6 }, () => addPet()))
    const [last] = others.splice(4)
    await changed(center as number, { bondedWith: others })
    const rejected = await change(last as number, { bondedWith: [center] })
    assertError(rejected, 400, 'validation_failed')
    assert.deepEqual(await bondsOf(last as number), [])
  })

  test('between animals that bond with each other at the same time do not deadlock', async () => {
    const [a, b] = [await addPet(), await addPet()]
    const responses = await Promise.all([
      ...Array.from({ length: 5 }, () => change(a, { bondedWith: [b] })),
      ...Array.from({ length: 5 }, () => change(b, { bondedWith: [a] })),
    ])
    assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200])
    assert.deepEqual([await bondsOf(a), await bondsOf(b)], [[b], [a]])
  })

  test('that are changed at the same time stay symmetric, and at most four', async () => {
    const ids = await Promise.all(Array.from({ length: 7 }, () => addPet()))
    const requests = Array.from({ length: 100 }, (_, at) => {
      const others = ids.filter((_, other) => other !== at % 7 && (at * 37 + other * other * 11) % 5 < 2)
      return change(ids[at % 7] as number, { bondedWith: others.slice(0, 4) })
    })
    const statuses = new Set((await Promise.all(requests)).map(({ status }) => status))
    assert.deepEqual([...statuses.difference(new Set([200, 400]))], [])
    const bonds = new Map(await Promise.all(ids.map(async (id) => [id, await bondsOf(id)] as const)))
    for (const [id, others] of bonds) {
      assert.ok(others.length <= 4, `${id} has ${others}`)
      for (const other of others) assert.ok(bonds.get(other).includes(id), `${other} lacks ${id}`)
    }
  })
})

describe('the date of the adoption', () => {
  test('is set when the status becomes sold, and cleared when it leaves it', async () => {
    const id = await addPet()
    const adoptedOn = async () => (await call('GET', profilePath(id))).json.adoptedOn
    const today = new Date(service.now()).toISOString().slice(0, 10)
    await call('PATCH', `/v1/pets/${id}`, { body: { status: 'sold' } })
    assert.equal(await adoptedOn(), today)
    service.advance(2 * 86_400_000)
    await call('PATCH', `/v1/pets/${id}`, { body: { name: 'Nova' } })
    assert.equal(await adoptedOn(), today, 'another change keeps it')
    await call('PATCH', `/v1/pets/${id}`, { body: { status: 'available' } })
    assert.equal(await adoptedOn(), null)
    const sold = await addPet({ status: 'sold' })
    assert.notEqual((await call('GET', profilePath(sold))).json.adoptedOn, null)
  })
})
