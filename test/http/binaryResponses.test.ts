import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { useService } from '../support/useService.ts'

const service = useService({}, { additional: new URL('../support/additionalOperations.ts', import.meta.url) })

const get = (name: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${service.base}/v1/test/pictures/${name}`, {
    method,
    headers: { authorization: `Bearer ${service.operatorKey}`, ...headers },
  })

describe('a binary response', () => {
  test('has its bytes, its type and its own caching, and the headers of every response', async () => {
    const response = await get('cat')
    const bytes = Buffer.from(await response.arrayBuffer())
    assert.deepEqual(bytes, Buffer.from([0, 255, 128, 13, 10, ...Buffer.from('cat')]))
    const { headers } = response
    assert.equal(headers.get('content-type'), 'image/webp')
    assert.equal(headers.get('content-length'), String(bytes.length))
    assert.equal(headers.get('cache-control'), 'public, max-age=86400, immutable')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.match(headers.get('x-ratelimit-remaining') ?? '', /^\d+$/)
    assert.equal(headers.get('x-stability'), 'experimental')
  })

  test('is not sent to HEAD, which has the same headers', async () => {
    const headersOf = ({ headers }: Response) => {
      const passing = /^(?:date|x-request-id|x-ratelimit-remaining|ratelimit|connection|keep-alive)$/
      return Object.fromEntries([...headers].filter(([name]) => !passing.test(name)))
    }
    const head = await get('cat', {}, 'HEAD')
    assert.equal((await head.arrayBuffer()).byteLength, 0)
    assert.deepEqual(headersOf(head), headersOf(await get('cat')))
  })

  test('is not sent again to a client that has it', async () => {
    const etag = (await get('cat')).headers.get('etag') ?? ''
    for (const method of ['GET', 'HEAD']) {
      const response = await get('cat', { 'if-none-match': etag }, method)
      assert.equal(response.status, 304)
      assert.equal((await response.arrayBuffer()).byteLength, 0)
      const { headers } = response
      assert.deepEqual([headers.get('etag'), headers.get('content-type')], [etag, null])
      assert.equal(headers.get('cache-control'), 'public, max-age=86400, immutable')
    }
    assert.equal((await get('dog', { 'if-none-match': etag })).status, 200)
  })

  test('is an Error in JSON if the request fails', async () => {
    const response = await get('none')
    assert.equal(response.status, 404)
    assert.equal(((await response.json()) as { code: string }).code, 'not_found')
    assert.equal(response.headers.get('cache-control'), 'private, no-cache')
  })
})
