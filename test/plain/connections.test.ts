import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen } from '../../src/http/listen.ts'
import type { Handlers } from '../../src/http/listener.ts'
import { Letterhead } from '../../src/http/outgoing.ts'
import { nothingSaid } from '../../src/http/said.ts'
import { eventually } from '../support/eventually.ts'
import { type Caller, call } from '../support/socket.ts'

/** The server keeps 100 places free, so this leaves room for four connections. */
const connectionsMax = 104
const bounds = { stalledMs: 60_000, connectionsMax }
const anywhere = { host: '127.0.0.1', port: 0 }

/** Nothing here is the API's. */
const handlers = (fetch: Handlers['fetch']): Handlers => ({
  fetch,
  direct: async () => ({ status: 500, letterhead: new Letterhead({}), said: nothingSaid }),
})

async function ask(caller: Caller, path = '/'): Promise<string> {
  caller.socket.write(`GET ${path} HTTP/1.1\r\nHost: petstore\r\n\r\n`)
  return (await caller.answer()).body
}

test('near the limit of connections the one that has been idle longest makes room', async () => {
  const listener = await listen(
    handlers(({ url }) => new Response(new URL(url).pathname)),
    anywhere,
    bounds,
  )
  const callers: Caller[] = []
  const arrive = async () => {
    const caller = await call(`http://127.0.0.1:${listener.port}`)
    callers.push(caller)
    assert.equal(await ask(caller, '/first'), '/first')
    return caller
  }
  try {
    const first = await arrive()
    const second = await arrive()
    const third = await arrive()
    await arrive()
    // There is room for these four: nobody had to go.
    assert.deepEqual(
      callers.map(({ socket }) => socket.closed),
      [false, false, false, false],
    )
    await arrive()
    await first.closed
    // Whoever asks is no longer the one that has been idle longest.
    assert.equal(await ask(second, '/again'), '/again')
    await arrive()
    await third.closed
    for (const caller of callers) {
      if (caller !== first && caller !== third) assert.equal(await ask(caller, '/still'), '/still')
    }
  } finally {
    for (const { socket } of callers) socket.destroy()
    await listener.stop()
  }
})

test('who is being served does not have to make room, however long it takes', async () => {
  const served = Promise.withResolvers<void>()
  const slowly = async ({ url }: Request) => {
    if (url.endsWith('/slow')) await served.promise
    return new Response('done')
  }
  const listener = await listen(handlers(slowly), anywhere, bounds)
  const callers: Caller[] = []
  const arrive = async () => {
    const caller = await call(`http://127.0.0.1:${listener.port}`)
    callers.push(caller)
    return caller
  }
  try {
    const slow = await arrive()
    assert.equal(await ask(slow), 'done')
    const answer = ask(slow, '/slow')
    const idle = await arrive()
    assert.equal(await ask(idle), 'done')
    for (let n = 0; n < 3; n++) assert.equal(await ask(await arrive()), 'done')
    await idle.closed
    served.resolve()
    assert.equal(await answer, 'done')
  } finally {
    served.resolve()
    for (const { socket } of callers) socket.destroy()
    await listener.stop()
  }
})

test('a connection that is idle for long is closed, and no other', async () => {
  const served = Promise.withResolvers<void>()
  const slowly = async ({ url }: Request) => {
    if (url.endsWith('/slow')) await served.promise
    return new Response('done')
  }
  const listener = await listen(handlers(slowly), anywhere, { ...bounds, idleMs: 1_500 })
  const callers = await Promise.all(
    Array.from({ length: 4 }, () => call(`http://127.0.0.1:${listener.port}`)),
  )
  const [idle, busy, slow, trickling] = callers as [Caller, Caller, Caller, Caller]
  try {
    // The first who asks waits for what answers to be loaded; the others must not be idle for as long.
    assert.equal(await ask(busy), 'done')
    for (const caller of callers) assert.equal(await ask(caller), 'done')
    const answer = ask(slow, '/slow')
    trickling.socket.write('GET / HTTP/1.1\r\n')
    let isClosed = false
    const closed = idle.closed.then(() => {
      isClosed = true
    })
    let writtenAt = performance.now()
    while (!isClosed) {
      assert.equal(await ask(busy), 'done')
      if (performance.now() - writtenAt < 50) continue
      writtenAt = performance.now()
      trickling.socket.write('X-Line: 1\r\n')
    }
    await closed
    trickling.socket.write('Host: petstore\r\n\r\n')
    assert.equal((await trickling.answer()).body, 'done', 'who is sending a request is not idle')
    served.resolve()
    assert.equal(await answer, 'done', 'nor is who waits for an answer')
    // In the end they all go.
    await Promise.all([busy.closed, slow.closed, trickling.closed])
  } finally {
    served.resolve()
    for (const { socket } of callers) socket.destroy()
    await listener.stop()
  }
})

test('a connection whose answer was watched may be idle as long as any other', async () => {
  const listener = await listen(
    handlers(() => new Response('done')),
    anywhere,
    { ...bounds, stalledMs: 500, idleMs: 2_000 },
  )
  const watched = await call(`http://127.0.0.1:${listener.port}`)
  try {
    assert.equal(await ask(watched), 'done')
    const started = performance.now()
    await watched.closed
    const idleMs = performance.now() - started
    assert.ok(idleMs > 1_000, `it was closed after ${idleMs} ms, by the bound of a stalled answer`)
  } finally {
    watched.socket.destroy()
    await listener.stop()
  }
})

/** Ends of connections in this process, where both sides are. */
const openSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length

test('who takes nothing of a second answer is cut off as well', async () => {
  // More than fits on the way.
  const large = 'x'.repeat(32 * 1024 * 1024)
  const bodyAt = (address: string) => (address.endsWith('/large') ? large : 'done')
  const listener = await listen(
    {
      fetch: ({ url }) => new Response(bodyAt(url)),
      direct: async ({ target }) => ({
        status: 200,
        letterhead: new Letterhead({ 'Content-Length': String(bodyAt(target).length) }),
        said: nothingSaid,
        body: bodyAt(target),
      }),
    },
    anywhere,
    { ...bounds, stalledMs: 300 },
  )
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: petstore\r\n\r\n`
  try {
    for (const first of ['/', '/v1/small']) {
      for (const second of ['/large', '/v1/large']) {
        const caller = await call(`http://127.0.0.1:${listener.port}`)
        caller.socket.pause()
        caller.socket.write(request(first) + request(second))
        // Nothing is taken before the server has given up: then of the two ends there is one left.
        await eventually(`${first} ${second}: the server gives up`, async () => openSockets() === 1)
        caller.socket.resume()
        await caller.closed
        assert.ok(caller.socket.bytesRead < large.length, `${caller.socket.bytesRead} bytes came`)
      }
    }
  } finally {
    await listener.stop()
  }
})
