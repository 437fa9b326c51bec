import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deletePet } from '../../src/pets/queries.ts'
import { deletePhotoFiles } from '../../src/schedule.ts'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'
import { photoCalls } from '../support/photos.ts'
import { assertError } from '../support/responses.ts'

const calls = useCheckedCalls()
const { service, call } = calls
const { addPet, upload, added, list, fetchFile, imageAt } = photoCalls(calls)

describe('an uploaded photo', () => {
  test('is returned with its size, color and addresses, which need no key', async () => {
    const id = await addPet()
    const response = await upload(id, await jpeg(2_000, 1_000))
    assert.equal(response.status, 201, response.text)
    const { json, headers } = response
    assert.match(json.id, /^[A-Za-z0-9_-]{22}$/)
    assert.equal(headers.location, `/v1/pets/${id}/photos/${json.id}`)
    assert.deepEqual(
      {
        position: json.position,
        alt: json.alt,
        caption: json.caption,
        width: json.width,
        height: json.height,
      },
      { position: 0, alt: null, caption: null, width: 1_600, height: 800 },
    )
    assert.match(json.color, /^#[0-9a-f]{6}$/)
    for (const [name, width, format] of [
      ['320', 320, 'webp'],
      ['640', 640, 'webp'],
      ['1600', 1_600, 'webp'],
      ['jpeg', 1_600, 'jpeg'],
    ] as const) {
      const { metadata } = await imageAt(json.urls[name])
      assert.deepEqual([metadata.width, metadata.height, metadata.format], [width, width / 2, format], name)
    }
    assert.deepEqual(await list(id), [json])
  })

  test('is added once for an Idempotency-Key', async () => {
    const id = await addPet()
    const body = await jpeg()
    const headers = { 'idempotency-key': 'photo-1' }
    const first = await upload(id, body, 'image/jpeg', headers)
    const second = await upload(id, body, 'image/jpeg', headers)
    assert.deepEqual([first.status, second.status, second.text], [201, 201, first.text])
    assert.equal(second.headers['idempotent-replayed'], 'true')
    assert.equal((await list(id)).length, 1)
  })

  test('changes the time of the profile, and has events without its content', async () => {
    const id = await addPet()
    service.advance(1_000)
    const photo = await added(id)
    const updatedAt = new Date(service.now()).toISOString()
    assert.equal((await call('GET', `/v1/pets/${id}/profile`)).json.updatedAt, updatedAt)
    await call('PATCH', `/v1/pets/${id}/photos/${photo.id}`, { body: { alt: 'A dog' } })
    await call('DELETE', `/v1/pets/${id}/photos/${photo.id}`)
    const events = (await call('GET', '/v1/events?limit=100', { key: service.operatorKey })).json.slice(-3)
    assert.deepEqual(
      events.map(({ type, data }: { type: string; data: object }) => [type, data]),
      ['photo.added', 'photo.updated', 'photo.removed'].map((type) => [
        type,
        { id: photo.id, petId: id, updatedAt },
      ]),
    )
  })
})

describe('photos of an animal', () => {
  test('are ordered, described and removed', async () => {
    const id = await addPet()
    const photos = [await added(id), await added(id), await added(id)]
    const ids = photos.map((photo) => photo.id)
    const move = (photoId: string, body: object) =>
      call('PATCH', `/v1/pets/${id}/photos/${photoId}`, { body })
    const moved = await move(ids[2], { position: 0, alt: 'Luna with a ball', caption: 'In the garden' })
    assert.deepEqual([moved.status, moved.json.position, moved.json.alt], [200, 0, 'Luna with a ball'])
    const order = async () => (await list(id)).map((photo: { id: string }) => photo.id)
    assert.deepEqual(await order(), [ids[2], ids[0], ids[1]])
    assert.equal((await move(ids[2], { position: 19 })).json.position, 2)
    assert.deepEqual(await order(), ids)
    assert.equal((await move(ids[2], { alt: null })).json.alt, null)
    assertError(await move(ids[2], { position: 20 }), 400, 'validation_failed')
    assertError(await move(ids[2], { alt: 'x'.repeat(1_001) }), 400, 'validation_failed')
    assertError(await move('unknown', { alt: 'x' }), 404, 'photo_not_found')
    assert.equal((await fetchFile(photos[0].urls[320])).status, 200)
    assert.equal((await call('DELETE', `/v1/pets/${id}/photos/${ids[0]}`)).status, 204)
    assertError(await call('DELETE', `/v1/pets/${id}/photos/${ids[0]}`), 404, 'photo_not_found')
    assert.deepEqual(
      (await list(id)).map((photo: { position: number }) => photo.position),
      [0, 1],
    )
    assert.equal((await fetchFile(photos[0].urls[320])).status, 404)
  })

  test('of another animal are not found', async () => {
    const [first, second] = [await addPet(), await addPet()]
    const { id } = await added(first)
    assertError(await call('DELETE', `/v1/pets/${second}/photos/${id}`), 404, 'photo_not_found')
    assertError(await call('PATCH', `/v1/pets/999999/photos/${id}`, { body: {} }), 404, 'pet_not_found')
  })

  test('are at most 20, also if they are uploaded at the same time', async () => {
    const id = await addPet()
    const body = await jpeg(32, 32)
    for (let count = 0; count < 18; count++) await added(id, body)
    const responses = await Promise.all(Array.from({ length: 3 }, () => upload(id, body)))
    const statuses = responses.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [201, 201, 409])
    assertError(await upload(id, body), 409, 'too_many_photos')
    const positions = (await list(id)).map((photo: { position: number }) => photo.position)
    assert.deepEqual(
      positions,
      Array.from({ length: 20 }, (_, position) => position),
    )
  })

  test('are removed with their animal, and leave no file behind', async () => {
    const id = await addPet()
    const { urls } = await added(id)
    assert.equal((await fetchFile(urls[320])).status, 200)
    await call('DELETE', `/v1/pets/${id}`)
    assert.equal((await fetchFile(urls[320])).status, 404)
    assertError(await call('GET', `/v1/pets/${id}/photos`), 404, 'pet_not_found')
    const database = await service.openDatabase()
    await deletePhotoFiles(database)
    const photos = await database.read.selectFrom('photos').select('id').execute()
    const kept = new Set(photos.map((photo) => photo.id))
    const files = await database.read.selectFrom('photo_files').select('photo_id').execute()
    assert.deepEqual(
      files.filter(({ photo_id }) => !kept.has(photo_id)),
      [],
    )
    assert.deepEqual(await database.read.selectFrom('deleted_photos').selectAll().execute(), [])
  })
})

describe('a file of a photo', () => {
  test('is served from memory until another process removes it', async () => {
    const id = await addPet()
    const { urls } = await added(id)
    const first = await (await fetchFile(urls[640])).bytes()
    assert.deepEqual(await (await fetchFile(urls[640])).bytes(), first)
    const database = await service.openDatabase()
    const pet = { id, name: 'Luna', categoryId: 3n, status: 'available' } as const
    await database.write((trx) => deletePet(trx, pet, service.now()))
    // On PostgreSQL the service notices the change at its next poll.
    await eventually('it is not served', async () => (await fetchFile(urls[640])).status === 404)
  })
})
