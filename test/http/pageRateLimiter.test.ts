import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { addressesMax, createPageRateLimiter, pageAllowance } from '../../src/limits/pageRateLimiter.ts'
import type { ClientResponse } from '../support/client.ts'
import { startServer } from '../support/process.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { useService } from '../support/useService.ts'

const { perMinute } = pageAllowance

const requestsOf = (path: string, count: number, headers = '') =>
  `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${headers}\r\n`.repeat(count)

/** The statuses of requests that are pipelined over one connection. */
async function pipelined(base: string, path: string, count: number, headers = ''): Promise<number[]> {
  const caller = await openRawConnection(base, requestsOf(path, count, headers))
  try {
    const statuses: number[] = []
    while (statuses.length < count) statuses.push((await caller.response()).status)
    return statuses
  } finally {
    caller.socket.destroy()
  }
}

/** The statuses of requests over one connection, one after another: Bun does not support pipelining. */
async function oneAfterAnother(base: string, path: string, count: number, headers: string) {
  const caller = await openRawConnection(base, '')
  try {
    const statuses: number[] = []
    while (statuses.length < count) {
      caller.socket.write(requestsOf(path, 1, headers))
      statuses.push((await caller.response()).status)
    }
    return statuses
  } finally {
    caller.socket.destroy()
  }
}

const countsOf = (statuses: readonly number[]) =>
  Object.fromEntries(
    [...Map.groupBy(statuses, (status) => status)].map(([status, all]) => [status, all.length]),
  )

describe('requests outside the API are limited by address', () => {
  const service = useService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })

  let addresses = 0
  /** An address without any requests so far. */
  const newAddress = () => `203.0.113.${++addresses}`
  const use = (address: string, path: string, count: number) =>
    oneAfterAnother(service.base, path, count, `X-Forwarded-For: ${address}\r\nAccept-Encoding: gzip\r\n`)
  const send = (address: string, path: string, method = 'GET') =>
    service.request(method, path, { headers: { 'x-forwarded-for': address } })

  const assertLimited = ({ status, json, headers }: ClientResponse) => {
    assert.equal(status, 429)
    assert.deepEqual([json.code, json.status], ['rate_limit_exceeded', 429])
    assert.match(String(headers['retry-after']), /^[1-9]\d?$/)
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.includes('ratelimit')),
      [],
    )
  }

  for (const [path, status] of [
    ['/', 200],
    ['/guides', 200],
    ['/guides/deploying', 200],
    ['/docs', 200],
    ['/docs/start.js', 200],
    ['/v1/openapi.json', 200],
    ['/v1/openapi.yaml', 200],
    ['/none', 404],
    ['/guides/none', 404],
    ['/v2/pets', 404],
  ] as const) {
    test(`${path}: ${perMinute} requests a minute, then 429 with Retry-After`, async () => {
      const address = newAddress()
      const statuses = await use(address, path, perMinute + 50)
      assert.deepEqual(countsOf(statuses), { [status]: perMinute, 429: 50 })
      assert.deepEqual(statuses.indexOf(429), perMinute)
      assertLimited(await send(address, path))
    })
  }

  test('all pages and methods share the limit', async () => {
    const address = newAddress()
    const paths = ['/', '/guides/keys', '/none', '/v1/openapi.json']
    for (const path of paths) await use(address, path, perMinute / paths.length)
    for (const path of [...paths, '/docs/reference.js']) assertLimited(await send(address, path))
    for (const method of ['POST', 'DELETE', 'OPTIONS']) assertLimited(await send(address, '/guides', method))
    assert.equal((await send(address, '/', 'HEAD')).status, 429)
  })

  test('requests are admitted again after Retry-After', async () => {
    const address = newAddress()
    await use(address, '/guides', perMinute)
    service.advance(10_500)
    const limited = await send(address, '/guides')
    assert.equal(limited.headers['retry-after'], '50')
    service.advance(50_000)
    assert.deepEqual(countsOf(await use(address, '/guides', perMinute + 1)), { 200: perMinute, 429: 1 })
  })

  test('each address has a separate limit, and an IPv6 /64 shares one', async () => {
    await use('2001:db8:1:2::1', '/guides', perMinute)
    assert.equal((await send('2001:db8:1:2:ffff::9', '/guides')).status, 429)
    assert.equal((await send('2001:db8:1:3::1', '/guides')).status, 200)
    assert.equal((await send(newAddress(), '/guides')).status, 200)
  })

  test('the probes are exempt, and so is the API', async () => {
    const address = newAddress()
    await use(address, '/guides', perMinute + 1)
    for (const path of ['/healthz', '/readyz', '/healthz?verbose', '/readyz/'])
      assert.equal((await send(address, path)).status, 200, path)
    const headers = { 'x-forwarded-for': address }
    const { status } = await service.request('GET', '/v1/pets', { key: service.operatorKey, headers })
    assert.equal(status, 200)
    const keyless = await send(address, '/v1/pets')
    assert.deepEqual([keyless.status, keyless.headers['x-ratelimit-remaining']], [401, '99'])
  })

  test('probes do not count', async () => {
    const address = newAddress()
    await use(address, '/healthz', 100)
    await use(address, '/readyz?x', 100)
    assert.deepEqual(countsOf(await use(address, '/guides', perMinute)), { 200: perMinute })
  })

  test('a 429 for the OpenAPI document can be read from any origin', async () => {
    const address = newAddress()
    await use(address, '/v1/openapi.json', perMinute)
    const limited = await send(address, '/v1/openapi.json')
    assertLimited(limited)
    assert.equal(limited.headers['access-control-allow-origin'], '*')
    assert.match(String(limited.headers['access-control-expose-headers']), /\bRetry-After\b/)
    assert.equal((await send(address, '/v1/openapi.json', 'OPTIONS')).status, 204)
  })
})

describe('the counted addresses', () => {
  const start = Date.UTC(2026, 10, 15)
  const exhaust = (admit: ReturnType<typeof createPageRateLimiter>, address: string) => {
    for (let n = 0; n < perMinute; n++) assert.equal(admit(address), undefined)
    assert.equal(admit(address)?.code, 'rate_limit_exceeded')
  }
  const addressAt = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`

  test('are bounded: the least recently seen is dropped for a new one', () => {
    const admit = createPageRateLimiter(() => start)
    exhaust(admit, '192.0.2.1')
    exhaust(admit, '192.0.2.2')
    for (let n = 0; n < addressesMax - 2; n++) assert.equal(admit(addressAt(n)), undefined)
    assert.ok(admit('192.0.2.1'), 'this many are counted')
    assert.equal(admit('198.51.100.1'), undefined, 'a new address is admitted')
    assert.ok(admit('192.0.2.1'), 'the most recent address is still counted')
    assert.equal(admit('192.0.2.2'), undefined, 'the least recent address was dropped')
  })

  test('count for the name of an allowance, also if it is another object each time', () => {
    const admit = createPageRateLimiter(() => start)
    const admitTo = (name: string) => admit('192.0.2.1', { name, perMinute: 2 })
    assert.deepEqual([admitTo('photos'), admitTo('photos')], [undefined, undefined])
    assert.equal(admitTo('photos')?.code, 'rate_limit_exceeded')
    assert.equal(admitTo('boards'), undefined)
  })

  test('wait at most a minute after the clock is set back', () => {
    let now = start
    const admit = createPageRateLimiter(() => now)
    exhaust(admit, '192.0.2.1')
    now -= 3_600_000
    assert.equal(admit('192.0.2.1')?.headers['Retry-After'], '60')
    now += 60_000
    assert.equal(admit('192.0.2.1'), undefined)
  })
})

describe('pipelined requests', () => {
  let server: Awaited<ReturnType<typeof startServer>>
  before(async () => {
    server = await startServer({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })
  })
  after(async () => {
    server.closeConnections()
    server.child.kill('SIGTERM')
    await server.ended
  })

  test('to a page cost little more than requests to a probe', async () => {
    const count = 140
    const timed = async (path: string) => {
      const startedAt = performance.now()
      const statuses = await pipelined(server.base, path, count, 'Accept-Encoding: gzip\r\n')
      const ms = performance.now() - startedAt
      assert.deepEqual(countsOf(statuses), { 200: count })
      return ms
    }
    await server.request('GET', '/guides/running')
    // The least of a few, since other processes share the machine.
    let [pageMs, probeMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    for (let round = 0; round < 4; round++) {
      // With a query the probe goes through the same router as pages.
      probeMs = Math.min(probeMs, await timed('/healthz?x'))
      pageMs = Math.min(pageMs, await timed('/guides/running'))
    }
    assert.ok(pageMs < probeMs * 8, `${pageMs} ms for ${count} pages, ${probeMs} ms for as many probes`)
  })

  test('to pages do not affect the API for other callers, and end in 429', async () => {
    const flood = pipelined(server.base, '/guides/running', 1_000, 'X-Forwarded-For: 203.0.113.1\r\n')
    const headers = { 'x-forwarded-for': '203.0.113.2' }
    for (let n = 0; n < 20; n++) {
      const { status } = await server.request('GET', '/v1/pets', { key: server.operatorKey, headers })
      assert.equal(status, 200)
    }
    assert.deepEqual(countsOf(await flood), { 200: perMinute, 429: 1_000 - perMinute })
  })

  test('to the largest page hold it in memory once', async () => {
    const { headers } = await server.request('HEAD', '/docs/reference.js')
    const pageBytes = Number(headers['content-length'])
    const count = perMinute
    const residentBytes = async () => {
      const { text } = await server.request('GET', '/metrics', { key: server.operatorKey })
      return Number(/^process_resident_memory_bytes (\d+)$/m.exec(text)?.[1])
    }
    const before = await residentBytes()
    const lazy = await openRawConnection(
      server.base,
      requestsOf('/docs/reference.js', count, 'X-Forwarded-For: 203.0.113.3\r\n'),
    )
    await once(lazy.socket, 'data')
    lazy.socket.pause()
    for (let n = 0; n < 20; n++) await server.request('GET', '/healthz')
    const grown = (await residentBytes()) - before
    lazy.socket.destroy()
    assert.ok(grown < (pageBytes * count) / 10, `${grown} bytes more for ${count} pages of ${pageBytes}`)
  })
})
