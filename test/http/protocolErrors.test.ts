import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listen } from '../../src/server/listen.ts'
import { eventually } from '../support/eventually.ts'
import { metricsPaths } from '../support/metricsPaths.ts'
import { parsePrometheus } from '../support/prometheus.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { useService } from '../support/useService.ts'

const service = useService()

type RawResponse = { status: number; head: string; body: string }

function header({ head }: RawResponse, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]
}

const rateLimitNames = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit-policy',
  'ratelimit',
]

function assertErrorForm(response: RawResponse, status: number, code: string): string {
  const { message, ...rest } = JSON.parse(response.body)
  assert.deepEqual([response.status, rest], [status, { code, status }])
  assert.ok(message.length > 0)
  assert.equal(header(response, 'content-type'), 'application/json; charset=utf-8')
  assert.equal(header(response, 'x-content-type-options'), 'nosniff')
  assert.equal(header(response, 'content-length'), String(Buffer.byteLength(response.body)))
  const requestId = header(response, 'x-request-id') ?? ''
  assert.match(requestId, /^[A-Za-z0-9._-]{1,128}$/)
  for (const name of rateLimitNames) assert.ok(header(response, name), name)
  return requestId
}

const lineOf = (requestId: string) =>
  eventually('it is logged', () => {
    const line = service.logLines.find((text) => text.includes(requestId))
    return line === undefined ? undefined : JSON.parse(line)
  })

/** How many requests had this status, by the metrics. The log counts those that repeat. */
async function rejectedWith(status: number): Promise<number> {
  const { text } = await service.request('GET', '/metrics', { key: service.operatorKey })
  const { samples = [] } = parsePrometheus(text).get('petstore_request_duration_seconds') ?? {}
  return samples
    .filter(({ name, labels }) => name.endsWith('_count') && labels.status === String(status))
    .reduce((sum, { value }) => sum + value, 0)
}

const authorized = () => `Host: petstore\r\nAuthorization: Bearer ${service.operatorKey}\r\n`
const chunked = () => `POST /v1/pets HTTP/1.1\r\n${authorized()}Transfer-Encoding: chunked\r\n`

describe('bytes that are not HTTP get an Error body, and the connection is closed', () => {
  const long = (bytes: number) =>
    `GET /healthz HTTP/1.1\r\nHost: petstore\r\nX-Long: ${'x'.repeat(bytes)}\r\n\r\n`
  const many = (count: number) =>
    `GET /healthz HTTP/1.1\r\nHost: petstore\r\n${'X: y\r\n'.repeat(count - 1)}\r\n`
  const rejected: [string, () => string, number][] = [
    ['no HTTP at all', () => 'NONSENSE\r\n\r\n', 400],
    ['TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400],
    ['a header without a colon', () => 'GET /healthz HTTP/1.1\r\nHost petstore\r\n\r\n', 400],
    ['two lengths', () => `POST /v1/pets HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}`, 400],
    ['CONNECT', () => 'CONNECT shelter.example:443 HTTP/1.1\r\nHost: shelter.example\r\n\r\n', 400],
    ['headers over 16 KiB', () => long(17 * 1024), 431],
    ['headers of a megabyte, sent before anything is read', () => long(1024 ** 2), 431],
  ]
  for (const [name, bytes, status] of rejected) {
    test(name, async () => {
      const before = await rejectedWith(status)
      const caller = await openRawConnection(service.base, bytes())
      const response = await caller.response()
      assertErrorForm(response, status, 'validation_failed')
      assert.equal(header(response, 'connection'), 'close')
      const { error } = await caller.closed
      assert.equal(error, undefined, 'closed, not reset')
      assert.equal(await rejectedWith(status), before + 1)
    })
  }

  test('100 headers are accepted, and not more', async () => {
    for (const [count, status] of [
      [100, 200],
      [101, 431],
    ] as const) {
      const caller = await openRawConnection(service.base, many(count))
      assert.equal((await caller.response()).status, status)
      caller.socket.destroy()
    }
  })

  test('a body that is not HTTP gets its error from the pipeline, with the request id of the caller', async () => {
    const caller = await openRawConnection(
      service.base,
      `${chunked()}X-Request-Id: broken-body\r\n\r\n5\r\n{"nam\r\nzz\r\n`,
    )
    const response = await caller.response()
    assert.equal(assertErrorForm(response, 400, 'validation_failed'), 'broken-body')
    assert.ok(header(response, 'x-ratelimit-limit'))
    assert.equal(header(response, 'connection'), 'close')
    await caller.closed
    const { operation, status, code } = await lineOf('broken-body')
    assert.deepEqual([operation, status, code], ['createPet', 400, 'validation_failed'])
  })

  const last: [string, () => string][] = [
    ['a body that is not HTTP', () => `${chunked()}\r\nzz\r\n`],
    ['no HTTP at all', () => 'NONSENSE\r\n\r\n'],
    ['CONNECT', () => 'CONNECT shelter.example:443 HTTP/1.1\r\nHost: shelter.example\r\n\r\n'],
  ]
  for (const [name, bytes] of last) {
    test(`${name}, after the responses to the requests before it`, async () => {
      const body = '{"name":"Milo","categoryId":1}'
      const post = `POST /v1/pets HTTP/1.1\r\n${authorized()}Content-Length: ${body.length}\r\n\r\n${body}`
      const caller = await openRawConnection(service.base, `${post}${post}${bytes()}`)
      for (let n = 0; n < 2; n++) assert.equal((await caller.response()).status, 201)
      assertErrorForm(await caller.response(), 400, 'validation_failed')
      await caller.closed
      assert.equal(caller.received().match(/HTTP\/1\.1 \d{3} /g)?.length, 3)
    })
  }
})

describe('what is HTTP but no request of ours', () => {
  const rejected: [string, string][] = [
    ['HTTP/1.1 without a Host', 'GET /v1/pets HTTP/1.1\r\n'],
    ['two Hosts', 'GET /v1/pets HTTP/1.1\r\nHost: a\r\nHost: b\r\n'],
    ['an invalid Host', 'GET /v1/pets HTTP/1.1\r\nHost: not a host\r\n'],
    ['a target that is no path', 'OPTIONS * HTTP/1.1\r\nHost: petstore\r\n'],
  ]
  for (const [name, head] of rejected) {
    test(`${name} gets an Error body and the request id of the caller`, async () => {
      const before = await rejectedWith(400)
      const id = name.replaceAll(/[^A-Za-z0-9]/g, '-')
      const caller = await openRawConnection(service.base, `${head}X-Request-Id: ${id}\r\n\r\n`)
      assert.equal(assertErrorForm(await caller.response(), 400, 'validation_failed'), id)
      caller.socket.destroy()
      assert.equal(await rejectedWith(400), before + 1)
    })
  }

  test('a target with dot segments or a fragment, which a proxy may take for another path', async () => {
    const others = metricsPaths.filter((target) => /\.|%2e|#/i.test(target.replace('http://petstore', '')))
    for (const target of [
      ...others,
      '/v1/pets/.',
      '/v1/pets/%2e%2E',
      '/v1/../v1/pets',
      '/..',
      '/.',
      '/v1/pets#x',
      'http:///x/metrics',
      'http:////x/metrics',
      'https:///x/v1/pets',
    ]) {
      const caller = await openRawConnection(service.base, `GET ${target} HTTP/1.1\r\n${authorized()}\r\n`)
      const response = await caller.response()
      caller.socket.destroy()
      assert.equal(response.status, 400, target)
      assertErrorForm(response, 400, 'validation_failed')
    }
  })

  test('dots that are no segment are part of a path, and those of a query are not looked at', async () => {
    for (const [target, status] of [
      ['/v1/pets?x=/../y&z=/%2e', 200],
      ['/v1/pets?x=/..', 200],
      ['http://petstore/v1/pets?x=/../y', 200],
      ['/guides/keys.md', 200],
      ['/.well-known/security.txt', 404],
      ['/...', 404],
      ['/v1/pets/..x', 404],
      ['/v1/pets/%2e%2ex', 404],
    ] as const) {
      const caller = await openRawConnection(service.base, `GET ${target} HTTP/1.1\r\n${authorized()}\r\n`)
      assert.equal((await caller.response()).status, status, target)
      caller.socket.destroy()
    }
  })

  test('HTTP/1.0 needs no Host', async () => {
    const caller = await openRawConnection(service.base, 'GET /healthz HTTP/1.0\r\n\r\n')
    assert.equal((await caller.response()).status, 200)
    caller.socket.destroy()
  })

  test('errors and pages beside the API have a request id as well', async () => {
    for (const [path, status] of [
      ['/nothing/here', 404],
      ['/docs', 200],
    ] as const) {
      const { status: responded, headers } = await service.request('GET', path, {
        headers: { 'x-request-id': 'beside-the-api' },
      })
      assert.deepEqual([responded, headers['x-request-id']], [status, 'beside-the-api'])
      const own = await service.request('GET', path)
      assert.match(String(own.headers['x-request-id']), /^[\w-]{22}$/)
    }
  })
})

test('a connection is closed if even an error response is impossible', async () => {
  const listener = await listen(
    { handle: () => Promise.reject(new Error('the handler failed')) },
    { host: '127.0.0.1', port: 0 },
    { stalledMs: 60_000 },
  )
  for (const bytes of ['GET / HTTP/1.1\r\nHost: petstore\r\n\r\n', 'NONSENSE\r\n\r\n']) {
    const caller = await openRawConnection(`http://127.0.0.1:${listener.port}`, bytes)
    await caller.closed
    assert.equal(caller.received(), '')
  }
  await listener.stop()
})

describe('a request whose response is sent before its body is complete', () => {
  const request = (line: string, more: string) => `${line} HTTP/1.1\r\n${authorized()}${more}\r\n`

  for (const [name, line, status] of [
    ['a response without a body', 'OPTIONS /v1/pets', 204],
    ['a response to HEAD', 'HEAD /v1/pets', 200],
  ] as const) {
    test(`${name} is sent, and the connection is closed`, async () => {
      const expecting = request(line, 'Expect: 100-continue\r\nContent-Length: 2\r\n')
      const caller = await openRawConnection(service.base, expecting)
      await caller.closed
      assert.match(caller.received(), new RegExp(`^HTTP/1\\.1 ${status} `))
      assert.match(caller.received(), /^Connection: close\r$/im)
    })
  }

  for (const line of ['POST /v1/nothing', 'POST /nothing'])
    test(`${line}: gets no second response if the body turns out not to be HTTP`, async () => {
      const caller = await openRawConnection(service.base, request(line, 'Transfer-Encoding: chunked\r\n'))
      assert.equal((await caller.response()).status, 404)
      caller.socket.write('zz\r\n')
      await caller.closed
      assert.equal(caller.received().match(/HTTP\/1\.1 \d/g)?.length, 1)
    })
})

test('a connection that is reset after CONNECT does not end the service', async () => {
  const connect = 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'
  for (const isResponseAwaited of [false, false, true]) {
    const caller = await openRawConnection(service.base, connect)
    if (isResponseAwaited) await caller.response()
    caller.socket.resetAndDestroy()
    await caller.closed
  }
  assert.equal((await service.request('GET', '/healthz')).status, 200)
})

test('an empty Host header is valid', async () => {
  const caller = await openRawConnection(service.base, 'GET /healthz HTTP/1.1\r\nHost:\r\n\r\n')
  assert.equal((await caller.response()).status, 200)
  caller.socket.destroy()
})

test('a client that asks to keep the connection alive learns for how long', async () => {
  const request = 'GET /healthz HTTP/1.1\r\nHost: petstore\r\nConnection: keep-alive\r\n\r\n'
  const caller = await openRawConnection(service.base, request)
  assert.equal(header(await caller.response(), 'keep-alive'), 'timeout=65')
  caller.socket.destroy()
})
