import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { eventually, eventuallyHolds } from '../support/eventually.ts'
import { jpeg, picture, png, webp } from '../support/images.ts'
import { photoCalls } from '../support/photos.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { amplePlan, assertError } from '../support/responses.ts'

const calls = useCheckedCalls()
const { service, call } = calls
const { addPet, upload, added, list, fetchFile, imageAt } = photoCalls(calls)

describe('an uploaded photo', () => {
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

  test('needs pets:write', async () => {
    const id = await addPet()
    const { key } = await service.makeKey({ ...amplePlan, scopes: ['pets:read'] })
    const headers = { 'content-type': 'image/jpeg' }
    const rejected = await call('POST', `/v1/pets/${id}/photos`, {
      key,
      body: await jpeg(),
      headers,
    })
    assertError(rejected, 403, 'insufficient_scope')
    assert.deepEqual((await call('GET', `/v1/pets/${id}/photos`, { key })).json, [])
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
    const whole = await jpeg(400, 400)
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

  test('gets 400 if a side has more than 20,000 pixels, before it is decoded', async () => {
    const lineOf = (pixels: number) => pngOf(1, pixels, Buffer.alloc(2 * pixels))
    const beside = pngOf(20_001, 1, Buffer.alloc(1_000))
    for (const image of [lineOf(20_001), lineOf(1_000_000), beside])
      await rejects(image, 400, 'invalid_image', /a side of more than 20,000 pixels\. Reduce/, 'image/png')
    const { height } = await added(await addPet(), lineOf(20_000))
    assert.equal(height, 2_400)
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

describe('uploads of one key', () => {
  const roundsMs = 120_000
  const keyWith = async () => (await service.makeKey(amplePlan)).key
  const send = (key: string, id: number, body: Uint8Array) =>
    call('POST', `/v1/pets/${id}/photos`, { key, body, headers: { 'content-type': 'image/jpeg' } })

  /** A caller that has sent a photo and waits. */
  async function uploading(key: string, id: number, body: Uint8Array) {
    const headers = {
      ...{ host: 'petstore', authorization: `Bearer ${key}`, 'content-type': 'image/jpeg' },
      ...{ 'content-length': body.length, expect: '100-continue' },
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const head = `POST /v1/pets/${id}/photos HTTP/1.1\r\n${lines.join('')}\r\n`
    const connection = await openRawConnection(service.base, head)
    assert.equal((await connection.response()).status, 100)
    connection.socket.write(body)
    return connection
  }

  test('wait two at a time, and those whose caller has left are skipped', async () => {
    const [busy, own] = [await keyWith(), await keyWith()]
    const small = await jpeg()
    const large = await picture(5_000, 5_000).png({ progressive: true }).toBuffer()
    // On a slow machine, the large photo may be decoded before the others wait, or have left: then it begins again.
    const round = async () => {
      const id = await addPet()
      const decoding = send(busy, await addPet(), large)
      const leaving = [await uploading(own, id, small), await uploading(own, id, small)]
      const third = await send(own, id, small)
      for (const { socket } of leaving) socket.destroy()
      const next = await eventually('there is a place', async () => {
        const response = await send(own, id, small)
        return response.status === 201 && response
      })
      await decoding
      assertError(third, 503, 'unavailable')
      assert.match(third.json.message, /^2 other photos of this key are waiting\. Retry after/)
      assert.ok(Number(third.headers['retry-after']) > 0)
      assert.deepEqual(await list(id), [next.json])
    }
    await eventuallyHolds(round, roundsMs)
  })
})
