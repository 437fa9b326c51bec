import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { startTestService, type TestService } from '../support/service.ts'
import { call } from '../support/socket.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

const paths = [
  '/',
  '/docs',
  '/docs/start.js',
  '/docs/reference.js',
  '/guides',
  '/guides/keys',
  '/v1/openapi.json',
  '/v1/openapi.yaml',
  '/healthz',
  '/readyz',
  '/metrics',
]

describe('a page is there to be read', () => {
  for (const path of paths) {
    test(`${path} answers GET and HEAD, and 405 with Allow to every other method`, async () => {
      assert.equal((await service.request('GET', path)).status, 200)
      const head = await service.request('HEAD', path)
      assert.deepEqual([head.status, head.text], [200, ''])
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const refused = await service.request(method, path, { key: service.operatorKey })
        assert.equal(refused.status, 405, method)
        assert.equal(refused.headers.allow, 'GET, HEAD')
        assert.equal(refused.json.code, 'method_not_allowed')
        assert.equal(refused.json.status, 405)
      }
    })
  }
})

describe('the script of the reference', () => {
  const path = '/docs/reference.js'

  /** The bytes as they come, which a client that unpacks by itself would not show. */
  async function bytesOf(headers: Record<string, string>) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const caller = await call(service.base, `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${lines.join('')}\r\n`)
    try {
      const { status, head, body } = await caller.answer()
      assert.equal(status, 200)
      return { head, bytes: Buffer.from(body, 'latin1') }
    } finally {
      caller.socket.destroy()
    }
  }

  test('has an ETag, and is not sent again to who knows it', async () => {
    const { headers } = await service.request('GET', path)
    assert.match(String(headers.etag), /^"[^"]+"$/)
    for (const known of [String(headers.etag), `"other", ${headers.etag}`, `W/${headers.etag}`, '*']) {
      const again = await service.request('GET', path, { headers: { 'if-none-match': known } })
      assert.deepEqual([again.status, again.text], [304, ''], known)
      assert.equal(again.headers.etag, headers.etag)
    }
    const other = await service.request('GET', path, { headers: { 'if-none-match': '"other"' } })
    assert.equal(other.status, 200)
  })

  test('is compressed for who takes it, and the same script for all', async () => {
    const plain = await bytesOf({})
    assert.doesNotMatch(plain.head, /^content-encoding:/im)
    const zipped = await bytesOf({ 'Accept-Encoding': 'br;q=1.0, gzip;q=0.8, *;q=0.1' })
    assert.match(zipped.head, /^content-encoding: gzip$/im)
    for (const { head } of [plain, zipped]) assert.match(head, /^vary: accept-encoding$/im)
    assert.ok(zipped.bytes.length < plain.bytes.length / 2)
    assert.ok(gunzipSync(zipped.bytes).equals(plain.bytes))
  })
})
