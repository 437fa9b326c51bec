import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { headersOf, type Int64, type PetstoreOptions } from '../../client/src/index.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg, png, webp } from '../support/images.ts'
import { clientOf, hasCode } from '../support/petstoreClient.ts'
import { withIndexing } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const service = useService({}, { bounds: withIndexing })

type Fetch = NonNullable<PetstoreOptions['fetch']>
const storeWith = (fetch?: Fetch) => clientOf(service, fetch ? { fetch } : {}, { sleep: async () => {} })
const addPet = async (name = 'Luna', categoryId = 3): Promise<Int64> =>
  (await storeWith().pets.create({ name, categoryId })).id

describe('a profile', () => {
  test('is read and changed, and null clears a field', async () => {
    const store = storeWith()
    const id = await addPet()
    const empty = await store.pets.profile.get(id)
    assert.deepEqual([empty.species, empty.breeds, empty.listed], [null, [], true])
    const change = { species: 'Dog', fee: { amount: 15_000, currency: 'EUR' }, location: 'Kennel 4' }
    const changed = await store.pets.profile.update(id, change)
    assert.deepEqual([changed.species, changed.fee, changed.location], ['dog', change.fee, 'Kennel 4'])
    assert.equal((await store.pets.profile.update(id, { species: null })).species, null)
    assert.ok(!('location' in (await store.pets.profile.get(id))))
    assert.equal((await store.pets.profile.get(id, { view: 'staff' })).location, 'Kennel 4')
  })

  test('is changed with ifMatch only if no other client has changed it', async () => {
    const store = storeWith()
    const id = await addPet()
    const ifMatch = headersOf(await store.pets.profile.get(id)).get('etag')
    await store.pets.profile.update(id, { description: 'First' }, { ifMatch })
    const second = store.pets.profile.update(id, { description: 'Second' }, { ifMatch })
    await assert.rejects(second, hasCode('precondition_failed'))
    const { profile, etags } = await store.listings.get(id)
    assert.equal(profile.description, 'First')
    await store.pets.profile.update(id, { description: 'Second' }, { ifMatch: etags.profile })
  })
})

describe('a photo', () => {
  test('is added from a Blob, a File, a Uint8Array or an ArrayBuffer', async () => {
    const bytes = new Uint8Array(await jpeg(64, 48))
    // A part of a larger buffer.
    const part = new Uint8Array([...bytes, ...bytes]).subarray(bytes.length)
    const file = new File([bytes], 'luna.heic', { type: 'image/heic' })
    const id = await addPet()
    const store = storeWith()
    for (const body of [new Blob([bytes]), file, bytes, part, Buffer.from(bytes), bytes.buffer]) {
      const photo = await store.pets.photos.add(id, body)
      assert.deepEqual([photo.width, photo.height], [64, 48])
    }
    assert.deepEqual(
      (await store.pets.photos.list(id)).map(({ position }) => position),
      [0, 1, 2, 3, 4, 5],
    )
  })

  test('is sent with the media type of its content', async () => {
    const types: (string | null)[] = []
    const store = storeWith((url, init) => {
      types.push(new Headers(init.headers).get('content-type'))
      return fetch(url, init)
    })
    const id = await addPet()
    const add = async (bytes: Uint8Array<ArrayBuffer>, type = '') => {
      const photo = await store.pets.photos.add(id, type === '' ? bytes : new Blob([bytes], { type }))
      assert.equal(photo.width, 32)
    }
    await add(new Uint8Array(await jpeg(32, 32)))
    await add(new Uint8Array(await png(32, 32)))
    await add(new Uint8Array(await webp(32, 32)))
    await add(new Uint8Array(await webp(32, 32)), 'image/jpeg')
    assert.deepEqual(types, ['image/jpeg', 'image/png', 'image/webp', 'image/webp'])
  })

  test('that is no image is an error that says so', async () => {
    const id = await addPet()
    for (const text of ['', 'not an image'])
      await assert.rejects(storeWith().pets.photos.add(id, new TextEncoder().encode(text)), /JPEG|empty|body/)
    assert.deepEqual(await storeWith().pets.photos.list(id), [])
  })

  test('is added once if its response is lost and the request is repeated', async () => {
    let requests = 0
    const store = storeWith(async (url, init) => {
      const response = await fetch(url, init)
      if (++requests > 1) return response
      await response.body?.cancel()
      throw new TypeError('The connection was lost.')
    })
    const id = await addPet()
    const photo = await store.pets.photos.add(id, new Uint8Array(await jpeg(32, 32)))
    assert.equal(requests, 2)
    assert.equal(headersOf(photo).get('idempotent-replayed'), 'true')
    assert.deepEqual(await storeWith().pets.photos.list(id), [photo])
  })

  test('is changed, moved and removed', async () => {
    const store = storeWith()
    const id = await addPet()
    const first = await store.pets.photos.add(id, new Uint8Array(await jpeg(32, 32)))
    const second = await store.pets.photos.add(id, new Uint8Array(await png(32, 32)))
    const changed = await store.pets.photos.update(id, second.id, { alt: 'Luna with a ball', position: 0 })
    assert.deepEqual([changed.alt, changed.position], ['Luna with a ball', 0])
    await store.pets.photos.delete(id, first.id)
    assert.deepEqual(await store.pets.photos.list(id), [changed])
    await assert.rejects(store.pets.photos.delete(id, first.id), hasCode('photo_not_found'))
  })
})

describe('listings', () => {
  test('are iterated over all pages, with filters', async () => {
    const store = storeWith()
    const { id: categoryId } = await store.categories.create({ name: 'Listings' })
    const ids: Int64[] = []
    for (let index = 0; index < 5; index++) {
      const id = await addPet(`Dog ${index}`, Number(categoryId))
      await store.pets.profile.update(id, {
        species: 'dog',
        sex: index === 0 ? 'male' : 'female',
        goodWith: { children: 'yes', cats: index === 1 ? 'no' : 'yes' },
      })
      ids.unshift(id)
    }
    const found = async () => {
      const query = { categoryId, species: 'dog', sex: 'female', limit: 2 } as const
      const items: Int64[] = []
      for await (const { pet } of store.listings.list({ ...query, goodWith: ['children', 'cats'] }))
        items.push(pet.id)
      return items
    }
    // The index is a moment behind.
    await eventually('the index has all', async () => (await found()).length === 3)
    assert.deepEqual(await found(), ids.slice(0, 3))
    const [newest] = await store.listings.list({ categoryId, status: ['available'] }).toArray({ limit: 1 })
    assert.deepEqual([newest?.pet.name, newest?.profile.summary, newest?.photos], ['Dog 4', null, []])
  })

  test('of staff have animals that are not listed', async () => {
    const store = storeWith()
    const id = await addPet('Hidden')
    await store.pets.profile.update(id, { listed: false, staffNotes: 'In quarantine' })
    await assert.rejects(store.listings.get(id), hasCode('pet_not_found'))
    assert.equal((await store.listings.get(id, { view: 'staff' })).profile.staffNotes, 'In quarantine')
    const [newest] = await store.listings.list({ view: 'staff', listed: 'any' }).toArray({ limit: 1 })
    assert.equal(newest?.pet.id, id)
  })

  test('have types for their filters', () => {
    const { list } = storeWith().listings
    type Query = NonNullable<Parameters<typeof list>[0]>
    // @ts-expect-error
    const wrong: Query[] = [{ ageGroup: 'old' }, { sex: 'female', size: 'small' }]
    // @ts-expect-error
    const one: Query = { goodWith: 'dogs' }
    assert.ok(wrong && one)
  })
})

test('the history of an animal is read in pages, with who changed it', async () => {
  const store = storeWith()
  const id = await addPet()
  await store.pets.profile.update(id, { species: 'cat' })
  const photo = await store.pets.photos.add(id, new Uint8Array(await jpeg(32, 32)))
  const { keyId, name } = await store.limits.get()
  const entries = await store.pets.history.list(id, { limit: 2 }).toArray({ limit: 10 })
  assert.deepEqual(
    entries.map(({ type, actor }) => [type, actor]),
    ['photo.added', 'profile.updated', 'pet.created'].map((type) => [type, { keyId, name }]),
  )
  assert.equal(entries[0]?.data.id, photo.id)
})
