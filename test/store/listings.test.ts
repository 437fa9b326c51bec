import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { insertMany } from '../../src/database/preparedQuery.ts'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'
import { amplePlan, assertError, nextPage } from '../support/responses.ts'
import { withIndexing } from '../support/service.ts'

const { service, call } = useCheckedCalls({ bounds: withIndexing })
let readKey: string
before(async () => {
  readKey = (await service.makeKey({ ...amplePlan, scopes: ['pets:read'] })).key
})

type Fields = { name?: string; categoryId?: number; status?: string; profile?: object }
async function add({ profile, ...pet }: Fields = {}): Promise<number> {
  const { id } = (await call('POST', '/v1/pets', { body: { name: 'Luna', categoryId: 3, ...pet } })).json
  if (profile) await update(id, profile)
  return id
}
async function update(id: number, profile: object): Promise<void> {
  const response = await call('PATCH', `/v1/pets/${id}/profile`, { body: profile })
  assert.equal(response.status, 200, response.text)
}
const idsOf = (json: { pet: { id: number } }[]): number[] => json.map(({ pet }) => pet.id)
async function search(query: string): Promise<number[]> {
  const response = await call('GET', `/v1/listings?${query}`)
  assert.equal(response.status, 200, response.text)
  return idsOf(response.json)
}
/** The index is a moment behind. */
const finds = (query: string, ids: readonly number[]) =>
  eventually(`${query} finds ${ids}`, async () => {
    const response = await call('GET', `/v1/listings?${query}`)
    return response.status === 200 && String(idsOf(response.json)) === String(ids)
  })

describe('a listing', () => {
  test('has the animal, its profile, its photos and the ETags for If-Match', async () => {
    const description = `Friendly ${'dog '.repeat(100)}`.trim()
    const id = await add({ profile: { species: 'dog', description, location: 'Kennel 4' } })
    const headers = { 'content-type': 'image/jpeg' }
    const photo = await call('POST', `/v1/pets/${id}/photos`, { body: await jpeg(64, 64), headers })
    const { json, headers: responseHeaders } = await call('GET', `/v1/listings/${id}`, { key: readKey })
    assert.deepEqual(json.pet, { id, name: 'Luna', categoryId: 3, status: 'available' })
    assert.equal(json.profile.description, description)
    assert.ok(!('location' in json.profile))
    assert.deepEqual(json.photos, [photo.json])
    assert.equal(json.etags.profile, (await call('GET', `/v1/pets/${id}/profile`)).headers.etag)
    assert.equal(responseHeaders['x-stability'], 'beta')
    const ifMatch = (etag: string) => ({ body: {}, headers: { 'if-match': etag } })
    assert.equal((await call('PATCH', `/v1/pets/${id}`, ifMatch(json.etags.pet))).status, 200)
    assert.equal((await call('PATCH', `/v1/pets/${id}/profile`, ifMatch(json.etags.profile))).status, 200)
    assertError(await call('PATCH', `/v1/pets/${id}`, ifMatch('"other"')), 412, 'precondition_failed')

    const [listed] = (await call('GET', '/v1/listings')).json
    assert.equal(listed.pet.id, id)
    assert.ok(!('description' in listed.profile))
    assert.ok(listed.profile.summary.length <= 301 && listed.profile.summary.endsWith('dog…'))
    assert.deepEqual(listed.photos, json.photos)
  })

  test('is not found for a missing animal', async () => {
    assertError(await call('GET', '/v1/listings/999999'), 404, 'pet_not_found')
    assertError(await call('GET', '/v1/listings/x'), 404, 'pet_not_found')
  })

  test('is read again after a change, and not sent again without one', async () => {
    const id = await add()
    const { headers } = await call('GET', `/v1/listings/${id}`)
    const known = { headers: { 'if-none-match': String(headers.etag) } }
    assert.equal((await call('GET', `/v1/listings/${id}`, known)).status, 304)
    await update(id, { sex: 'male' })
    assert.equal((await call('GET', `/v1/listings/${id}`, known)).json.profile.sex, 'male')
  })
})

describe('a search for a number', () => {
  const spellings = (...parts: string[]) =>
    [' ', '-', '.', '', ' - '].map((separator) => parts.join(separator))

  test('of a chip ignores spaces, hyphens and dots', async () => {
    const chips = spellings('276', '098', '003', '456', '789')
    const others = [await add({ profile: { microchip: '276098003456780' } })]
    for (const microchip of chips) {
      const id = await add({ profile: { microchip } })
      for (const q of chips) await finds(`view=staff&q=${encodeURIComponent(q)}`, [id])
      await finds('view=staff&q=276%20098%20003%2045', [id, ...others])
      assert.deepEqual(await search('q=276098003456789'), [], 'only for staff')
      await update(id, { microchip: null })
    }
  })

  test('of an intake ignores spaces, hyphens, dots and case', async () => {
    const numbers = [...spellings('HT', '104'), 'ht 104', 'Ht\u2013104']
    for (const externalId of numbers) {
      const id = await add({ profile: { externalId } })
      for (const q of numbers) await finds(`q=${encodeURIComponent(q)}`, [id])
      await finds('q=ht-10', [id])
      await update(id, { externalId: null })
    }
  })

  test('needs digits: words that are written together are other words', async () => {
    const id = await add({ name: 'Blackbird', profile: { externalId: 'Finch-bird' } })
    await finds('q=finch%20bird', [id])
    assert.deepEqual(await search('q=finchbird'), [])
    assert.deepEqual(await search('q=black%20bird'), [])
  })
})

describe('listings', () => {
  test('are on offer and listed, newest first, and show a change at once', async () => {
    const category = 501
    const [a, b, c, d] = [
      await add({ categoryId: category }),
      await add({ categoryId: category, status: 'pending' }),
      await add({ categoryId: category, status: 'sold' }),
      await add({ categoryId: category, profile: { listed: false } }),
    ]
    const first = (await search('limit=100')).filter((id) => id >= a)
    assert.deepEqual(first, [b, a])
    assert.deepEqual(
      (await search('status=sold&limit=100')).filter((id) => id >= a),
      [c],
    )
    await finds(`categoryId=${category}`, [b, a])
    await finds(`categoryId=${category}&status=sold&status=available`, [c, a])
    await finds(`categoryId=${category}&view=staff&listed=any`, [d, c, b, a])
    await finds(`categoryId=${category}&view=staff&listed=false`, [d])
    await finds(`categoryId=${category}&view=staff`, [c, b, a])
    assert.deepEqual(
      (await search('view=staff&listed=any&limit=100')).filter((id) => id >= a),
      [d, c, b, a],
    )
  })

  test('are filtered by every field', async () => {
    const breeds = ['Épagneul Breton', 'Chien loup']
    const goodWith = { children: 'yes', dogs: 'yes', cats: 'selective' }
    const common = { species: 'Hund', breeds, sex: 'female', size: 'large', goodWith, specialNeeds: true }
    const id = await add({ categoryId: -502, profile: { ...common, ageGroup: 'senior', externalId: 'F-1' } })
    await add({ categoryId: 503, profile: { species: 'hund', ageGroup: 'young', externalId: 'F-2' } })
    await finds('q=F-1', [id])
    for (const query of [
      'categoryId=-502',
      'species=HUND&q=F-1',
      'breed=epagneul%20%20breton',
      'breed=chien%20loup',
      'species=hund&sex=female',
      'species=hund&size=large',
      'species=hund&ageGroup=senior',
      'species=hund&goodWith=dogs',
      'species=hund&goodWith=dogs&goodWith=children',
      'species=hund&specialNeeds=true',
    ])
      assert.deepEqual(await search(query), [id], query)
    for (const query of [
      'species=hun',
      'breed=chien',
      'species=hund&sex=male',
      'species=hund&goodWith=cats',
      'species=hund&specialNeeds=false',
      'species=hund&ageGroup=baby',
    ])
      assert.deepEqual(await search(query), [], query)
  })

  test('are found by words of the name, breeds, colors, external id and description', async () => {
    const profile = {
      ...{ breeds: ['Zwergspitz'], colors: ['zimtbraun'], externalId: 'Q-77', microchip: '276099' },
      description: "Luna's a żółty <b>zebra</b>; naïve, STRASSE, 日本語の犬. Don't miss her.",
    }
    const id = await add({ name: 'Zoë Quux', profile })
    // A word of the profile: the name is in the index earlier.
    await finds('q=zebra', [id])
    for (const q of [
      'zoe',
      'ZOË quux',
      'zwergspitz',
      'zimtbraun',
      'q 77',
      'zebra zoe',
      'zeb',
      'zolty',
      'naive straße quux',
      '日本語',
      '本語',
      'quux dont',
      "quux don't",
      'quux 日',
    ])
      if (q !== 'quux 日') assert.deepEqual(await search(`q=${encodeURIComponent(q)}`), [id], q)
    for (const q of ['ze', 'quux ebra', 'zeb quux', '276099', 'quux 日語'])
      assert.deepEqual(await search(`q=${encodeURIComponent(q)}`), [], q)
    assert.deepEqual(await search('q=276099&view=staff'), [id])
  })

  test('treat operators of the engines as text', async () => {
    const id = await add({ name: 'Or And Not Near', profile: { description: 'xylophone' } })
    await finds('q=xylophone', [id])
    for (const q of [
      '"',
      "'",
      '*',
      '(',
      ')',
      '^',
      '-',
      ':',
      '|',
      '&',
      '!',
      '\\',
      '<->',
      '%',
      '_',
      '\0',
      '{}:',
      ' NEAR( ',
      "');--",
      '\u{1f415}',
      '\ud800'.toWellFormed(),
    ]) {
      const response = await call(
        'GET',
        `/v1/listings?q=${encodeURIComponent(`${q}xylophone${q} or and not near`)}`,
      )
      assert.equal(response.status, 200, q)
      assert.deepEqual(idsOf(response.json), [id], q)
    }
  })

  test('are not filtered by a blank text, and not found by one without words', async () => {
    const id = await add({ categoryId: 507 })
    await finds('categoryId=507', [id])
    for (const q of ['', ' ', '\t\u3000\n'])
      for (const filter of ['categoryId=507&', 'limit=1&', 'limit=1&view=staff&listed=any&'])
        assert.deepEqual(await search(`${filter}q=${encodeURIComponent(q)}`), [id], q)
    for (const q of ['!!!', ' - ', '\u{1f415}', '\u0301'])
      for (const filter of ['categoryId=507&', '', 'view=staff&listed=any&'])
        assert.deepEqual(await search(`${filter}q=${encodeURIComponent(q)}`), [], q)
  })

  test('are rejected with wrong filters', async () => {
    for (const query of [
      'status=gone',
      'sex=x',
      'size=x',
      'ageGroup=x',
      'goodWith=x',
      'specialNeeds=1',
      'categoryId=x',
      'q=a+b+c+d+e+f+g+h+i',
      `q=${'x'.repeat(201)}`,
      'listed=any',
      'listed=false',
      'view=x',
      'limit=101',
      'species=',
    ])
      assertError(await call('GET', `/v1/listings?${query}`), 400, 'validation_failed')
    assertError(await call('GET', '/v1/listings?cursor=x'), 400, 'invalid_cursor')
    assertError(await call('GET', '/v1/listings?view=staff', { key: readKey }), 403, 'insufficient_scope')
  })

  test('of staff are not served to others by their cursor', async () => {
    await add()
    await add()
    const first = await call('GET', '/v1/listings?view=staff&limit=1')
    const cursor = new URL(nextPage(first) ?? '', 'http://localhost').searchParams.get('cursor')
    assert.equal((await call('GET', `/v1/listings?limit=1&cursor=${cursor}`)).status, 200)
    assertError(
      await call('GET', `/v1/listings?limit=1&cursor=${cursor}`, { key: readKey }),
      403,
      'insufficient_scope',
    )
  })

  test('are paged without gaps, with and without filters', async () => {
    const ids: number[] = []
    for (let count = 0; count < 7; count++)
      ids.unshift(await add({ categoryId: 504, status: count % 2 === 0 ? 'available' : 'pending' }))
    await finds('categoryId=504', ids)
    for (const query of ['categoryId=504&limit=2', 'limit=2']) {
      const found: number[] = []
      for (let path: string | undefined = `/v1/listings?${query}`; path !== undefined && found.length < 7; ) {
        const response = await call('GET', path)
        found.push(...idsOf(response.json))
        path = nextPage(response)
      }
      assert.deepEqual(found.slice(0, 7), ids)
    }
  })

  test('follow changes and removals, and never show an animal that does not match', async () => {
    const id = await add({ name: 'Findable', profile: { species: 'ferret' } })
    await finds('q=findable&species=ferret', [id])
    await update(id, { species: 'polecat' })
    assert.deepEqual(await search('q=findable&species=ferret'), [], 'checked again at once')
    await finds('q=findable&species=polecat', [id])
    await call('PATCH', `/v1/pets/${id}`, { body: { name: 'Renamed', status: 'sold' } })
    assert.deepEqual(await search('q=findable'), [])
    await finds('q=renamed&status=sold', [id])
    await call('DELETE', `/v1/pets/${id}`)
    assert.deepEqual(await search('q=renamed&status=sold'), [])
  })

  test('of one age can follow many of the same month that are older', async () => {
    const birth = (daysAgo: number) =>
      new Date(service.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)
    const yearAgo = new Date(service.now())
    yearAgo.setUTCFullYear(yearAgo.getUTCFullYear() - 1)
    const days = Math.round((service.now() - yearAgo.getTime()) / 86_400_000)
    const baby = await add({ categoryId: 506, profile: { birthDate: birth(days - 1) } })
    for (let count = 0; count < 45; count++)
      await add({ categoryId: 506, profile: { birthDate: birth(days) } })
    await finds('categoryId=506&ageGroup=baby&limit=1', [baby])
  })

  test('have the age of today', async () => {
    const born = new Date(service.now() - 300 * 86_400_000).toISOString().slice(0, 10)
    const id = await add({ profile: { birthDate: born, externalId: 'AGE-1' } })
    await finds('q=AGE-1&ageGroup=baby', [id])
    service.advance(100 * 86_400_000)
    await finds('q=AGE-1&ageGroup=young', [id])
    assert.deepEqual(await search('q=AGE-1&ageGroup=baby'), [])
  })
})

test('an animal is found behind many that are not listed', async () => {
  const id = await add({ name: 'Behind', profile: { species: 'heron' } })
  await finds('species=heron', [id])
  const database = await service.openDatabase()
  const pets = insertMany('pets', ['id', 'name', 'category_id', 'status'])
  const profiles = insertMany('profiles', ['pet_id', 'listed', 'data'])
  const ids = Array.from({ length: 2_100 }, (_, index) => 1_000_000 + index)
  await database.write(async (trx) => {
    await pets(
      trx,
      ids.map((each) => [each, 'Unlisted', 3n, 'available']),
    )
    await profiles(
      trx,
      ids.map((each) => [each, 0, '{}']),
    )
  })
  await finds('limit=1', [id])
})
