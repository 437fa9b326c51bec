import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  Petstore,
  type PetstoreError,
  type PetstoreOptions,
  parseInt64,
  type StreamDisconnection,
  Submission,
} from '../../client/src/index.ts'
import { instantClock } from '../support/scriptedServer.ts'

/** What an application needs in which people sign in with a key and send forms. No server: each test answers its requests. */

type Sent = { url: string; init: RequestInit; answer: PromiseWithResolvers<Response> }

function scriptedStore(options: Partial<PetstoreOptions> = {}, ownClock?: object) {
  const sent: Sent[] = []
  const arrivals: (() => void)[] = []
  const clock = instantClock()
  const store = new Petstore(
    {
      baseUrl: 'http://test',
      apiKey: 'a-key',
      maxRetries: 0,
      fetch(url, init) {
        const answer = Promise.withResolvers<Response>()
        init.signal?.addEventListener('abort', () => answer.reject(init.signal?.reason))
        sent.push({ url, init, answer })
        arrivals.shift()?.()
        return answer.promise
      },
      ...options,
    },
    ownClock ?? clock,
  )
  let answered = 0
  /** The next request that is sent. */
  async function next(): Promise<Sent> {
    if (answered === sent.length) await new Promise<void>((resolve) => arrivals.push(resolve))
    return sent[answered++] as Sent
  }
  return { store, clock, sent, next }
}

const errorResponse = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ status, code, message: code }, { status, headers })
const keyOf = ({ init }: Sent) => new Headers(init.headers).get('idempotency-key')

describe('the signal of the client', () => {
  test('ends all its requests, except those with keepalive', async () => {
    const controller = new AbortController()
    const { store, next } = scriptedStore({ signal: controller.signal })
    const own = new AbortController()
    const reason = new Error('signed out')
    const ended = [store.inventory.get(), store.limits.get({ signal: own.signal })].map((request) =>
      assert.rejects(request, reason),
    )
    const kept = store.pets.delete(7, { keepalive: true })
    const requests = [await next(), await next(), await next()]
    assert.deepEqual(
      requests.map(({ init }) => init.keepalive),
      [false, false, true],
    )
    controller.abort(reason)
    await Promise.all(ended)
    requests[2]?.answer.resolve(new Response(null, { status: 204 }))
    await kept
    await assert.rejects(store.inventory.get(), reason)
  })

  test('ends the request for the limits that the throttle sends', async () => {
    const controller = new AbortController()
    const { store, next } = scriptedStore({ signal: controller.signal, throttle: true })
    const reason = new Error('signed out')
    const ended = assert.rejects(store.inventory.get(), reason)
    const { url, init } = await next()
    assert.match(url, /\/limits$/)
    controller.abort(reason)
    await ended
    assert.equal(init.signal?.aborted, true)
  })

  test('ends its streams', async () => {
    const controller = new AbortController()
    const { store, next } = scriptedStore({ signal: controller.signal })
    const event = store.events.stream().next()
    const opened = await next()
    opened.answer.resolve(
      new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } }),
    )
    const ended = assert.rejects(event, /signed out/)
    controller.abort(new Error('signed out'))
    await ended
  })

  test('does not replace the signal of a request', async () => {
    const { store, next } = scriptedStore({ signal: new AbortController().signal })
    const own = new AbortController()
    const ended = assert.rejects(store.inventory.get({ signal: own.signal }), /enough/)
    await next()
    own.abort(new Error('enough'))
    await ended
  })
})

describe('onKeyRejected', () => {
  test('gets the error of every request whose key is rejected, and of no other', async () => {
    const rejected: PetstoreError[] = []
    const { store, next } = scriptedStore({ onKeyRejected: (error) => void rejected.push(error) })
    for (const [status, code] of [
      [403, 'insufficient_scope'],
      [401, 'invalid_api_key'],
    ] as const) {
      const failed = assert.rejects(store.inventory.get(), { code })
      ;(await next()).answer.resolve(errorResponse(status, code))
      await failed
    }
    assert.deepEqual(
      rejected.map(({ code }) => code),
      ['invalid_api_key'],
    )
  })
})

describe('pauseOnRateLimit', () => {
  for (const isPausing of [true, false])
    test(`${isPausing}: a 429 ${isPausing ? 'ends' : 'does not end'} the next request before it is sent`, async () => {
      const { store, next, sent } = scriptedStore({ pauseOnRateLimit: isPausing, maxWaitMs: 0 })
      const limited = assert.rejects(store.inventory.get(), { status: 429, retryAfterMs: 30_000 })
      const limit = errorResponse(429, 'rate_limit_exceeded', { 'retry-after': '30' })
      ;(await next()).answer.resolve(limit)
      await limited
      const second = store.inventory.get()
      if (isPausing) return assert.rejects(second, /Nothing was sent/)
      ;(await next()).answer.resolve(Response.json({}))
      await second
      assert.equal(sent.length, 2)
    })

  test('false: a retry still waits for the end of the limit', async () => {
    const { store, next, clock } = scriptedStore({ pauseOnRateLimit: false, maxRetries: 1 })
    const request = store.inventory.get()
    ;(await next()).answer.resolve(errorResponse(429, 'rate_limit_exceeded', { 'retry-after': '30' }))
    ;(await next()).answer.resolve(Response.json({}))
    await request
    assert.deepEqual(clock.sleeps, [33_000])
  })
})

describe('a submission', () => {
  /** Sends the request, responds to it, and returns its key. */
  function makeForm() {
    const { store, next } = scriptedStore()
    const submission = new Submission()
    return async (name: string, response: Response | Error) => {
      const created = store.categories.create({ name }, { submission }).catch(() => {})
      const request = await next()
      if (response instanceof Error) request.answer.reject(response)
      else request.answer.resolve(response)
      await created
      return keyOf(request)
    }
  }
  const lost = () => new TypeError('Failed to fetch')

  test('has the same key until its outcome is known', async () => {
    const send = makeForm()
    const key = await send('Dogs', lost())
    for (const response of [
      errorResponse(503, 'unavailable'),
      errorResponse(409, 'idempotency_in_progress'),
      new Response('<html>', { headers: { 'content-type': 'text/html' } }),
      // These say nothing about the request whose response was lost.
      errorResponse(401, 'invalid_api_key'),
      errorResponse(403, 'insufficient_scope'),
      errorResponse(429, 'rate_limit_exceeded', { 'retry-after': '1' }),
      lost(),
    ])
      assert.equal(await send('Dogs', response), key)
    assert.equal(await send('Dogs', Response.json({ id: 1 }, { status: 201 })), key)
    assert.notEqual(await send('Dogs', lost()), key, 'The second one is another category.')
  })

  test('has another key after an error of the request, and for another request', async () => {
    const send = makeForm()
    const key = await send('Dogs', errorResponse(409, 'category_name_taken'))
    const later = await send('Dogs', lost())
    assert.notEqual(later, key)
    assert.notEqual(await send('Cats', lost()), later)
  })
})

describe('the connection of a stream', () => {
  const openStream = (text = '') =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      }),
      { headers: { 'content-type': 'text/event-stream', 'last-event-id': '7' } },
    )

  test('is reported, and repeated also if the first one fails', async () => {
    const { store, next, clock } = scriptedStore({ pauseOnRateLimit: false })
    const positions: (string | undefined)[] = []
    const lost: Pick<StreamDisconnection, 'error' | 'delayMs'>[] = []
    let reconnect = () => {}
    const stream = store.events.stream({
      onConnect(connection) {
        positions.push(connection.lastEventId)
        reconnect = connection.reconnect
      },
      onDisconnect: ({ error, delayMs }) => void lost.push({ error, delayMs }),
    })
    const first = stream.next()
    ;(await next()).answer.reject(new TypeError('Failed to fetch'))
    ;(await next()).answer.resolve(errorResponse(429, 'too_many_streams', { 'retry-after': '5' }))
    ;(await next()).answer.resolve(openStream('id: 8\ndata: {"id":8}\n\n'))
    assert.deepEqual((await first).value, { id: 8 })
    assert.deepEqual(
      lost.map(({ error, delayMs }) => [error?.code, delayMs]),
      [
        ['connection_failed', 500],
        ['too_many_streams', 5_000],
      ],
    )
    const second = stream.next()
    reconnect()
    const resumed = await next()
    assert.equal(new Headers(resumed.init.headers).get('last-event-id'), '8')
    resumed.answer.resolve(openStream('id: 9\ndata: {"id":9}\n\n'))
    assert.deepEqual((await second).value, { id: 9 })
    assert.deepEqual(positions, ['7', '8'])
    assert.deepEqual([lost.length, lost[2]?.error], [3, undefined])
    // The wait was ended by `reconnect`.
    assert.deepEqual(clock.sleeps, [500, 5_000])
    await stream.return()
  })

  test('can wait for another time, which reconnect ends', async () => {
    // The clock of the machine: the test would not end.
    const { store, next } = scriptedStore({}, {})
    const waiting = Promise.withResolvers<StreamDisconnection>()
    const event = store.events
      .stream({
        onDisconnect(disconnection) {
          waiting.resolve(disconnection)
          return 60 * 60_000
        },
      })
      .next()
    ;(await next()).answer.reject(new TypeError('Failed to fetch'))
    ;(await waiting.promise).reconnect()
    ;(await next()).answer.resolve(openStream('id: 8\ndata: {"id":8}\n\n'))
    assert.deepEqual((await event).value, { id: 8 })
  })

  test('that is rejected ends the stream', async () => {
    const { store, next } = scriptedStore()
    const ended = assert.rejects(store.events.stream({ onDisconnect: () => assert.fail() }).next(), {
      code: 'events_expired',
    })
    ;(await next()).answer.resolve(errorResponse(410, 'events_expired'))
    await ended
  })
})

describe('parseInt64', () => {
  test('reads every 64-bit integer exactly, and nothing else', () => {
    for (const [text, value] of [
      ['7', 7],
      ['-7', -7],
      ['9007199254740991', 9007199254740991],
      ['9007199254740993', 9007199254740993n],
      ['-9223372036854775808', -(2n ** 63n)],
    ] as const)
      assert.equal(parseInt64(text), value)
    for (const text of [
      '',
      ' 7',
      '7.0',
      '1e3',
      '0x7',
      'seven',
      '9223372036854775808',
      '99999999999999999999',
    ])
      assert.throws(() => parseInt64(text), RangeError)
  })
})
