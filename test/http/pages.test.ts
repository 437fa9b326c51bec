import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { openRawConnection } from '../support/rawConnection.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const service = useService({ PETSTORE_METRICS_OPEN: 'true' })

/** Those that are the same for every client. */
const staticPaths = [
  '/',
  '/docs',
  '/docs/start.js',
  '/docs/reference.js',
  '/guides',
  '/guides/keys',
  '/guides/keys.md',
  '/guides/copy.js',
  '/v1/openapi.json',
  '/v1/openapi.yaml',
]
const publicPaths = ['/v1/openapi.json', '/v1/openapi.yaml']

describe('a page is there to be read', () => {
  for (const path of [...staticPaths, '/healthz', '/readyz', '/metrics']) {
    test(`${path} responds to GET and HEAD, and with 405 and Allow to every other method`, async () => {
      assert.equal((await service.request('GET', path)).status, 200)
      const head = await service.request('HEAD', path)
      assert.deepEqual([head.status, head.text], [200, ''])
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const rejected = await service.request(method, path, { key: service.operatorKey })
        assert.equal(rejected.status, 405, method)
        assert.equal(rejected.headers.allow, publicPaths.includes(path) ? 'GET, HEAD, OPTIONS' : 'GET, HEAD')
        assert.equal(rejected.json.code, 'method_not_allowed')
        assert.equal(rejected.json.status, 405)
      }
    })
  }

  test('/guides lists every guide once', async () => {
    const { text } = await service.request('GET', '/guides')
    const listed = [...text.matchAll(/href="\/guides\/([^"]+)"/g)].map(([, name]) => `${name}.md`)
    assert.deepEqual(listed.sort(), readdirSync('docs/guides').sort())
  })

  test('a guide that does not exist is a 404 with an Error body', async () => {
    for (const path of [
      '/guides/none',
      '/guides/none.md',
      '/guides/..%2Fdecisions%2F0001',
      '/guides/keys/x',
    ]) {
      const { status, json } = await service.request('GET', path)
      assert.deepEqual([status, json.code], [404, 'not_found'], path)
    }
  })
})

describe('a path that does not exist', () => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8'
  const open = (path: string, accept?: string, method = 'GET') =>
    service.request(method, path, { ...(accept !== undefined && { headers: { accept } }) })

  test('is a page for browsers', async () => {
    for (const path of [
      '/none',
      '/adopt',
      '/adopt/1',
      '/guides/none',
      '/photos/x/640.webp',
      '/none/',
      '/v2/pets',
    ])
      for (const accept of [browser, 'text/html', 'application/json;q=0.5, text/*']) {
        const { status, headers, text } = await open(path, accept)
        assert.deepEqual([path, status], [path, 404])
        assert.equal(headers['content-type'], 'text/html; charset=utf-8')
        assert.equal(headers['cache-control'], 'no-store')
        assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
        assert.ok(headers['x-request-id'])
        assert.match(text, /<h1>This page does not exist<\/h1>/)
        assert.match(text, /<a href="\/"><strong>/)
      }
    const head = await open('/none', browser, 'HEAD')
    assert.deepEqual([head.status, head.text], [404, ''])
  })

  test('is an Error for programs, and always below /v1', async () => {
    for (const [path, accept] of [
      ['/none', undefined],
      ['/none', '*/*'],
      ['/none', 'application/json'],
      ['/none', 'application/json, text/html'],
      ['/none', 'text/html;q=0.5, application/json'],
      ['/none', 'text/html;q=0'],
      ['/none', 'image/webp,*/*;q=0.8'],
      ['/v1/none', browser],
      ['/v1/openapi.json/x', browser],
      ['/v1', browser],
      ['/v1/', browser],
    ] as const) {
      const { status, json, headers } = await open(path, accept)
      assert.deepEqual([path, status, json.status], [path, status, status])
      assert.ok(status === 404 || status === 401, path)
      assert.match(String(headers['content-type']), /^application\/json/)
    }
    const { status, json } = await open('/docs', browser, 'POST')
    assert.deepEqual([status, json.code], [405, 'method_not_allowed'])
  })
})

/** The bytes as they come, which a client that unpacks by itself would not show. */
async function bytesOf(path: string, headers: Record<string, string> = {}) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const caller = await openRawConnection(
    service.base,
    `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${lines.join('')}\r\n`,
  )
  try {
    const { status, head, body } = await caller.response()
    assert.equal(status, 200)
    return { head, bytes: Buffer.from(body, 'latin1') }
  } finally {
    caller.socket.destroy()
  }
}

for (const path of staticPaths) {
  describe(`${path} is prepared once`, () => {
    test('has an ETag, and is not sent again to a client that has it', async () => {
      const { headers } = await service.request('GET', path)
      assert.match(String(headers.etag), /^"[^"]+"$/)
      for (const known of [String(headers.etag), `"other", ${headers.etag}`, `W/${headers.etag}`, '*']) {
        for (const method of ['GET', 'HEAD']) {
          const again = await service.request(method, path, { headers: { 'if-none-match': known } })
          assert.deepEqual([again.status, again.text], [304, ''], known)
          assert.equal(again.headers.etag, headers.etag)
          assert.equal(again.headers.vary, 'Accept-Encoding')
        }
      }
      const other = await service.request('GET', path, { headers: { 'if-none-match': '"other"' } })
      assert.equal(other.status, 200)
    })

    test('is compressed for clients that accept it, with a separate ETag', async () => {
      const plain = await bytesOf(path)
      assert.doesNotMatch(plain.head, /^content-encoding:/im)
      const zipped = await bytesOf(path, { 'Accept-Encoding': 'br;q=1.0, gzip;q=0.8, *;q=0.1' })
      assert.match(zipped.head, /^content-encoding: gzip$/im)
      for (const { head } of [plain, zipped]) assert.match(head, /^vary: accept-encoding$/im)
      assert.ok(zipped.bytes.length < plain.bytes.length)
      assert.ok(gunzipSync(zipped.bytes).equals(plain.bytes))
      const tag = (head: string) => /^etag: (.*)$/im.exec(head)?.[1]
      assert.notEqual(tag(zipped.head), tag(plain.head))
      const headers = { 'accept-encoding': 'gzip', 'if-none-match': String(tag(zipped.head)) }
      const again = await service.request('GET', path, { headers })
      assert.deepEqual([again.status, again.headers.etag], [304, tag(zipped.head)])
    })

    test('HEAD has the headers of GET', async () => {
      for (const encoding of ['identity', 'gzip']) {
        const headers = { 'accept-encoding': encoding, 'x-request-id': 'same' }
        const shown = async (method: string) => {
          const { date: _, ...rest } = (await service.request(method, path, { headers })).headers
          return rest
        }
        const get = await shown('GET')
        assert.ok(Number(get['content-length']) > 0)
        assert.deepEqual(await shown('HEAD'), get)
      }
    })
  })
}

describe('Accept-Encoding is honoured', () => {
  const scenarios: [accepted: string, isZipped: boolean][] = [
    ['gzip', true],
    ['GZIP', true],
    ['x-gzip', true],
    ['deflate, gzip;q=0.001', true],
    ['*', true],
    ['br, *;q=0.5', true],
    ['gzip;q=1.000', true],
    ['gzip ; q=0.5', true],
    ['gzip;q=0', false],
    ['gzip;q=0.000', false],
    ['gzip; Q=0', false],
    ['gzip;q=0, *', false],
    ['*;q=0', false],
    ['*;q=0, gzip', true],
    ['identity', false],
    ['br, deflate', false],
    ['gzipped, not-gzip', false],
    ['', false],
  ]
  for (const [accepted, isZipped] of scenarios) {
    test(`"${accepted}": ${isZipped ? 'gzip' : 'as it is'}`, async () => {
      const { head } = await bytesOf('/guides/keys', { 'Accept-Encoding': accepted })
      assert.equal(/^content-encoding: gzip$/im.test(head), isZipped)
    })
  }
})

describe('the home page', () => {
  test('does not depend on the request', async () => {
    const { text, headers } = await service.request('GET', '/')
    const other = await service.request('GET', '/', { headers: { host: 'other.example' } })
    assert.deepEqual([other.text, other.headers.etag], [text, headers.etag])
    assert.match(text, /"\$PETSTORE\/pets\?status=available"/)
  })

  test('names the public address where one is set', async () => {
    const named = await startTestService({ PETSTORE_PUBLIC_URL: 'https://api.petstore.example' })
    try {
      const { text } = await named.request('GET', '/')
      assert.match(text, /"https:\/\/api\.petstore\.example\/v1\/pets\?status=available"/)
    } finally {
      await named.stop()
    }
  })
})

for (const path of publicPaths) {
  describe(`${path} can be read from any origin`, () => {
    const origin = 'https://tools.example'
    const assertReadable = (headers: Record<string, unknown>) => {
      assert.equal(headers['access-control-allow-origin'], '*')
      for (const name of ['ETag', 'Retry-After'])
        assert.ok(String(headers['access-control-expose-headers']).includes(name))
    }

    test('at 200, 304 and 405', async () => {
      const { headers } = await service.request('GET', path, { headers: { origin } })
      assertReadable(headers)
      for (const [method, given, status] of [
        ['HEAD', {}, 200],
        ['GET', { 'if-none-match': String(headers.etag) }, 304],
        ['GET', { 'accept-encoding': 'gzip' }, 200],
        ['POST', {}, 405],
      ] as const) {
        const response = await service.request(method, path, { headers: { origin, ...given } })
        assert.equal(response.status, status)
        assertReadable(response.headers)
      }
    })

    test('after a preflight', async () => {
      const { status, headers } = await service.request('OPTIONS', path, {
        headers: {
          origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'if-none-match',
        },
      })
      assert.equal(status, 204)
      assert.equal(headers['access-control-allow-origin'], '*')
      assert.match(String(headers['access-control-allow-methods']), /\bGET\b/)
      assert.match(String(headers['access-control-allow-headers']), /\bIf-None-Match\b/)
    })
  })
}

test('no other page can be read from another origin', async () => {
  for (const path of ['/', '/docs', '/guides/keys', '/metrics', '/none']) {
    const { headers } = await service.request('GET', path, { headers: { origin: 'https://tools.example' } })
    assert.equal(headers['access-control-allow-origin'], undefined, path)
  }
})
