import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { ConnectionError, Petstore, type PetstoreOptions, TimeoutError } from '../../client/src/index.ts'

/** A key and a certificate for 127.0.0.1 that only tests use. It is valid for 100 years. */
const pem = readFileSync(new URL('../fixtures/selfSigned.pem', import.meta.url))
const apiKey = 'a-key-that-no-error-names'

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => void sockets.add(socket))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** The port of an open connection's own end: nothing listens there, and no other process can get it during the test. */
async function closedPort(t: TestContext): Promise<number> {
  const socket = connect(await listen(t, createServer()), '127.0.0.1')
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket.localPort as number
}

async function errorOf(baseUrl: string, options: Partial<PetstoreOptions> = {}): Promise<ConnectionError> {
  const store = new Petstore({ baseUrl, apiKey, maxRetries: 0, ...options })
  const error = await store.inventory.get().then(
    () => assert.fail('There was a response.'),
    (reason) => reason,
  )
  assert.ok(error instanceof ConnectionError, String(error))
  assert.ok(!String(error).includes(apiKey))
  return error
}

describe('a connection error names the address and the cause', () => {
  test('if nothing listens there', async (t) => {
    const port = await closedPort(t)
    const error = await errorOf(`http://127.0.0.1:${port}/v1`)
    assert.equal(
      error.message,
      `No complete response from http://127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`,
    )
    assert.ok(error.cause instanceof Error)
    // Both addresses of localhost: the cause has one error for each.
    const { message } = await errorOf(`http://localhost:${port}`)
    assert.match(message, new RegExp(`^No complete response from http://localhost:${port}: .*ECONNREFUSED`))
  })

  test('if the host does not exist', async () => {
    const { message } = await errorOf('https://no-host.invalid/v1')
    assert.match(
      message,
      /^No complete response from https:\/\/no-host\.invalid: .*\b(ENOTFOUND|EAI_AGAIN)\b/,
    )
  })

  test('if the certificate is not trusted', async (t) => {
    const port = await listen(t, createHttpsServer({ key: pem, cert: pem }))
    const { message } = await errorOf(`https://127.0.0.1:${port}`)
    assert.match(message, /self-signed certificate.*\(DEPTH_ZERO_SELF_SIGNED_CERT\)$/)
  })

  test('if the connection ends before the response, or in the middle of it', async (t) => {
    const closing = await listen(
      t,
      createServer((socket) => socket.destroy()),
    )
    const { message } = await errorOf(`http://127.0.0.1:${closing}`)
    assert.match(message, new RegExp(`^No complete response from http://127.0.0.1:${closing}: \\S`))
    const truncating = createServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{')),
    )
    const truncated = await errorOf(`http://127.0.0.1:${await listen(t, truncating)}`)
    assert.match(truncated.message, /^No complete response from .*\d: other side closed \(UND_ERR_SOCKET\)$/)
  })

  test('if the JSON is not complete, without a part of it', async () => {
    const fetch = async () =>
      new Response('{"key":"a-secret" x', { headers: { 'content-type': 'application/json' } })
    const { message } = await errorOf('http://test', { fetch })
    assert.equal(message, 'No complete response from http://test: invalid JSON')
  })

  test('if it takes too long', async (t) => {
    const port = await listen(t, createServer())
    const error = await errorOf(`http://127.0.0.1:${port}`, { timeoutMs: 50 })
    assert.ok(error instanceof TimeoutError)
    assert.equal(error.message, `No complete response from http://127.0.0.1:${port} within 50 ms.`)
  })

  test('as far as another fetch tells', async () => {
    for (const [thrown, reason] of [
      [new TypeError('Failed to fetch'), 'Failed to fetch'],
      [
        Object.assign(new TypeError('Unable to connect'), { code: 'ECONNREFUSED' }),
        'Unable to connect (ECONNREFUSED)',
      ],
      [Object.assign(new Error(' two\nlines '), { code: 7 }), 'two lines'],
      [new Error(''), 'Error'],
      ['text', 'text'],
      [undefined, 'undefined'],
    ] as const) {
      const fetch = async () => {
        throw thrown
      }
      const { message } = await errorOf('http://user:password@test:81/v1?key=x', { fetch })
      assert.equal(message, `No complete response from http://test:81: ${reason}`)
    }
    // A chain of causes that never ends.
    const circular = new Error('around')
    circular.cause = circular
    const fetch = async () => {
      throw circular
    }
    assert.match((await errorOf('http://test', { fetch })).message, /: around$/)
  })
})
