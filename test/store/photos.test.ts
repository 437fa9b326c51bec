import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { deletePet } from '../../src/pets/queries.ts'
import { deletePhotoFiles } from '../../src/schedule.ts'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg, picture, png, webp } from '../support/images.ts'
import { amplePlan, assertError } from '../support/responses.ts'

const { service, call } = useCheckedCalls()
let readKey: string
before(async () => {
  readKey = (await service.makeKey({ ...amplePlan, scopes: ['pets:read'] })).key
})

const addPet = async (): Promise<number> =>
  (await call('POST', '/v1/pets', { body: { name: 'Luna', categoryId: 3 } })).json.id
const upload = (id: number, body: Uint8Array, type = 'image/jpeg', headers = {}) =>
  call('POST', `/v1/pets/${id}/photos`, { body, headers: { 'content-type': type, ...headers } })
async function added(id: number, body?: Uint8Array) {
  const response = await upload(id, body ?? (await jpeg()))
  assert.equal(response.status, 201, response.text)
  return response.json
}
const list = async (id: number) => (await call('GET', `/v1/pets/${id}/photos`)).json
const fetchFile = (path: string, init: RequestInit = {}) => fetch(new URL(path, service.base), init)
async function imageAt(path: string) {
  const response = await fetchFile(path)
  assert.equal(response.status, 200)
  const bytes = Buffer.from(await response.arrayBuffer())
  return { bytes, metadata: await sharp(bytes).metadata() }
}

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

  test('is never enlarged', async () => {
    const { width, height, urls } = await added(await addPet(), await jpeg(200, 100))
    assert.deepEqual([width, height], [200, 100])
    assert.equal((await imageAt(urls[1600])).metadata.width, 200)
  })

  test('can be PNG with transparency, and WebP, with any Content-Type of an image', async () => {
    const id = await addPet()
    const transparent = await sharp({
      create: { width: 64, height: 64, channels: 4, background: '#00000000' },
    })
      .png()
      .toBuffer()
    for (const [body, type] of [
      [transparent, 'image/png'],
      [await webp(), 'image/webp'],
      [await png(), 'image/jpeg'],
    ] as const)
      assert.equal((await upload(id, body, type)).status, 201)
  })

  test('is turned upright, and has none of its metadata', async () => {
    const tagged = await picture(400, 200)
      .withExif({
        IFD0: { Make: 'Camera', Artist: 'Ada Example' },
        IFD3: { GPSLatitude: '51/1 30/1 3230/100' },
      })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer()
    assert.ok((await sharp(tagged).metadata()).exif)
    const { width, height, urls } = await added(await addPet(), tagged)
    assert.deepEqual([width, height], [200, 400])
    for (const url of Object.values<string>(urls)) {
      const { metadata, bytes } = await imageAt(url)
      assert.deepEqual(
        [metadata.exif, metadata.xmp, metadata.icc, metadata.orientation],
        [undefined, undefined, undefined, undefined],
      )
      assert.ok(!bytes.includes('Ada Example'))
    }
  })

  test('of CMYK becomes one of RGB', async () => {
    const cmyk = await picture(64, 64).toColourspace('cmyk').jpeg().toBuffer()
    assert.equal((await sharp(cmyk).metadata()).space, 'cmyk')
    const { urls } = await added(await addPet(), cmyk)
    assert.equal((await imageAt(urls.jpeg)).metadata.space, 'srgb')
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
    const responses = await Promise.all(Array.from({ length: 4 }, () => upload(id, body)))
    const statuses = responses.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [201, 201, 409, 409])
    assertError(await upload(id, body), 409, 'too_many_photos')
    const positions = (await list(id)).map((photo: { position: number }) => photo.position)
    assert.deepEqual(
      positions,
      Array.from({ length: 20 }, (_, position) => position),
    )
  })

  test('need pets:write to be changed', async () => {
    const id = await addPet()
    const headers = { 'content-type': 'image/jpeg' }
    const rejected = await call('POST', `/v1/pets/${id}/photos`, {
      key: readKey,
      body: await jpeg(),
      headers,
    })
    assertError(rejected, 403, 'insufficient_scope')
    assert.deepEqual((await call('GET', `/v1/pets/${id}/photos`, { key: readKey })).json, [])
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
  test('has the headers that let browsers keep it, and run nothing in it', async () => {
    const { urls } = await added(await addPet())
    for (const [name, url] of Object.entries<string>(urls)) {
      const { headers } = await fetchFile(url)
      assert.deepEqual(
        ['content-type', 'cache-control', 'x-content-type-options'].map((each) => headers.get(each)),
        [name === 'jpeg' ? 'image/jpeg' : 'image/webp', 'public, max-age=86400, immutable', 'nosniff'],
      )
      assert.match(String(headers.get('content-security-policy')), /sandbox/)
    }
    const response = await fetchFile(urls[640])
    const header = (name: string) => response.headers.get(name)
    assert.equal(header('cross-origin-resource-policy'), 'cross-origin')
    assert.equal(header('x-ratelimit-limit'), null)
    const head = await fetchFile(urls[640], { method: 'HEAD' })
    assert.equal(head.headers.get('content-length'), header('content-length'))
    const known = { 'if-none-match': String(header('etag')) }
    assert.equal((await fetchFile(urls[640], { headers: known })).status, 304)
  })

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

  test('exists under its names only', async () => {
    const { id } = await added(await addPet())
    for (const path of [
      `/photos/${id}/641.webp`,
      `/photos/${id}/640.jpg`,
      `/photos/${id}`,
      `/photos/${'x'.repeat(22)}/640.webp`,
      `/photos/${id}/constructor`,
    ])
      assert.equal((await fetchFile(path)).status, 404, path)
  })
})

/** A PNG of one color with any size. */
function pngOf(width: number, height: number, data: Buffer): Buffer {
  const chunk = (type: string, content: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), content])
    const frame = Buffer.alloc(4)
    frame.writeUInt32BE(content.length)
    const crc = Buffer.alloc(4)
    crc.writeUInt32BE(crc32(body))
    return Buffer.concat([frame, body, crc])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(data)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

describe('a file that is no photo', () => {
  const rejects = async (
    body: Uint8Array,
    status: number,
    code: string,
    message: RegExp,
    type = 'image/jpeg',
  ) => {
    const id = await addPet()
    const response = await upload(id, body, type)
    assertError(response, status, code)
    assert.match(response.json.message, message)
    assert.deepEqual(await list(id), [])
  }

  test('gets 415 that says what to do', async () => {
    const unsupported = 'unsupported_media_type'
    const heic = Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1')
    await rejects(heic, 415, unsupported, /HEIC.*JPEG/)
    await rejects(Buffer.from('GIF89a\x01\0\x01\0'), 415, unsupported, /GIF/)
    await rejects(
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'),
      415,
      unsupported,
      /SVG/,
    )
    await rejects(Buffer.from('II*\0abc'), 415, unsupported, /TIFF/)
    await rejects(Buffer.from('%PDF-1.7'), 415, unsupported, /PDF/)
    await rejects(Buffer.from('<html><script>1</script>'), 415, unsupported, /not a JPEG/)
    await rejects(await jpeg(), 415, unsupported, /image\/jpeg.*HEIC.*JPEG/, 'image/heic')
    await rejects(await jpeg(), 415, unsupported, /image\/jpeg/, 'text/html')
  })

  test('gets 400 if it is damaged, cut off or too large to decode', async () => {
    const whole = await jpeg(2_000, 2_000)
    await rejects(whole.subarray(0, whole.length / 2), 400, 'invalid_image', /damaged/)
    await rejects(
      Buffer.concat([Buffer.from('\xff\xd8\xff', 'latin1'), randomBytes(2_000)]),
      400,
      'invalid_image',
      /damaged/,
    )
    await rejects(pngOf(30_000, 30_000, Buffer.alloc(1_000)), 400, 'invalid_image', /megapixels/, 'image/png')
    await rejects(Buffer.alloc(0), 400, 'validation_failed', /empty/)
  })

  test('gets 413 if it has more than 10 MiB', async () => {
    const id = await addPet()
    const response = await upload(id, Buffer.alloc(10 * 1024 * 1024 + 1))
    assertError(response, 413, 'body_too_large')
    assert.match(response.json.message, /10 MiB/)
  })

  test('that is a photo and a script at once becomes a photo alone', async () => {
    const polyglot = Buffer.concat([await jpeg(), Buffer.from('<script>alert(1)</script>')])
    const { urls } = await added(await addPet(), polyglot)
    for (const url of Object.values<string>(urls)) assert.ok(!(await imageAt(url)).bytes.includes('<script>'))
  })
})
