import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { pictureBytesMax, shortTime } from '../support/additionalOperations.ts'
import type { ClientResponse } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { openRawConnection, type RawConnection } from '../support/rawConnection.ts'
import { amplePlan } from '../support/responses.ts'
import type { TestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const additional = new URL('../support/additionalOperations.ts', import.meta.url)
const picturesPath = '/v1/test/pets/1/pictures'
const fastPath = '/v1/test/pets/1/fastPictures'
const webp = { 'content-type': 'image/webp' }
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** A request of which the body follows later, or never. */
const open = (service: TestService, path: string, headers: Record<string, string>) => {
  const given = { host: 'petstore', authorization: `Bearer ${service.operatorKey}`, ...webp, ...headers }
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`)
  return openRawConnection(service.base, `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
}

describe('a raw request body', () => {
  const service = useService({ PETSTORE_PUBLIC_URL: 'https://pets.example' }, { additional })
  const send = (body: Uint8Array | string, headers: Record<string, string> = webp) =>
    service.request('POST', picturesPath, { key: service.operatorKey, headers, body })

  test('reaches the handler unchanged, up to its limit', async () => {
    for (const bytes of [randomBytes(1), randomBytes(70_000), randomBytes(pictureBytesMax)]) {
      const { status, json, headers } = await send(bytes)
      assert.deepEqual([status, json.digest], [201, digestOf(bytes)])
      assert.equal(headers.location, `https://pets.example/v1/test/pets/1/pictures/${json.id}`)
    }
  })

  test('may come in chunks', async () => {
    const caller = await open(service, picturesPath, { 'transfer-encoding': 'chunked' })
    for (const chunk of ['one', 'two'.repeat(50_000)]) {
      caller.socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    }
    caller.socket.write('0\r\n\r\n')
    const { status, body } = await caller.response()
    const expected = digestOf(Buffer.from(`one${'two'.repeat(50_000)}`))
    assert.deepEqual([status, JSON.parse(body).digest], [201, expected])
    caller.socket.destroy()
  })

  test('has a type that may have parameters and capital letters', async () => {
    assert.equal((await send('x', { 'content-type': 'IMAGE/PNG; q=1' })).status, 201)
  })

  test('of another type, or compressed, is rejected before it arrives', async () => {
    for (const headers of [
      { 'content-type': 'image/gif' },
      { 'content-type': 'application/json' },
      { 'content-type': '' },
      { 'content-encoding': 'gzip' },
    ]) {
      const caller = await open(service, picturesPath, { 'content-length': '1000', ...headers })
      const { status, body } = await caller.response()
      assert.deepEqual([status, JSON.parse(body).code], [415, 'unsupported_media_type'])
      const says =
        'content-type' in headers ? /Send the body as image\/webp or image\/png/ : /without a Content-Enc/
      assert.match(JSON.parse(body).message, says)
      caller.socket.destroy()
    }
  })

  test('that is too large is rejected with the limit, announced or in chunks', async () => {
    const announced = await open(service, picturesPath, { 'content-length': String(pictureBytesMax + 1) })
    const chunked = await open(service, picturesPath, { 'transfer-encoding': 'chunked' })
    const tooMuch = 'x'.repeat(pictureBytesMax + 1)
    chunked.socket.write(`${tooMuch.length.toString(16)}\r\n${tooMuch}\r\n`)
    for (const caller of [announced, chunked]) {
      const { status, body } = await caller.response()
      assert.deepEqual([status, JSON.parse(body).code], [413, 'body_too_large'])
      assert.match(JSON.parse(body).message, /larger than 1 MiB\./)
      caller.socket.destroy()
    }
  })

  test('that is empty is rejected', async () => {
    const { status, json } = await send('')
    assert.deepEqual([status, json.code], [400, 'validation_failed'])
    assert.match(json.message, /the body is empty/)
  })

  test('does not replace the checks before it', async () => {
    const { status, json } = await service.request('POST', '/v1/test/pets/none/pictures', {
      key: service.operatorKey,
      headers: webp,
      body: 'x',
    })
    assert.deepEqual([status, json.code], [404, 'pet_not_found'])
    assert.equal((await service.request('POST', picturesPath, { headers: webp, body: 'x' })).status, 401)
  })

  describe('has a time to arrive', { concurrency: true }, () => {
    const assertTooSlow = async (caller: RawConnection) => {
      const { status, head, body } = await caller.response()
      assert.equal(status, 408)
      assert.match(head, /^connection: close$/im)
      assert.equal(JSON.parse(body).code, 'validation_failed')
      assert.match(
        JSON.parse(body).message,
        /within 0\.9 seconds, and at least 1 KiB a second after the first 0\.3/,
      )
      await caller.closed
    }

    test('one that does not begin in time is rejected', async () =>
      assertTooSlow(await open(service, fastPath, { 'content-length': '1000' })))

    test('one that is slower than the lowest rate is rejected', async () => {
      const caller = await open(service, fastPath, { 'content-length': '100000' })
      caller.socket.write('x'.repeat(100))
      await assertTooSlow(caller)
    })

    test('one that is fast enough at first, and does not end in time, is rejected', async () => {
      const caller = await open(service, fastPath, { 'content-length': '100000' })
      caller.socket.write('x'.repeat(99_000))
      await assertTooSlow(caller)
      assert.ok((await caller.closed).afterMs > shortTime.startMs * 2, 'not before the total time')
    })

    test('one that is fast enough may take longer than the first moments', async () => {
      const caller = await open(service, '/v1/test/pets/1/shortStartPictures', { 'content-length': '100000' })
      caller.socket.write('x'.repeat(99_000))
      setTimeout(() => caller.socket.write('x'.repeat(1_000)), shortTime.startMs * 1.5)
      assert.equal((await caller.response()).status, 201)
      caller.socket.destroy()
    })
  })
})

describe('the bytes of all request bodies together are bounded', () => {
  /** Raw bodies cannot take these. */
  const forJson = 1000
  const service = useService(
    {},
    { additional, bounds: { bodyBytesTotalMax: pictureBytesMax + forJson, bodyBytesForJson: forJson } },
  )
  const full = randomBytes(pictureBytesMax)
  const call = (method: string, path: string, body?: unknown, headers = {}): Promise<ClientResponse> =>
    service.request(method, path, { key: service.operatorKey, headers, ...(body !== undefined && { body }) })
  /** Needs all that raw bodies may take. */
  const sendFull = () => call('POST', picturesPath, full, webp)
  const sendByte = () => call('POST', picturesPath, 'x', webp)
  const createPet = () => call('POST', '/v1/pets', { name: 'Milo', categoryId: 1 })
  /** Opens a request whose body is missing, again if a probe was faster than it, until `isCounted`. */
  const hold = (isCounted: () => Promise<boolean>, headers: Record<string, string>, path = picturesPath) =>
    eventually('the body that is arriving counts', async () => {
      const holder = await open(service, path, { ...headers, expect: '100-continue' })
      // The service sends 100 when it begins to read the body. Bun sends it at once.
      const { status } = await holder.response()
      if (status === 100 && (await isCounted())) return holder
      holder.socket.destroy()
      return false
    })
  const lengthOf = (bytes: number) => ({ 'content-length': String(bytes) })

  const assertBusy = ({ status, json, headers }: ClientResponse) => {
    assert.deepEqual([status, json.code], [503, 'unavailable'])
    assert.equal(headers['retry-after'], '1')
  }
  const isBusy = async () => (await sendFull()).status === 503
  const isFull = async () => (await sendByte()).status === 503
  const isFree = async () => (await sendFull()).status === 201

  const holdJson = (bytes: number, isCounted = isBusy) =>
    hold(isCounted, { ...lengthOf(bytes), 'content-type': 'application/json' }, '/v1/pets')

  test('a body that does not fit is rejected before it arrives, with Retry-After', async () => {
    const holder = await hold(isBusy, lengthOf(pictureBytesMax - 100))
    const late = await open(service, picturesPath, lengthOf(101))
    const { status, head } = await late.response()
    assert.deepEqual([status, /^retry-after: 1$/im.test(head)], [503, true])
    late.socket.destroy()
    for (const send of [sendByte, createPet])
      assert.equal((await send()).status, 201, 'what fits is accepted')
    holder.socket.write(full.subarray(0, pictureBytesMax - 100))
    assert.equal((await holder.response()).status, 201)
    assert.equal((await sendFull()).status, 201)
    holder.socket.destroy()
  })

  test('bodies in JSON count too, and requests without a body are not affected', async () => {
    const json = await holdJson(2 * forJson)
    const holder = await hold(isFull, lengthOf(pictureBytesMax - forJson))
    assertBusy(await createPet())
    assert.equal((await call('GET', '/v1/pets')).status, 200)
    assert.equal((await call('DELETE', '/v1/pets/999')).status, 404)
    for (const { socket } of [json, holder]) socket.destroy()
    await eventually('what an aborted body has taken is free', isFree)
  })

  test('raw bodies leave a part to JSON, and JSON may take more than that', async () => {
    const holder = await hold(isFull, lengthOf(pictureBytesMax))
    assert.equal((await createPet()).status, 201)
    const isJsonFull = async () => (await createPet()).status === 503
    const json = await holdJson(forJson, isJsonFull)
    assertBusy(await createPet())
    for (const { socket } of [json, holder]) socket.destroy()
    await eventually('what an aborted body has taken is free', isFree)
    const large = await holdJson(2 * forJson)
    assert.equal((await createPet()).status, 201)
    large.socket.destroy()
    await eventually('what an aborted body has taken is free', isFree)
  })

  test('a body without an announced length counts as the largest until it has arrived', async () => {
    const caller = await hold(isFull, { 'transfer-encoding': 'chunked' })
    caller.socket.write('4\r\nwait\r\n0\r\n\r\n')
    await eventually('four bytes count', async () => (await sendByte()).status === 201)
    assertBusy(await sendFull())
    await call('DELETE', '/v1/test/state')
    assert.equal((await caller.response()).status, 201)
    assert.equal((await sendFull()).status, 201)
    caller.socket.destroy()
  })

  test('a body counts until its request has ended', async () => {
    const preparedSoFar = async () => (await call('GET', '/v1/test/state')).json.prepared
    const before = await preparedSoFar()
    const waiting = call('POST', picturesPath, Buffer.from('wait'.padEnd(pictureBytesMax)), webp)
    await eventually('it is prepared', async () => (await preparedSoFar()) > before)
    assertBusy(await sendByte())
    await call('DELETE', '/v1/test/state')
    assert.equal((await waiting).status, 201)
    assert.equal((await sendFull()).status, 201)
  })

  test('all of it is free again after every end of a request', async () => {
    const chunks = { 'transfer-encoding': 'chunked' }
    const ends: [name: string, end: () => Promise<unknown>, status?: number][] = [
      ['another type', () => call('POST', picturesPath, full, { 'content-type': 'text/plain' }), 415],
      ['a path that does not exist', () => call('POST', '/v1/test/pets/x/pictures', full, webp), 404],
      ['an error of the preparation', () => call('POST', picturesPath, 'reject', webp), 409],
      ['a fault of the preparation', () => call('POST', picturesPath, 'fail', webp), 500],
      [
        'an invalid Idempotency-Key',
        () => call('POST', picturesPath, full, { ...webp, 'idempotency-key': '' }),
        400,
      ],
      ['invalid JSON', () => call('POST', '/v1/pets', '{'), 400],
      [
        'too large a body in chunks',
        async () => {
          const caller = await open(service, '/v1/pets', chunks)
          caller.socket.write(`${(70_000).toString(16)}\r\n${'x'.repeat(70_000)}\r\n`)
          return caller.response()
        },
        413,
      ],
      [
        'a body that is too slow',
        async () => (await open(service, fastPath, lengthOf(pictureBytesMax))).response(),
        408,
      ],
      ['an abort', async () => (await hold(isFull, lengthOf(pictureBytesMax))).socket.destroy()],
      [
        'a body that is not HTTP',
        async () => {
          const caller = await open(service, picturesPath, chunks)
          caller.socket.end('no chunk\r\n')
          await caller.closed
        },
      ],
    ]
    for (const [name, end, status] of ends) {
      const ended = await end()
      if (status !== undefined) assert.equal((ended as { status: number }).status, status, name)
      await eventually(`after ${name} all is free`, isFree)
    }
  })
})

describe('the raw bodies of one key', () => {
  const bounds = {
    bodyBytesTotalMax: 3 * pictureBytesMax,
    bodyBytesForJson: 0,
    bodyBytesPerKey: pictureBytesMax,
  }
  const service = useService({}, { additional, bounds })
  const full = randomBytes(pictureBytesMax)
  const send = (key: string, body: Uint8Array | string) =>
    service.request('POST', picturesPath, { key, headers: webp, body })

  test('leave a part to those of others', async () => {
    const { operatorKey } = service
    const length = String(pictureBytesMax - 100)
    const slow = await eventually('the body that is arriving counts', async () => {
      const caller = await open(service, picturesPath, { 'content-length': length, expect: '100-continue' })
      const { status } = await caller.response()
      if (status === 100 && (await send(operatorKey, full)).status === 503) return caller
      caller.socket.destroy()
      return false
    })
    const rejected = await send(operatorKey, full)
    assert.deepEqual([rejected.status, rejected.json.code], [503, 'unavailable'])
    assert.match(rejected.json.message, /from this key/)
    assert.equal(rejected.headers['retry-after'], '1')
    assert.equal((await send(operatorKey, 'x')).status, 201, 'what fits is accepted')
    const { key } = await service.makeKey(amplePlan)
    assert.equal((await send(key, full)).status, 201)
    assert.equal((await service.request('GET', '/v1/pets', { key: operatorKey })).status, 200)
    slow.socket.destroy()
    await eventually('it is free again', async () => (await send(operatorKey, full)).status === 201)
  })
})
