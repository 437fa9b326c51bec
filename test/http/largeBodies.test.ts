import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openRawConnection } from '../support/rawConnection.ts'
import { useService } from '../support/useService.ts'

const service = useService()
let key: string
before(async () => {
  key = service.operatorKey
})

const body = '{"name":"Milo","categoryId":1}'
const largeBytes = 3_000_000

function head(headers: Record<string, string>, { method = 'POST', path = '/v1/pets' } = {}): string {
  const lines = Object.entries({ Host: 'petstore', ...headers }).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${path} HTTP/1.1`, ...lines, '\r\n'].join('\r\n')
}

describe('Expect: 100-continue', () => {
  const expecting = (authorization: string, length: number) => ({
    ...(authorization !== '' && { Authorization: authorization }),
    'Content-Length': String(length),
    Expect: '100-continue',
  })

  const rejected: [string, () => string, number, string][] = [
    ['without a key', () => head(expecting('', body.length)), 401, 'missing_api_key'],
    ['with a wrong key', () => head(expecting('Bearer wrong', body.length)), 401, 'invalid_api_key'],
    ['for too large a body', () => head(expecting(`Bearer ${key}`, largeBytes)), 413, 'body_too_large'],
    [
      'for a path that does not exist',
      () => head(expecting(`Bearer ${key}`, body.length), { path: '/v1/nothing' }),
      404,
      'not_found',
    ],
    [
      'for a method that the path does not take',
      () => head(expecting(`Bearer ${key}`, body.length), { method: 'PUT' }),
      405,
      'method_not_allowed',
    ],
  ]
  for (const [name, request, status, code] of rejected) {
    test(`${name} is rejected before the body is sent, and the connection is closed`, async () => {
      const caller = await openRawConnection(service.base, request())
      const response = await caller.response()
      assert.equal(response.status, status)
      assert.equal(JSON.parse(response.body).code, code)
      // What comes next on this connection may be the body or a new request: there is no way to tell.
      assert.match(response.head, /^connection: close$/im)
      await caller.closed
      assert.doesNotMatch(caller.received(), / 100 /)
    })
  }

  test('a key without the scope is rejected before the body is sent', async () => {
    const { key: readOnly } = await service.makeKey({ scopes: ['pets:read'] })
    const caller = await openRawConnection(service.base, head(expecting(`Bearer ${readOnly}`, body.length)))
    assert.equal((await caller.response()).status, 403)
    caller.socket.destroy()
  })

  test('a key that has used up its rate limit is rejected before the body is sent', async () => {
    const limited = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    await service.request('GET', '/v1/pets', { key: limited.key })
    const caller = await openRawConnection(
      service.base,
      head(expecting(`Bearer ${limited.key}`, body.length)),
    )
    assert.equal((await caller.response()).status, 429)
    caller.socket.destroy()
  })

  for (const path of ['/v1/pets', '/v1/pets?x="']) {
    test(`gets 100 Continue when the body is read, and then its response (${path})`, async () => {
      const caller = await openRawConnection(service.base)
      for (let n = 0; n < 2; n++) {
        caller.socket.write(head(expecting(`Bearer ${key}`, body.length), { path }))
        assert.equal((await caller.response()).status, 100)
        caller.socket.write(body)
        const { status, head: lines } = await caller.response()
        assert.equal(status, 201)
        assert.match(lines, /^connection: keep-alive$/im)
      }
      caller.socket.destroy()
    })
  }

  test('a body that is sent without waiting for 100 is taken as well', async () => {
    const caller = await openRawConnection(service.base, head(expecting(`Bearer ${key}`, body.length)) + body)
    const statuses = [(await caller.response()).status, (await caller.response()).status]
    assert.deepEqual(statuses, [100, 201])
    caller.socket.destroy()
  })

  test('HTTP/1.0 knows no 100', async () => {
    const request = head(expecting(`Bearer ${key}`, body.length)).replace('HTTP/1.1', 'HTTP/1.0')
    const caller = await openRawConnection(service.base, request + body)
    assert.equal((await caller.response()).status, 201)
    caller.socket.destroy()
  })
})

const pieceBytes = 64 * 1024

/** Reads nothing before everything is written, piece by piece, as simple clients do. Resolves to what was received. */
async function sendAllThenRead(request: string, sent: Buffer): Promise<string> {
  const { hostname, port } = new URL(service.base)
  const socket = connect(Number(port), hostname)
  const failed = new Promise<never>((_, reject) => socket.once('error', reject))
  const write = (bytes: string | Buffer) =>
    new Promise<void>((resolve) => socket.write(bytes, () => resolve()))
  socket.pause()
  await Promise.race([write(request), failed])
  for (let start = 0; start < sent.length; start += pieceBytes) {
    await Promise.race([write(sent.subarray(start, start + pieceBytes)), failed])
    await nextTurn()
  }
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.resume()
  await Promise.race([new Promise((resolve) => socket.once('close', resolve)), failed])
  return Buffer.concat(chunks).toString()
}

describe('a client that sends 3 MB before it reads still sees the 413', () => {
  const large = Buffer.alloc(largeBytes, 'x')
  const chunk = Buffer.concat([
    Buffer.from(`${(100_000).toString(16)}\r\n`),
    large.subarray(0, 100_000),
    Buffer.from('\r\n'),
  ])
  const chunks = Buffer.concat([...Array(largeBytes / 100_000).fill(chunk), Buffer.from('0\r\n\r\n')])

  for (const [way, path] of [
    ['a plain address', '/v1/pets'],
    ['an odd address', '/v1/pets?x="'],
  ] as const) {
    for (const [form, headers, sent] of [
      ['announced', { 'Content-Length': String(largeBytes) }, large],
      ['in chunks', { 'Transfer-Encoding': 'chunked' }, chunks],
      [
        'announced, with an Expect that is not waited for',
        { 'Content-Length': String(largeBytes), Expect: '100-continue' },
        large,
      ],
    ] as const) {
      test(`${form}, to ${way}`, async () => {
        for (let round = 0; round < 5; round++) {
          const request = head({ Authorization: `Bearer ${key}`, ...headers }, { path })
          const received = (await sendAllThenRead(request, sent)).replace(/^HTTP\/1\.1 100 .*\r\n\r\n/, '')
          assert.match(received, /^HTTP\/1\.1 413 /)
          assert.match(received, /"code":"body_too_large"/)
        }
      })
    }
  }

  test('with fetch', async () => {
    for (let round = 0; round < 5; round++) {
      const response = await fetch(`${service.base}/v1/pets`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: large,
      })
      assert.equal(response.status, 413)
      assert.equal(((await response.json()) as { code: string }).code, 'body_too_large')
    }
  })
})

test('a client that sends more than the largest body before it reads still sees the 413', async () => {
  const sent = Buffer.alloc(21 * 1024 * 1024)
  const headers = { Authorization: `Bearer ${key}`, 'Content-Length': String(sent.length) }
  assert.match(await sendAllThenRead(head(headers), sent), /^HTTP\/1\.1 413 /)
})
