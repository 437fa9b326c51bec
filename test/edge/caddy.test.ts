import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { photoBytesMax } from '../../src/photos/photo.ts'
import { browserTest, launchHttp3Browser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'
import { metricsPaths } from '../support/metricsPaths.ts'
import { SuiteCleanup } from '../support/servers.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { assertCaddyInstalled, type Caddy, caddyFor, publicKeyHash } from './caddy.ts'
import { type Open, protocols, send } from './protocols.ts'

const cleanup = new SuiteCleanup()
let service: TestService
let caddy: Caddy
before(async () => {
  assertCaddyInstalled()
  service = await startTestService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })
  cleanup.after(() => service.stop())
  caddy = await caddyFor(cleanup, new URL(service.base).port)
})
after(() => cleanup.end())

const json = { 'content-type': 'application/json' }
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))
/** Trailing bytes that a decoder ignores. */
const padded = async (length: number) => {
  const photo = await jpeg()
  return Buffer.concat([photo, Buffer.alloc(length - photo.length)])
}
const addPet = async (open: Open, name = 'Milo') => {
  const body = bytesOf({ name, categoryId: 3 })
  return send(open, caddy, 'POST', '/v1/pets', { key: service.operatorKey, headers: json, body })
}

for (const { name: protocol, open } of protocols) {
  describe(`through Caddy over ${protocol}`, () => {
    test('requests and responses pass unchanged', async () => {
      const created = await addPet(open)
      assert.equal(created.status, 201, created.text)
      const path = String(created.headers.location)
      const read = await send(open, caddy, 'GET', path, { key: service.operatorKey })
      const direct = await service.request('GET', path, { key: service.operatorKey })
      assert.equal(read.text, direct.text)
      assert.equal(read.headers.etag, direct.headers.etag)
      const headers = { ...json, 'if-match': String(read.headers.etag) }
      const body = bytesOf({ name: 'Luna' })
      const change = () => send(open, caddy, 'PATCH', path, { key: service.operatorKey, headers, body })
      assert.equal((await change()).status, 200)
      assert.equal((await change()).status, 412)
    })

    test('HTTP/3 is announced', async () => {
      const { headers } = await send(open, caddy, 'GET', '/healthz')
      assert.match(String(headers['alt-svc']), new RegExp(`h3=":${new URL(caddy.base).port}"`))
    })

    test('an event arrives when it happens', async () => {
      const { key } = await service.makeKey({ scopes: ['events:read'] })
      const headers = { accept: 'text/event-stream' }
      const stream = await open(caddy, 'GET', '/v1/events', { key, headers })
      assert.equal(stream.status, 200)
      let received = ''
      stream.body.setEncoding('utf8').on('data', (text: string) => {
        received += text
      })
      const { json: pet } = await addPet(open, 'Nala')
      await eventually('the event', () => received.includes(`"id":${pet.id},"name":"Nala"`))
      stream.close()
    })

    test('a stream ends at the service when its client has left', async () => {
      const settings = { plan: 'enterprise', limits: { streams: 1 }, scopes: ['events:read'] }
      const { key } = await service.makeKey(settings)
      const listen = () => open(caddy, 'GET', '/v1/events', { key, headers: { accept: 'text/event-stream' } })
      const first = await listen()
      assert.equal(first.status, 200)
      const second = await listen()
      assert.equal(second.status, 429)
      second.close()
      first.body.on('error', () => {})
      first.close()
      await eventually('there is room again', async () => {
        const next = await listen()
        next.body.on('error', () => {})
        next.close()
        return next.status === 200
      })
    })

    test('a photo of the largest size is stored, and a larger one is rejected by the service', async () => {
      const { json: pet } = await addPet(open)
      const upload = (body: Uint8Array) =>
        send(open, caddy, 'POST', `/v1/pets/${pet.id}/photos`, {
          ...{ key: service.operatorKey, body, headers: { 'content-type': 'image/jpeg' } },
        })
      const stored = await upload(await padded(photoBytesMax))
      assert.equal(stored.status, 201, stored.text)
      assert.equal((await send(open, caddy, 'GET', stored.json.urls[640])).status, 200)
      // Over HTTP/1.1, Caddy sometimes resets a connection whose body was rejected before the client has read the response.
      const tooLarge = await padded(photoBytesMax + 1)
      const rejected = await eventually('a response', () =>
        upload(tooLarge).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ECONNRESET') throw error
          return undefined
        }),
      )
      assert.deepEqual([rejected.status, rejected.json.code], [413, 'body_too_large'])
    })

    test('the service sees the address of the client, not what the client claims', async () => {
      const from = protocol === 'HTTP/2' ? '127.0.0.2' : '127.0.0.3'
      const headers = { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9' }
      const { status, headers: got } = await send(open, caddy, 'GET', '/v1/pets', { from, headers })
      assert.equal(status, 401)
      const line = await eventually('the request is logged', () =>
        service.logLines.find((text) => text.includes(String(got['x-request-id']))),
      )
      assert.equal(JSON.parse(line).address, from)
    })

    test('Retry-After and the rate limit headers of a 429 pass through', async () => {
      const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1, perDay: 1_000 } })
      assert.equal((await send(open, caddy, 'GET', '/v1/pets', { key })).status, 200)
      const rejected = await send(open, caddy, 'GET', '/v1/pets', { key })
      assert.equal(rejected.status, 429)
      assert.match(String(rejected.headers['retry-after']), /^[1-9]\d*$/)
      assert.equal(rejected.headers['x-ratelimit-remaining'], '0')
    })

    test('metrics are not reachable, under any spelling of the path', async () => {
      for (const path of metricsPaths.filter((target) => target.startsWith('/'))) {
        const { status, text } = await send(open, caddy, 'GET', path, { key: service.operatorKey })
        assert.ok(status === 404 || status === 400, `${path} ${status}`)
        assert.doesNotMatch(text, /petstore_/)
      }
    })
  })
}

describe('through Caddy over HTTP/3', () => {
  browserTest('a browser reads a page and its files', async () => {
    const { browser, close } = await launchHttp3Browser(new URL(caddy.base), await publicKeyHash(caddy))
    cleanup.after(close)
    const page = await (await browser.newContext()).newPage()
    const response = await page.goto(`${caddy.base}/guides`)
    const used = await page.evaluate(() => {
      const entries = performance.getEntries().filter((entry) => 'nextHopProtocol' in entry)
      return [...new Set(entries.map((entry) => entry.nextHopProtocol))]
    })
    assert.deepEqual([response?.status(), used], [200, ['h3']])
  })
})

describe('while the service does not run', () => {
  test('requests wait for a restart, and get 503 with Retry-After if it takes too long', async (t) => {
    const own = await startTestService()
    const { port } = new URL(own.base)
    const front = await caddyFor(t, port)
    const { open } = protocols[1] as (typeof protocols)[number]
    await own.stop()
    const { status, headers, json: error } = await send(open, front, 'GET', '/v1/pets')
    assert.deepEqual([status, headers['retry-after'], error.code], [503, '2', 'unavailable'])
    const waiting = send(open, front, 'GET', '/healthz')
    const again = await startTestService({ PORT: port })
    t.after(() => again.stop())
    assert.equal((await waiting).status, 200)
  })
})
