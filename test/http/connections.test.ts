import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { BlockList, connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connectionGroup } from '../../src/api/clientAddress.ts'
import type { ApiRequest } from '../../src/api/request.ts'
import type { ApiResponse } from '../../src/api/response.ts'
import { listen } from '../../src/server/listen.ts'
import type { Handlers, ListenAddress, ListenBounds } from '../../src/server/server.ts'
import { eventually } from '../support/eventually.ts'
import { openRawConnection, type RawConnection } from '../support/rawConnection.ts'
import { startTestService } from '../support/service.ts'

/** The server keeps 100 places free, so this leaves room for four connections. */
const connectionsMax = 104
const bounds = { stalledMs: 60_000, connectionsMax }
const anywhere = { host: '127.0.0.1', port: 0 }

const textResponse = (body: string): ApiResponse => ({
  status: 200,
  headers: ['Content-Length', String(body.length)],
  body,
})

/** A server that responds with a text. */
const handlers = (textOf: (request: ApiRequest) => string | Promise<string>): Handlers => ({
  handle: async (request) => textResponse(await textOf(request)),
})

async function send(caller: RawConnection, path = '/'): Promise<string> {
  caller.socket.write(`GET ${path} HTTP/1.1\r\nHost: petstore\r\n\r\n`)
  return (await caller.response()).body
}

test('near the limit of connections the one that has been idle longest makes room', async () => {
  const listener = await listen(
    handlers(({ target }) => target),
    anywhere,
    bounds,
  )
  const callers: RawConnection[] = []
  const arrive = async () => {
    const caller = await openRawConnection(`http://127.0.0.1:${listener.port}`)
    callers.push(caller)
    assert.equal(await send(caller, '/first'), '/first')
    return caller
  }
  try {
    const first = await arrive()
    const second = await arrive()
    const third = await arrive()
    await arrive()
    // There is room for these four: none was closed.
    assert.deepEqual(
      callers.map(({ socket }) => socket.closed),
      [false, false, false, false],
    )
    await arrive()
    await first.closed
    // A connection that sends a request is no longer the one that has been idle longest.
    assert.equal(await send(second, '/again'), '/again')
    await arrive()
    await third.closed
    for (const caller of callers) {
      if (caller !== first && caller !== third) assert.equal(await send(caller, '/still'), '/still')
    }
  } finally {
    for (const { socket } of callers) socket.destroy()
    await listener.stop()
  }
})

test('a connection with a request in progress is never closed to make room', async () => {
  const served = Promise.withResolvers<void>()
  const slowly = async ({ target }: ApiRequest) => {
    if (target === '/slow') await served.promise
    return 'done'
  }
  const listener = await listen(handlers(slowly), anywhere, bounds)
  const callers: RawConnection[] = []
  const arrive = async () => {
    const caller = await openRawConnection(`http://127.0.0.1:${listener.port}`)
    callers.push(caller)
    return caller
  }
  try {
    const slow = await arrive()
    assert.equal(await send(slow), 'done')
    const response = send(slow, '/slow')
    const idle = await arrive()
    assert.equal(await send(idle), 'done')
    for (let n = 0; n < 3; n++) assert.equal(await send(await arrive()), 'done')
    await idle.closed
    served.resolve()
    assert.equal(await response, 'done')
  } finally {
    served.resolve()
    for (const { socket } of callers) socket.destroy()
    await listener.stop()
  }
})

test('the body of a request whose connection was closed before it is read fails, so that the request ends', async () => {
  const arrived = Promise.withResolvers<ApiRequest>()
  const isClosed = Promise.withResolvers<void>()
  const read = Promise.withResolvers<unknown>()
  const listener = await listen(
    handlers(async (request) => {
      arrived.resolve(request)
      await isClosed.promise
      await request.body({ bytesMax: 100 }).then(read.resolve, read.reject)
      return ''
    }),
    anywhere,
    bounds,
  )
  try {
    const caller = await openRawConnection(`http://127.0.0.1:${listener.port}`)
    caller.socket.write('POST / HTTP/1.1\r\nHost: petstore\r\nContent-Length: 2\r\n\r\n{}')
    const request = await arrived.promise
    caller.socket.destroy()
    await eventually('the connection is closed', () => request.isDisconnected === true)
    isClosed.resolve()
    await assert.rejects(read.promise, /closed before the body was read/)
  } finally {
    await listener.stop()
  }
})

test('a stop waits for a response that the client is still reading', async () => {
  // More than the buffers of the system.
  const body = 'x'.repeat(20_000_000)
  const served = Promise.withResolvers<void>()
  const listener = await listen(
    handlers(() => {
      setImmediate(served.resolve)
      return body
    }),
    anywhere,
    bounds,
  )
  const caller = connect({ host: '127.0.0.1', port: listener.port })
  caller.write('GET / HTTP/1.1\r\nHost: petstore\r\n\r\n')
  await served.promise
  const stopped = listener.stop()
  // The server would stop listening within this time.
  await pause(300)
  let received = 0
  for await (const chunk of caller) received += chunk.length
  assert.ok(received > body.length, `${received} bytes`)
  await stopped
})

test('a stop lets clients with many pipelined requests read their last response', async () => {
  const body = 'x'.repeat(200_000)
  const listener = await listen(
    handlers(() => body),
    anywhere,
    bounds,
  )
  const requests = 'GET / HTTP/1.1\r\nHost: petstore\r\n\r\n'.repeat(4_000)
  const callers = await Promise.all(
    Array.from({ length: 4 }, () => openRawConnection(`http://127.0.0.1:${listener.port}`, requests)),
  )
  for (const caller of callers) await caller.response()
  // What the client has not read stays in the buffers of the system, with requests that the server has not read.
  for (const { socket } of callers) socket.pause()
  const stopped = listener.stop()
  await pause(300)
  for (const { socket } of callers) socket.resume()
  for (const caller of callers) {
    assert.equal((await caller.closed).error, undefined)
    let last = ''
    for (let rest = caller.received(); rest !== ''; rest = rest.slice(last.length)) {
      const bodyAt = rest.indexOf('\r\n\r\n') + 4
      last = rest.slice(0, bodyAt + body.length)
      assert.equal(last.length, bodyAt + body.length)
    }
    assert.match(last, /^Connection: close$/m)
  }
  await stopped
})

test('a stop lets a client that sent a request while it did not read its responses read the last one', async (t) => {
  const sockets: Socket[] = []
  const note = (message: unknown) => void sockets.push((message as { socket: Socket }).socket)
  subscribe('net.server.socket', note)
  t.after(() => unsubscribe('net.server.socket', note))
  // More than the buffers of the system.
  const body = 'x'.repeat(20_000_000)
  const listener = await listen(
    handlers(({ target }) => (target === '/large' ? body : 'small')),
    anywhere,
    bounds,
  )
  const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nHost: petstore\r\n\r\n`
  const caller = connect({ host: '127.0.0.1', port: listener.port })
  caller.pause()
  caller.write(requestOf('/large') + requestOf('/second'))
  const socket = await eventually('the response is not read', () =>
    sockets.find((one) => one.remotePort === caller.localPort && one.isPaused()),
  )
  caller.write(requestOf('/third'))
  const stopped = listener.stop()
  let received = ''
  for await (const chunk of caller) received += chunk
  const [, , last = ''] = received.split('HTTP/1.1 200 OK')
  assert.ok(received.length > body.length, `${received.length} characters`)
  assert.match(last, /^Connection: close$/m)
  assert.ok(last.endsWith('small'))
  caller.destroy()
  await stopped
  assert.ok(socket.destroyed)
})

test('a connection that is idle for long is closed, and no other', async () => {
  const served = Promise.withResolvers<void>()
  const slowly = async ({ target }: ApiRequest) => {
    if (target === '/slow') await served.promise
    return 'done'
  }
  const listener = await listen(handlers(slowly), anywhere, { ...bounds, idleMs: 1_500 })
  const callers = await Promise.all(
    Array.from({ length: 4 }, () => openRawConnection(`http://127.0.0.1:${listener.port}`)),
  )
  const [idle, busy, slow, trickling] = callers as [
    RawConnection,
    RawConnection,
    RawConnection,
    RawConnection,
  ]
  try {
    // The first request waits until the modules are loaded. The others must not be idle that long.
    assert.equal(await send(busy), 'done')
    for (const caller of callers) assert.equal(await send(caller), 'done')
    const response = send(slow, '/slow')
    trickling.socket.write('GET / HTTP/1.1\r\n')
    let isClosed = false
    const closed = idle.closed.then(() => {
      isClosed = true
    })
    let writtenAt = performance.now()
    while (!isClosed) {
      assert.equal(await send(busy), 'done')
      if (performance.now() - writtenAt < 50) continue
      writtenAt = performance.now()
      trickling.socket.write('X-Line: 1\r\n')
    }
    await closed
    trickling.socket.write('Host: petstore\r\n\r\n')
    assert.equal((await trickling.response()).body, 'done', 'a connection that sends a request is not idle')
    served.resolve()
    assert.equal(await response, 'done', 'nor is one that waits for a response')
    // In the end all are closed.
    await Promise.all([busy.closed, slow.closed, trickling.closed])
  } finally {
    served.resolve()
    for (const { socket } of callers) socket.destroy()
    await listener.stop()
  }
})

test('a connection whose request was complete only after its response is closed when idle', async () => {
  const listener = await listen(
    handlers(() => 'done'),
    anywhere,
    { ...bounds, idleMs: 500 },
  )
  const request = 'POST / HTTP/1.1\r\nHost: petstore\r\nContent-Length: 2\r\n\r\n'
  const caller = await openRawConnection(`http://127.0.0.1:${listener.port}`, request)
  try {
    assert.equal((await caller.response()).body, 'done')
    caller.socket.write('{}')
    assert.equal((await caller.closed).error, undefined)
  } finally {
    caller.socket.destroy()
    await listener.stop()
  }
})

test('a connection after a slow response may be idle as long as any other', async () => {
  const listener = await listen(
    handlers(() => 'done'),
    anywhere,
    { ...bounds, stalledMs: 500, idleMs: 2_000 },
  )
  const watched = await openRawConnection(`http://127.0.0.1:${listener.port}`)
  try {
    assert.equal(await send(watched), 'done')
    const started = performance.now()
    await watched.closed
    const idleMs = performance.now() - started
    assert.ok(idleMs > 1_000, `it was closed after ${idleMs} ms, by the limit of a stalled response`)
  } finally {
    watched.socket.destroy()
    await listener.stop()
  }
})

/** Sockets of this process, which has both ends of each connection. */
const openSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length

for (const [name, sent] of [
  ['reads nothing of a second response', ''],
  ['reads nothing, but goes on sending,', '\r\n'],
] as const)
  test(`a client that ${name} is disconnected`, async () => {
    // More than the socket buffers hold.
    const large = 'x'.repeat(32 * 1024 * 1024)
    const listener = await listen(
      handlers(({ target }) => (target === '/large' ? large : 'done')),
      anywhere,
      { ...bounds, stalledMs: 300 },
    )
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: petstore\r\n\r\n`
    try {
      const caller = await openRawConnection(`http://127.0.0.1:${listener.port}`)
      caller.socket.pause()
      caller.socket.write(request('/') + request('/large'))
      const sending = setInterval(() => caller.socket.write(sent), 50)
      caller.socket.on('close', () => clearInterval(sending))
      // Nothing is read before the server closes its end: then one of the two sockets is left.
      await eventually('the server gives up', async () => openSockets() <= 1)
      caller.socket.resume()
      await caller.closed
      assert.ok(caller.socket.bytesRead < large.length, `${caller.socket.bytesRead} bytes came`)
    } finally {
      await listener.stop()
    }
  })

describe('while a large response is being read', () => {
  // More than the socket buffers hold.
  const large = 'x'.repeat(32 * 1024 * 1024)
  const respond = handlers(({ target }) => (target === '/large' ? large : 'done'))
  const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${more}\r\n`

  test('the time for the headers of the next request does not pass', async () => {
    const headersMs = 200
    const listener = await listen(respond, anywhere, { ...bounds, headersMs })
    const caller = await openRawConnection(`http://127.0.0.1:${listener.port}`)
    try {
      caller.socket.pause()
      const next = request('/')
      caller.socket.write(request('/large') + next.slice(0, 20))
      await pause(5 * headersMs)
      caller.socket.write(next.slice(20))
      caller.socket.resume()
      assert.equal((await caller.response()).body.length, large.length)
      assert.equal((await caller.response()).body, 'done')
    } finally {
      caller.socket.destroy()
      await listener.stop()
    }
  })
})

describe('near the limit of connections', () => {
  const readsBody = handlers(async (request) => `${(await request.body({ bytesMax: 1_000 }))?.length}`)

  async function stage(t: TestContext, more: Partial<ListenBounds> = {}) {
    const closed: string[] = []
    const onConnectionClosed = (reason: string) => void closed.push(reason)
    const listener = await listen({ ...readsBody, onConnectionClosed }, anywhere, { ...bounds, ...more })
    const callers: RawConnection[] = []
    t.after(async () => {
      for (const { socket } of callers) socket.destroy()
      await listener.stop()
    })
    const arrive = async (...writes: string[]) => {
      const caller = await openRawConnection(`http://127.0.0.1:${listener.port}`, ...writes)
      callers.push(caller)
      return caller
    }
    const connectAndSend = async () => {
      const caller = await arrive()
      assert.equal(await send(caller), '0')
      return caller
    }
    return { closed, arrive, arriveAndAsk: connectAndSend }
  }

  test('unfinished connections make room before idle ones, the oldest first', async (t) => {
    const { closed, arrive, arriveAndAsk: connectAndSend } = await stage(t, { unfinishedMs: 0 })
    const idle = await connectAndSend()
    const silent = await arrive()
    const halfHead = await arrive('GET / HTTP/1.1\r\nHost: pet')
    const halfBody = await arrive('POST / HTTP/1.1\r\nHost: petstore\r\nContent-Length: 10\r\n\r\n12345')
    const well: RawConnection[] = [idle]
    for (const unfinished of [silent, halfHead, halfBody]) {
      assert.equal(unfinished.socket.closed, false)
      well.push(await connectAndSend())
      await unfinished.closed
    }
    assert.deepEqual(closed, ['unfinished', 'unfinished', 'unfinished'])
    for (const caller of well) assert.equal(await send(caller), '0')
    // Only then do idle ones.
    await connectAndSend()
    await idle.closed
    assert.deepEqual(closed.at(-1), 'idle')
  })

  test('a connection that has completed a request is not unfinished while it sends the next one', async (t) => {
    const { arrive, arriveAndAsk: connectAndSend } = await stage(t, { unfinishedMs: 0 })
    const sending = await connectAndSend()
    const idle = await connectAndSend()
    sending.socket.write('POST / HTTP/1.1\r\nHost: petstore\r\nContent-Length: 10\r\n\r\n12345')
    await arrive('GET / HTTP/1.1\r\n')
    await arrive('GET / HTTP/1.1\r\n')
    for (let n = 0; n < 2; n++) await connectAndSend()
    sending.socket.write('67890')
    assert.equal((await sending.response()).body, '10')
    assert.equal(await send(idle), '0')
  })

  test('new connections do not count as unfinished before they had time to send a request', async (t) => {
    const { closed, arrive, arriveAndAsk: connectAndSend } = await stage(t, { unfinishedMs: 60_000 })
    for (let n = 0; n < 4; n++) await connectAndSend()
    const fresh = [await arrive(), await arrive(), await arrive()]
    for (const caller of fresh) assert.equal(await send(caller), '0')
    assert.deepEqual(closed, ['idle', 'idle', 'idle'])
  })
})

describe('connections from one address', () => {
  /** Where a second address of this machine can be connected from: IPv6, or on Linux any of 127.0.0.0/8. */
  const hasIpv6 = Object.values(networkInterfaces())
    .flat()
    .some((found) => found?.address === '::1')
  const place: ListenAddress = { host: hasIpv6 ? '::' : '127.0.0.1', port: 0 }

  async function stage(t: TestContext, more: Partial<ListenBounds>) {
    const closed: string[] = []
    const listener = await listen(
      {
        ...handlers(() => 'done'),
        onConnectionClosed: (reason, address) => void closed.push(`${reason} ${address}`),
      },
      place,
      { ...bounds, connectionsPerAddressMax: 3, ...more },
    )
    const sockets: Socket[] = []
    t.after(async () => {
      for (const socket of sockets) socket.destroy()
      await listener.stop()
    })
    /** Resolves to whether a request over a new connection gets a response. */
    async function isServed(isOther = false) {
      const { port } = listener
      const socket = connect(
        !isOther
          ? { port, host: '127.0.0.1' }
          : hasIpv6
            ? { port, host: '::1' }
            : { port, host: '127.0.0.1', localAddress: '127.0.0.2' },
      )
      sockets.push(socket)
      socket.on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: petstore\r\n\r\n')
      return new Promise<boolean>((resolve) => {
        socket.once('data', () => resolve(true))
        socket.once('close', () => resolve(false))
      })
    }
    return { closed, sockets, isServed }
  }

  test('have a separate limit: more are closed immediately, and other addresses are not affected', async (t) => {
    const { closed, sockets, isServed } = await stage(t, {})
    for (let n = 0; n < 3; n++) assert.equal(await isServed(), true)
    for (let n = 0; n < 2; n++) assert.equal(await isServed(), false)
    assert.equal(await isServed(true), true)
    assert.equal(closed.length, 2)
    for (const line of closed) assert.match(line, /^address_limit (?:::ffff:)?127\.0\.0\.1$/)
    // One that goes leaves its place to another.
    sockets[0]?.destroy()
    await eventually('the place is free', () => isServed())
  })

  test('are not counted where the address is a trusted proxy', async (t) => {
    const trustedProxies = new BlockList()
    trustedProxies.addSubnet('127.0.0.0', 8)
    const { closed, isServed } = await stage(t, {
      connectionsPerAddressMax: 1,
      addressGroup: (address) => connectionGroup(address, trustedProxies),
      connectionsMax: 200,
    })
    for (let n = 0; n < 10; n++) assert.equal(await isServed(), true)
    assert.deepEqual(closed, [])
  })

  test('are bounded by a setting, counted in the metrics, and logged once', async (t) => {
    const service = await startTestService({ PETSTORE_CONNECTIONS_PER_ADDRESS: '5' })
    t.after(() => service.stop())
    const request = () => service.request('GET', '/metrics', { key: service.operatorKey })
    assert.equal((await request()).status, 200)
    const callers = await Promise.all(Array.from({ length: 8 }, () => openRawConnection(service.base)))
    t.after(() => callers.map(({ socket }) => socket.destroy()))
    const counted = /^petstore_connections_closed_total\{reason="address_limit"\} 4$/m
    await eventually('four are closed', async () => counted.test((await request()).text))
    const lines = service.logLines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'connection closed')
    assert.equal(lines.length, 1)
    assert.deepEqual([lines[0].reason, lines[0].address], ['address_limit', '127.0.0.1'])
  })
})

test('a client whose pipelined requests wait for their turn is not cut off as slow', async () => {
  const released = Promise.withResolvers<void>()
  const waiting = 150
  const listener = await listen(
    handlers(async ({ problem, target }) => {
      if (problem) return problem
      await released.promise
      return target
    }),
    anywhere,
    { ...bounds, headersMs: 200 },
  )
  const base = `http://127.0.0.1:${listener.port}`
  const request = (target: string) => `GET ${target} HTTP/1.1\r\nHost: petstore\r\n\r\n`
  const [start, end] = [request('/last').slice(0, 10), request('/last').slice(10)]
  const caller = await openRawConnection(base, request('/one').repeat(waiting) + start)
  const slow = await openRawConnection(base, start)
  try {
    // It began later, so the time of the other one is over as well.
    assert.equal((await slow.response()).body, 'timeout')
    released.resolve()
    for (let response = 0; response < waiting; response++)
      assert.equal((await caller.response()).body, '/one')
    caller.socket.write(end)
    assert.equal((await caller.response()).body, '/last')
  } finally {
    caller.socket.destroy()
    slow.socket.destroy()
    await listener.stop()
  }
})
