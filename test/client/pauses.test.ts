import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, test } from 'node:test'
import { Petstore, RateLimitError } from '../../client/src/index.ts'
import { eventually } from '../support/eventually.ts'
import {
  instantClock,
  rateLimitHeader,
  sendError,
  sendJson,
  startScriptedServer,
} from '../support/scriptedServer.ts'

const bounded = { timeout: 30_000 }

describe('a pause', () => {
  test('begins with a 429 whose body is lost', async (t) => {
    const { storeWith, requests, clock } = await startScriptedServer(t, (_request, response) => {
      if (requests.length > 1) return sendJson(response, 200, {})
      response.writeHead(429, { 'retry-after': '30', 'content-length': '100' })
      response.write('{"code":', () => response.destroy())
    })
    await storeWith().inventory.get()
    assert.deepEqual([clock.sleeps, requests.length], [[33_000], 2])
  })

  test('begins with a 429 whose request is aborted during the body', async (t) => {
    const controller = new AbortController()
    const { storeWith, requests, clock } = await startScriptedServer(t, (_request, response) => {
      if (requests.length > 1) return sendJson(response, 200, {})
      response.writeHead(429, { 'retry-after': '30', 'content-length': '100' })
      response.flushHeaders()
    })
    const abortAfterHeaders = async (url: string, init: RequestInit) => {
      const response = await fetch(url, init)
      setImmediate(() => controller.abort(new Error('enough')))
      return response
    }
    const store = storeWith({ fetch: abortAfterHeaders, maxRetries: 0 })
    await assert.rejects(store.inventory.get({ signal: controller.signal }), /enough/)
    await store.inventory.get()
    assert.deepEqual([clock.sleeps, requests.length], [[33_000], 2])
  })

  test('lasts until the window ends, or for a minute, if there is no usable Retry-After', async (t) => {
    let headers: Record<string, string> = {}
    const { storeWith, requests, clock } = await startScriptedServer(t, (_request, response) => {
      if (requests.length % 2 === 0) return sendJson(response, 200, {})
      sendError(response, 429, 'rate_limit_exceeded', headers)
    })
    const exact = { ...clock, random: () => 0 }
    for (const [sent, expectedMs] of [
      [{ ratelimit: '"minute";r=0;t=17, "day";r=5;t=80000' }, 17_000],
      [{ ratelimit: '"minute";r=3;t=17, "day";r=5;t=80000' }, 60_000],
      [{ 'retry-after': 'soon' }, 60_000],
      [{ 'retry-after': 'Mon, 01 Jan 2001 00:00:00 GMT' }, 60_000],
      [{}, 60_000],
    ] as const) {
      headers = sent
      await storeWith({}, exact).inventory.get()
      assert.equal(clock.sleeps.at(-1), expectedMs)
    }
  })

  test('has a new error with the time left for every request', async (t) => {
    const { storeWith, requests, clock } = await startScriptedServer(t, (_request, response) =>
      sendError(response, 429, 'key_banned', { 'retry-after': '300' }),
    )
    const store = storeWith({ maxWaitMs: 1_000 })
    const errorOf = (): Promise<RateLimitError> =>
      store.inventory.get().then(
        () => assert.fail(),
        (error) => error,
      )
    const first = await errorOf()
    clock.advance(100_000)
    const [second, third] = [await errorOf(), await errorOf()]
    assert.equal(first.retryAfterMs, 300_000)
    for (const error of [second, third]) {
      assert.ok(error instanceof RateLimitError)
      assert.deepEqual([error.code, error.status, error.retryAfterMs], ['key_banned', 429, 200_000])
      assert.match(error.message, /200 seconds/)
    }
    assert.notEqual(second, third)
    assert.equal(requests.length, 1)
  })

  test('does not block limits.get()', async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, (request, response) =>
      request.url === '/v1/limits'
        ? sendJson(response, 200, { plan: 'free' })
        : sendError(response, 429, 'rate_limit_exceeded', { 'retry-after': '60' }),
    )
    for (const throttle of [false, true]) {
      requests.length = 0
      // With the clock of this machine: the other request waits for a minute.
      const store = storeWith({ maxConcurrent: 1, throttle }, {})
      const controller = new AbortController()
      const waiting = store.inventory.get({ signal: controller.signal })
      await eventually('a request', () => requests.includes('GET /v1/store/inventory'))
      assert.equal((await store.limits.get()).plan, 'free')
      controller.abort(new Error('enough'))
      await assert.rejects(waiting, /enough/)
    }
  })

  test('does not begin with a 429 of limits.get(), which is about the address', async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, (request, response) =>
      request.url === '/v1/limits'
        ? sendError(response, 429, 'rate_limit_exceeded', { 'retry-after': '60', ...rateLimitHeader(0) })
        : sendJson(response, 200, {}),
    )
    const store = storeWith({ maxWaitMs: 0 })
    await assert.rejects(store.limits.get(), RateLimitError)
    await store.inventory.get()
    assert.equal(requests.length, 2)
  })
})

describe('the throttle', () => {
  test('continues after GET /limits has failed', bounded, async (t) => {
    const { storeWith, requests, clock } = await startScriptedServer(t, (_request, response) =>
      requests.length === 1
        ? sendError(response, 503, 'unavailable')
        : sendJson(response, 200, {}, rateLimitHeader(50)),
    )
    const store = storeWith({ throttle: true })
    await store.inventory.get()
    clock.advance(1_200)
    await store.inventory.get()
    await store.inventory.get()
    const [limits, inventory] = ['GET /v1/limits', 'GET /v1/store/inventory']
    assert.deepEqual(requests, [limits, inventory, limits, inventory, inventory])
  })

  test('sends one request at a time if the service has no rate limit headers', bounded, async () => {
    let inFlight = 0
    let inFlightMax = 0
    let sent = 0
    const fetch = async (url: string) => {
      if (url.endsWith('/limits')) return Response.json({})
      inFlightMax = Math.max(inFlightMax, ++inFlight)
      sent++
      await new Promise(setImmediate)
      inFlight--
      return Response.json({})
    }
    const store = new Petstore(
      { baseUrl: 'http://test', apiKey: 'a-key', throttle: true, fetch },
      instantClock(),
    )
    await Promise.all(Array.from({ length: 20 }, () => store.inventory.get()))
    assert.deepEqual([sent, inFlightMax], [20, 1])
  })

  test('sends nothing for a signal that is aborted while it reads the limits', bounded, async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, () => {})
    const controller = new AbortController()
    const call = storeWith({ throttle: true }).pets.create(
      { name: 'Milo', categoryId: 3 },
      { signal: controller.signal },
    )
    await eventually('GET /limits', () => requests.length === 1)
    controller.abort(new Error('enough'))
    await assert.rejects(call, /enough/)
    assert.deepEqual(requests, ['GET /v1/limits'])
  })

  test('a slow request does not hold others back in the next window', bounded, async () => {
    const clock = instantClock()
    const held: PromiseWithResolvers<Response>[] = []
    const reply = () => Response.json({}, { headers: { ratelimit: '"minute";r=2;t=60' } })
    const fetch = async (url: string) => {
      if (url.endsWith('/limits')) return reply()
      held.push(Promise.withResolvers<Response>())
      return held.at(-1)?.promise as Promise<Response>
    }
    const options = { baseUrl: 'http://test', apiKey: 'a-key', throttle: true, maxRetries: 0, fetch }
    const store = new Petstore(options, clock)
    const calls = Promise.allSettled(Array.from({ length: 3 }, () => store.inventory.get()))
    await eventually('two requests', () => held.length === 2)
    clock.advance(61_000)
    held[1]?.reject(new TypeError('lost'))
    await eventually('the third request', () => held.length === 3)
    for (const { resolve } of held) resolve(reply())
    assert.deepEqual(
      (await calls).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
  })

  test('2,000 requests with one signal have at most one listener', bounded, async () => {
    const { signal } = new AbortController()
    const clock = instantClock()
    let listenersMax = 0
    const sentPerMinute = new Map<number, number>()
    const fetch = async (url: string) => {
      listenersMax = Math.max(listenersMax, getEventListeners(signal, 'abort').length)
      const minute = Math.floor(clock.now() / 60_000)
      const sent = (sentPerMinute.get(minute) ?? 0) + (url.endsWith('/limits') ? 0 : 1)
      sentPerMinute.set(minute, sent)
      await new Promise(setImmediate)
      return Response.json({}, { headers: { ratelimit: `"minute";r=${400 - sent};t=60` } })
    }
    const options = { baseUrl: 'http://test', apiKey: 'a-key', throttle: true, maxConcurrent: 2_000, fetch }
    const store = new Petstore(options, { ...clock, sleep: sharedSleep(clock) })
    await Promise.all(Array.from({ length: 2_000 }, () => store.inventory.get({ signal })))
    assert.deepEqual([...sentPerMinute.values()], Array(5).fill(400))
    assert.equal(listenersMax, 1)
    assert.equal(getEventListeners(signal, 'abort').length, 0)
  })
})

/** Sleepers that begin in the same turn sleep at the same time. */
function sharedSleep(clock: ReturnType<typeof instantClock>) {
  let current: Promise<void> | undefined
  return (ms: number): Promise<void> => {
    current ??= new Promise(setImmediate).then(() => {
      current = undefined
      clock.advance(ms)
    })
    return current
  }
}
