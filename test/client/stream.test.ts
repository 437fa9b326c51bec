import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Event, Petstore, PetstoreError } from '../../client/src/index.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultProxy } from '../support/faultProxy.ts'
import { clientOf } from '../support/petstoreClient.ts'
import { instantClock, startScriptedServer } from '../support/scriptedServer.ts'
import { useService } from '../support/useService.ts'

const service = useService()
/** A stream that lacks an event would wait for it forever. */
const bounded = { timeout: 60_000 }
/** Short delays before a stream resumes. */
const quick = { random: () => 0.05 }

async function newestEventId(): Promise<number> {
  const { headers } = await clientOf(service).events.list({ limit: 1 }).page()
  return Number(headers.get('last-event-id'))
}

describe('the event stream of the client', () => {
  test('resumes by itself: no event is missing and none is repeated', bounded, async (t) => {
    let connections = 0
    const proxy = await startFaultProxy(
      t,
      () => service.base,
      () => (++connections % 4 === 3 ? '503' : 'none'),
    )
    const store = clientOf(service, { baseUrl: proxy.base }, quick)
    const after = await newestEventId()
    const count = 120
    const received: Event[] = []
    const creating = (async () => {
      for (let index = 0; index < count; index++) await store.categories.create({ name: `Category ${index}` })
    })()
    for await (const event of store.events.stream({ after, signal: t.signal })) {
      received.push(event)
      if (received.length % 24 === 0) proxy.cut()
      if (received.length === 60) await service.restart()
      if (received.length === count) break
    }
    await creating
    assert.deepEqual(
      received.map(({ data }) => (data as { name?: string }).name),
      Array.from({ length: count }, (_, index) => `Category ${index}`),
    )
    assert.ok(connections >= 5, String(connections))
  })

  test('starts with the next event, also if the first connection brings none', bounded, async (t) => {
    const proxy = await startFaultProxy(
      t,
      () => service.base,
      () => 'none',
    )
    const store = clientOf(service, { baseUrl: proxy.base }, quick)
    await store.categories.create({ name: 'Before' })
    const remaining = store.rateLimit?.remaining
    const stream = store.events.stream({ signal: t.signal })
    const next = stream.next()
    await eventually('a stream', () => (proxy.counts.get('none') ?? 0) >= 2)
    // The position of the stream is known when its response has begun.
    await eventually('its response', () => store.rateLimit?.remaining !== remaining)
    // While the stream is not connected.
    proxy.cut()
    await clientOf(service).categories.create({ name: 'During' })
    const { value } = await next
    assert.equal((value as { data: { name: string } }).data.name, 'During')
    await stream.return()
  })

  test('reconnects if nothing arrives', bounded, async (t) => {
    let connections = 0
    const store = clientOf(
      service,
      {
        fetch: async (url, init) => {
          if (++connections > 1) return fetch(url, init)
          const headers = { 'content-type': 'text/event-stream', 'last-event-id': String(after) }
          return new Response(new ReadableStream(), { headers })
        },
      },
      { ...quick, streamIdleTimeoutMs: 50 },
    )
    const after = await newestEventId()
    await clientOf(service).categories.create({ name: 'Missed' })
    for await (const event of store.events.stream({ after, signal: t.signal })) {
      assert.equal((event.data as { name?: string }).name, 'Missed')
      break
    }
    assert.equal(connections, 2)
  })

  test('ends with the signal', async () => {
    const controller = new AbortController()
    const stream = clientOf(service).events.stream({ signal: controller.signal })
    const next = stream.next()
    setTimeout(() => controller.abort(new Error('enough')), 100)
    await assert.rejects(next, /enough/)
    assert.deepEqual(await stream.next(), { done: true, value: undefined })
  })

  test('takes options as list does, and also beside the position', async () => {
    const after = await newestEventId()
    const reason = new Error('enough')
    const { events } = clientOf(service)
    const signal = AbortSignal.abort(reason)
    await assert.rejects(events.stream({ after }, { signal }).next(), reason)
    await assert.rejects(events.stream({ after, signal }).next(), reason)
    await assert.rejects(events.stream(undefined, { signal }).next(), reason)
  })

  test('ends with errors that a new connection does not solve', async () => {
    const isExpired = (error: unknown) => error instanceof PetstoreError && error.code === 'events_expired'
    await assert.rejects(
      clientOf(service)
        .events.stream({ after: 2 ** 50 })
        .next(),
      isExpired,
    )
    const { key } = await service.makeKey({ scopes: ['pets:read'] })
    await assert.rejects(clientOf(service, { apiKey: key }).events.stream().next(), {
      code: 'insufficient_scope',
    })
    const unreachable = clientOf(service, { baseUrl: 'http://127.0.0.1:1', maxRetries: 1 }, quick)
    await assert.rejects(unreachable.events.stream().next(), { code: 'connection_failed' })
  })

  test('does not count as a concurrent request', bounded, async (t) => {
    const store = clientOf(service, { maxConcurrent: 1 })
    const after = await newestEventId()
    await store.categories.create({ name: 'First' })
    for await (const { data } of store.events.stream({ after, signal: t.signal })) {
      if ((data as { name?: string }).name === 'Second') break
      await store.categories.create({ name: 'Second' })
    }
  })
})

/** A client whose connections bring these texts, one chunk each, and then end. The last one is repeated. */
function scriptedStream(connections: string[][], contentType = 'text/event-stream') {
  const clock = instantClock()
  let count = 0
  const fetch = async () => {
    const chunks = connections[Math.min(count++, connections.length - 1)] ?? []
    const bytes = chunks.map((chunk) => new TextEncoder().encode(chunk))
    return new Response(ReadableStream.from(bytes), { headers: { 'content-type': contentType } })
  }
  const store = new Petstore({ baseUrl: 'http://test', apiKey: 'a-key', fetch }, clock)
  return { store, clock, connections: () => count }
}

const eventText = (id: number) => `id: ${id}\ndata: {"id":${id}}\n\n`

describe('the bytes of an event stream', () => {
  test('no event is delivered after an abort', async () => {
    const { store } = scriptedStream([[eventText(1) + eventText(2) + eventText(3)]])
    const controller = new AbortController()
    const ids: unknown[] = []
    await assert.rejects(async () => {
      for await (const { id } of store.events.stream({ signal: controller.signal })) {
        ids.push(id)
        controller.abort(new Error('enough'))
      }
    }, /enough/)
    assert.deepEqual(ids, [1])
  })

  test('the connection is closed when the loop is left', bounded, async (t) => {
    const closed = Promise.withResolvers<void>()
    const { storeWith } = await startScriptedServer(t, (_request, response) => {
      response.once('close', closed.resolve)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(eventText(1))
    })
    for await (const { id } of storeWith().events.stream()) {
      assert.equal(id, 1)
      break
    }
    await closed.promise
  })

  test('the delay between connections without an event grows', bounded, async () => {
    const noEvent = [': connected\n\n']
    const { store, clock } = scriptedStream([
      noEvent,
      noEvent,
      noEvent,
      [': connected\n\n', eventText(1)],
      noEvent,
      [eventText(2)],
    ])
    const stream = store.events.stream()
    await stream.next()
    assert.deepEqual(clock.sleeps, [500, 1_000, 2_000])
    await stream.next()
    assert.deepEqual(clock.sleeps.slice(3), [500, 1_000])
  })

  test('a response that is not an event stream is an error', bounded, async () => {
    for (const connections of [[['<html>']], [[]]]) {
      const script = scriptedStream(connections, 'text/html')
      await assert.rejects(script.store.events.stream().next(), { code: 'unexpected_response', status: 200 })
      assert.equal(script.connections(), 1)
    }
  })

  test('lines can end with CRLF, and an event can have several lines of data', bounded, async () => {
    const { store } = scriptedStream([['id: 1\r\ndata: {"id":\r', '\ndata: 1}\r\n\r', `\n${eventText(2)}`]])
    const stream = store.events.stream()
    assert.deepEqual((await stream.next()).value, { id: 1 })
    assert.deepEqual((await stream.next()).value, { id: 2 })
  })
})
