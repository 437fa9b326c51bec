import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { systemClock } from '../../client/src/clock.ts'
import { PetstoreError } from '../../client/src/errors.ts'
import { Http, headersOf } from '../../client/src/http.ts'
import { operations } from '../../client/src/schema.ts'
import { useService } from '../support/useService.ts'

// As tools/apiTypes.ts writes them: no shipped operation has bytes yet.
Object.assign(operations, {
  addPicture: ['POST', '/test/pets/{petId}/pictures'],
  getPicture: ['GET', '/test/pictures/{name}', 'image/webp', 'image/png'],
  getState: ['GET', '/test/state', 'image/webp'],
})

const service = useService({}, { additional: new URL('../support/additionalOperations.ts', import.meta.url) })

type Fetch = (url: string, init: RequestInit) => Promise<Response>
type Call = (id: string, input: object, options?: object) => Promise<unknown>
const client = (fetchWith: Fetch = fetch) => {
  const http = new Http(
    { baseUrl: `${service.base}/v1`, apiKey: service.operatorKey, fetch: fetchWith },
    { ...systemClock, sleep: async () => {} },
  )
  return http.call.bind(http) as Call
}
const params = { petId: 1 }
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

describe('bytes in a request', () => {
  const bytes = new Uint8Array(randomBytes(100_000))

  test('are sent unchanged, as a Blob, a Uint8Array or an ArrayBuffer', async () => {
    for (const [body, contentType] of [
      [new Blob([bytes], { type: 'image/webp' }), undefined],
      [new Blob([bytes]), 'image/png'],
      [bytes, 'image/webp'],
      [bytes.buffer, 'image/webp'],
    ]) {
      const created = (await client()('addPicture', { params, body }, { contentType })) as { digest: string }
      assert.equal(created.digest, digestOf(bytes))
    }
  })

  test('without a type are not sent', async () => {
    for (const body of [bytes, new Blob([bytes])])
      await assert.rejects(client()('addPicture', { params, body }), /contentType is missing/)
  })

  test('are sent again with the same Idempotency-Key after a lost response', async () => {
    const keys: (string | null)[] = []
    const losesFirst: Fetch = async (url, init) => {
      const response = await fetch(url, init)
      keys.push(new Headers(init.headers).get('idempotency-key'))
      if (keys.length === 1) throw new TypeError('The connection was lost.')
      return response
    }
    const body = new Blob([bytes], { type: 'image/webp' })
    const created = (await client(losesFirst)('addPicture', { params, body })) as { digest: string }
    assert.equal(created.digest, digestOf(bytes))
    assert.equal(headersOf(created).get('idempotent-replayed'), 'true')
    assert.deepEqual([keys.length, keys[0]], [2, keys[1]])
  })

  test('of a type that is not accepted are an error', async () => {
    const call = client()('addPicture', { params, body: bytes }, { contentType: 'image/gif' })
    await assert.rejects(
      call,
      (error) => error instanceof PetstoreError && error.code === 'unsupported_media_type',
    )
  })
})

describe('bytes in a response', () => {
  test('are a Blob with their type and headers', async () => {
    const blob = (await client()('getPicture', { params: { name: 'cat' } })) as Blob
    assert.equal(blob.type, 'image/webp')
    const expected = Buffer.from([0, 255, 128, 13, 10, ...Buffer.from('cat')])
    assert.deepEqual(Buffer.from(await blob.arrayBuffer()), expected)
    assert.match(headersOf(blob).get('etag') ?? '', /^"/)
  })

  test('of another type than the operation describes are an error', async () => {
    const call = client()('getState', {})
    await assert.rejects(
      call,
      (error) => error instanceof PetstoreError && error.code === 'unexpected_response',
    )
  })
})
