import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../support/eventually.ts'
import { startServer } from '../support/process.ts'
import { openRawConnection, type RawConnection } from '../support/rawConnection.ts'
import { type Server, stopped } from '../support/servers.ts'

const headersTimeoutMs = 5_000
const requestTimeoutMs = 10_000
/** A client is disconnected within its time limit and this. */
const lateMs = 1_000
/** For the machine that runs the test. */
const slackMs = 1_500
const tickMs = 400
const clientCount = 150

let server: Server
let key: string
before(async () => {
  server = await startServer()
  key = server.operatorKey as string
})
after(async () => {
  server.closeConnections()
  server.child.kill('SIGKILL')
  await server.ended
})

const post = (...headers: string[]) =>
  ['POST /v1/pets HTTP/1.1', 'Host: petstore', `Authorization: Bearer ${key}`, ...headers, '\r\n'].join(
    '\r\n',
  )

/** Sends a few bytes from time to time, until the server closes the connection. */
async function sendSlowly(start: string, drop: string): Promise<RawConnection> {
  const caller = await openRawConnection(server.base, start)
  const timer = setInterval(() => caller.socket.write(drop), tickMs)
  caller.socket.on('close', () => clearInterval(timer))
  return caller
}

async function assertCutOff(caller: RawConnection, boundMs: number): Promise<void> {
  const { afterMs } = await caller.closed
  assert.ok(afterMs > boundMs - 500, `not before its bound, but after ${afterMs} ms`)
  assert.ok(afterMs < boundMs + lateMs + slackMs, `cut off only after ${afterMs} ms`)
}

describe('a slow client is disconnected', { concurrency: true }, () => {
  test('that sends nothing', async () => assertCutOff(await openRawConnection(server.base), headersTimeoutMs))

  for (const [who, start, drop, boundMs] of [
    ['that is slow to finish the first line', () => 'GET /v1/pe', 't', headersTimeoutMs],
    [
      'that is slow with headers',
      () => 'GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n',
      'X-Drop: 1\r\n',
      headersTimeoutMs,
    ],
    ['that is slow with a body', () => post('Content-Length: 1000'), ' ', requestTimeoutMs],
    ['that is slow with chunks', () => post('Transfer-Encoding: chunked'), '1\r\n \r\n', requestTimeoutMs],
    ['that is slow to begin a body', () => post('Content-Length: 1000'), '', requestTimeoutMs],
    [
      'that is slow with a body that is not read',
      () => post('Content-Length: 1000').replace(key, 'wrong'),
      ' ',
      undefined,
    ],
  ] as const) {
    test(who, async () => {
      const caller = await sendSlowly(start(), drop)
      if (boundMs !== undefined) {
        await assertCutOff(caller, boundMs)
        assert.match(caller.received(), /^HTTP\/1\.1 408 /, 'with the reason')
        assert.match(caller.received(), /^x-request-id: \S+/im)
        assert.match(caller.received(), /\r\n\r\n\{"code":"validation_failed",.*"status":408\}$/)
      } else {
        assert.equal((await caller.response()).status, 401, 'the response does not wait for the body')
        const { afterMs } = await caller.closed
        assert.ok(afterMs < requestTimeoutMs + lateMs + slackMs)
      }
    })
  }

  /** Sends this behind responses that the client reads late, and returns when it has read them. */
  async function readLate(rest: string) {
    const responses = 40
    const look = 'GET /v1/openapi.json HTTP/1.1\r\nHost: petstore\r\n\r\n'
    const caller = await openRawConnection(server.base, look.repeat(responses) + rest)
    caller.socket.pause()
    await pause(requestTimeoutMs + lateMs + slackMs)
    caller.socket.resume()
    for (let n = 0; n < responses; n++) assert.equal((await caller.response()).status, 200)
    return { caller, readAt: performance.now() }
  }

  /** From the responses on, the rest of the request has the time of headers. */
  async function assertTimeout(caller: RawConnection, readAt: number): Promise<void> {
    assert.equal((await caller.response()).status, 408)
    const afterMs = performance.now() - readAt
    assert.ok(
      afterMs > headersTimeoutMs / 2 && afterMs < headersTimeoutMs + lateMs + slackMs,
      `${afterMs} ms`,
    )
    caller.socket.destroy()
  }

  for (const [who, rest] of [
    ['that is slow with a body behind responses that it reads late', () => post('Content-Length: 60000')],
    [
      'that is slow with headers behind responses that it reads late',
      () => 'GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n',
    ],
  ] as const)
    test(who, async () => {
      const { caller, readAt } = await readLate(rest())
      await assertTimeout(caller, readAt)
    })

  test('that completes its headers after their time, and is then slow with a body', async () => {
    const { caller, readAt } = await readLate('POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n')
    const headers = [
      'Content-Type: application/json',
      `Authorization: Bearer ${key}`,
      'Content-Length: 60000',
    ]
    caller.socket.write(`${headers.join('\r\n')}\r\n\r\n `)
    await assertTimeout(caller, readAt)
  })

  test('while all other clients are served as usual', async () => {
    const slow = await Promise.all(
      Array.from({ length: clientCount }, (_, n) =>
        n % 2 === 0
          ? sendSlowly('GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n', 'X-Drop: 1\r\n')
          : sendSlowly(post('Content-Length: 1000'), ' '),
      ),
    )
    let isOver = false
    const allAreDisconnected = Promise.all(slow.map((caller) => caller.closed)).then(() => {
      isOver = true
    })
    const startedAt = performance.now()
    let served = 0
    let longestMs = 0
    while (!isOver) {
      const since = performance.now()
      const isRead = served % 2 === 0
      const { status, text } = await server.request(isRead ? 'GET' : 'POST', '/v1/pets', {
        key,
        ...(!isRead && { body: { name: 'quick', categoryId: 1 } }),
      })
      assert.equal(status, isRead ? 200 : 201, text)
      served++
      longestMs = Math.max(longestMs, performance.now() - since)
      if (served >= 5_000) break
    }
    await allAreDisconnected
    const slowMs = performance.now() - startedAt
    assert.ok(served > 100, `${served} served`)
    assert.ok(longestMs < slowMs / 4, `the longest took ${longestMs} ms, the slow ones ${slowMs} ms`)
  })

  test('and one that does not read its response does not delay others', async () => {
    const lazy = await openRawConnection(server.base)
    lazy.socket.pause()
    for (let n = 0; n < 50; n++) lazy.socket.write('GET /v1/openapi.json HTTP/1.1\r\nHost: petstore\r\n\r\n')
    assert.equal((await server.request('GET', '/v1/pets', { key })).status, 200)
    lazy.socket.destroy()
  })
})

describe('an oversized request', { concurrency: true }, () => {
  test('with headers of more than 16 KiB gets 431', async () => {
    const caller = await openRawConnection(
      server.base,
      `GET /healthz HTTP/1.1\r\nHost: petstore\r\nX-Long: ${'x'.repeat(17 * 1024)}\r\n\r\n`,
    )
    await caller.closed
    assert.match(caller.received(), /^HTTP\/1\.1 431 /)
  })

  test('is accepted up to the limit', async () => {
    const caller = await openRawConnection(
      server.base,
      `GET /healthz HTTP/1.1\r\nHost: petstore\r\nX-Long: ${'x'.repeat(15 * 1024)}\r\n\r\n`,
    )
    assert.equal((await caller.response()).status, 200)
    caller.socket.destroy()
  })

  const chunk = 'x'.repeat(64 * 1024)
  for (const [form, start, piece] of [
    ['announced', () => post(`Content-Length: ${1024 ** 3}`), chunk],
    ['in chunks', () => post('Transfer-Encoding: chunked'), `${(64 * 1024).toString(16)}\r\n${chunk}\r\n`],
  ] as const) {
    test(`with a body that is ${form} gets 413 before the rest has arrived`, async () => {
      const caller = await openRawConnection(server.base, start(), piece, piece)
      const { status, head, body } = await caller.response()
      assert.equal(status, 413)
      assert.match(head, /^connection: close$/im)
      assert.equal(JSON.parse(body).code, 'body_too_large')
      await caller.closed
    })

    test(`with a body that is ${form} is not read further, even if the client keeps sending`, async () => {
      const caller = await openRawConnection(server.base, start())
      const { socket } = caller
      const writeMore = () => {
        while (socket.writable && socket.write(piece)) {
          // Until the socket buffer is full.
        }
      }
      socket.on('drain', writeMore)
      writeMore()
      await caller.closed
      const sentBytes = socket.bytesWritten - socket.writableLength
      assert.ok(sentBytes < 32 * 1024 ** 2, `${sentBytes} bytes were taken of 1 GiB`)
      assert.match(caller.received(), /^(?:HTTP\/1\.1 413 |$)/)
    })
  }

  test('with a body that is sent completely before the response is read still gets 413', async () => {
    for (let round = 0; round < 10; round++) {
      const bytes = 65 * 1024 + round * 50_000
      const { status, json } = await server.request('POST', '/v1/pets', { key, body: 'x'.repeat(bytes) })
      assert.equal(status, 413)
      assert.equal(json.code, 'body_too_large')
    }
  })

  test('has a body of at least 64 KiB and one byte', async () => {
    const body = (bytes: number) => `{"name":"x","categoryId":1}`.padEnd(bytes)
    assert.equal((await server.request('POST', '/v1/pets', { key, body: body(64 * 1024) })).status, 201)
    assert.equal((await server.request('POST', '/v1/pets', { key, body: body(64 * 1024 + 1) })).status, 413)
  })
})

test('a connection is kept alive, and the response states for how long', async () => {
  const caller = await openRawConnection(server.base)
  for (let n = 0; n < 3; n++) {
    caller.socket.write('GET /healthz HTTP/1.1\r\nHost: petstore\r\n\r\n')
    const { status, head } = await caller.response()
    assert.equal(status, 200)
    assert.match(head, /^connection: keep-alive$/im)
    assert.match(head, /^keep-alive: timeout=\d+$/im)
  }
  caller.socket.destroy()
})

test('a client that disconnects or is disconnected during a request causes no error in the log', async () => {
  const remaining = async () => (await server.request('GET', '/v1/limits', { key })).json.day.remaining
  const before = await remaining()
  const gone = await openRawConnection(
    server.base,
    post('Content-Length: 1000', 'X-Request-Id: goes-away'),
    '{"name":',
  )
  await eventually(
    'the request is counted, and its body waited for',
    async () => (await remaining()) < before,
  )
  gone.socket.destroy()
  await eventually('it is logged', () => server.output.stderr.includes('goes-away'))
  const { stderr, code } = await stopped(server)
  assert.equal(code, 0)
  const faults = stderr.split('\n').filter((line) => /"level":(?:50|60)|"status":5/.test(line))
  assert.deepEqual(faults, [])
})
