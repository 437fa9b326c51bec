import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type StreamBody, StreamChunk } from '../../src/api/streamBody.ts'
import { recordEvents } from '../../src/events/queries.ts'
import { defaultStreamBounds } from '../../src/events/stream.ts'
import { listen as serve } from '../../src/server/listen.ts'
import {
  type EventStreamClient,
  type EventStreamOptions,
  openEventStream,
} from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import { assertError } from '../support/responses.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const accept = { accept: 'text/event-stream' }
const endMessages = {
  stopping: ': the service is stopping, reconnect',
  ended: ': access ended, reconnect for the error',
  slow: 'event: slow_reader\ndata: {"message":"The client reads too slowly. Resume from the last id."}',
}

const open: EventStreamClient[] = []
after(() => {
  for (const stream of open) stream.disconnect()
})
const service = useService({}, { bounds: { heartbeatMs: 100 } })

async function listen(
  options: Partial<EventStreamOptions> = {},
  at: TestService = service,
): Promise<EventStreamClient> {
  const stream = await openEventStream(at.base, { key: at.operatorKey, ...options })
  open.push(stream)
  return stream
}
async function addPet(name = 'Milo', at: TestService = service) {
  const { status, json, text } = await at.request('POST', '/v1/pets', {
    key: at.operatorKey,
    body: { name, categoryId: 3 },
  })
  assert.equal(status, 201, text)
  return json
}
const newest = async (at: TestService = service) =>
  Number((await at.request('HEAD', '/v1/events', { key: at.operatorKey })).headers['last-event-id'])
const rangeAfter = (position: number, count: number) =>
  Array.from({ length: count }, (_, n) => position + 1 + n)

/** Starts a separate service for a test that limits or stops it, and stops it after the test. */
async function withService(
  options: TestServiceOptions,
  work: (own: TestService) => Promise<void>,
): Promise<void> {
  const own = await startTestService({}, options)
  try {
    await work(own)
  } finally {
    for (const stream of open.splice(0)) stream.disconnect()
    await own.stop()
  }
}

describe('a stream sends events', () => {
  test('with a comment as a heartbeat if there are no events', async () => {
    const stream = await listen()
    const heartbeats = () => stream.blocks.filter((block) => block === ': heartbeat').length
    await eventually('three heartbeats', () => heartbeats() >= 3)
    await addPet()
    await stream.until(1)
    const before = heartbeats()
    await eventually('heartbeats go on', () => heartbeats() > before)
    stream.disconnect()
  })

  test('with a heartbeat every 15 seconds and a limit of 30 seconds for slow readers by default', () => {
    assert.deepEqual(defaultStreamBounds, {
      heartbeatMs: 15_000,
      slowReaderMs: 30_000,
      streamsMax: 5_000,
      startWaitMaxMs: 10_000,
    })
  })
})

describe('content negotiation', () => {
  const pages = [
    ...['application/json', '*/*', 'text/event-streams', 'text/html, application/json'],
    // What swagger-client sends, by the order of the types in the document.
    'application/json, text/event-stream',
    'text/event-stream, application/json',
    'text/event-stream;q=0',
    'text/event-stream;q=0.5, */*',
  ]
  const streams = [
    'text/event-stream, */*',
    'application/json;q=0.5, Text/Event-Stream;q=0.9',
    'application/json;q=0, text/event-stream;q=0.1',
  ]
  for (const [type, headers] of [
    ['application/json', pages],
    ['text/event-stream', streams],
  ] as const)
    for (const header of headers)
      test(`Accept: ${header} gets ${type}`, async () => {
        const response = await listen({ headers: { accept: header } })
        response.disconnect()
        assert.equal(response.headers['content-type'], `${type}; charset=utf-8`)
      })

  test('errors are JSON', async () => {
    const { key } = await service.makeKey()
    const get = (path: string, as: string | undefined) =>
      service.request('GET', path, { key: as, headers: accept })
    assertError(await get('/v1/events', undefined), 401, 'missing_api_key')
    assertError(await get('/v1/events', key), 403, 'insufficient_scope')
    assertError(await get('/v1/events?after=x', service.operatorKey), 400, 'validation_failed')
  })
})

describe('a reader that reads nothing', () => {
  const events = 400
  const eventBytes = 64 * 1024

  /** More bytes than the buffers of a connection hold. */
  async function sendManyEvents(own: TestService): Promise<void> {
    const other = await own.openDatabase()
    const data = { id: 1, name: 'x'.repeat(eventBytes) }
    const batch = Array.from({ length: events / 4 }, () => ({ type: 'pet.updated' as const, data }))
    for (let n = 0; n < 4; n++) await other.write((trx) => recordEvents(trx, own.now(), batch))
  }

  test('gets slow_reader, is disconnected and resumes without loss', async () => {
    await withService({ bounds: { slowReaderMs: 200, streamsMax: 1 } }, async (own) => {
      const position = await newest(own)
      const slow = await listen({ path: `/v1/events?after=${position}`, isPaused: true }, own)
      await sendManyEvents(own)
      const next = await eventually('its place is free', async () => {
        const stream = await listen({ path: `/v1/events?after=${position}`, isPaused: true }, own)
        return stream.status === 200 && stream
      })
      next.disconnect()
      slow.incoming.resume()
      assert.deepEqual(await slow.ended, { isWhole: true })
      assert.equal(slow.blocks.at(-1), endMessages.slow)
      assert.ok(
        slow.events.length > 0 && slow.events.length < events,
        `${slow.events.length} events were taken`,
      )
      const received = [...slow.events]
      // On a busy machine this reader can be too slow as well. It then resumes again.
      await eventually('it has all events', async () => {
        const last = String(received.at(-1)?.id)
        const stream = await listen({ headers: { 'last-event-id': last } }, own)
        if (stream.status !== 200) return false
        let hasEnded = false
        void stream.ended.then(() => {
          hasEnded = true
        })
        const missing = events - received.length
        await eventually('events or the end', () => hasEnded || stream.events.length >= missing)
        stream.disconnect()
        received.push(...stream.events)
        return received.length >= events
      })
      assert.deepEqual(
        received.map(({ id }) => id),
        rangeAfter(position, events),
      )
    })
  })

  test('is removed from the count once, and not again when it disconnects', async () => {
    await withService({ bounds: { slowReaderMs: 100, streamsMax: 1 } }, async (own) => {
      const slow = await listen({ path: '/v1/events?after=0', isPaused: true }, own)
      await sendManyEvents(own)
      const next = await eventually('its place is free', async () => {
        const stream = await listen({}, own)
        return stream.status === 200 && stream
      })
      await next.untilBlock(': listening')
      slow.disconnect()
      await slow.ended
      // A request on a later connection is handled after the close of the earlier one.
      await addPet('after', own)
      assert.equal((await listen({}, own)).status, 503)
    })
  })

  test('and not even the end message is cut off', async () => {
    const cut = Promise.withResolvers<void>()
    const chunk = new StreamChunk('x'.repeat(eventBytes))
    const endless: StreamBody = {
      start(writer) {
        const write = () => {
          while (writer.write(chunk));
        }
        write()
        return { onDrain: write, onClose: () => cut.resolve() }
      },
      cancel() {},
    }
    const listener = await serve(
      { handle: async () => ({ status: 200, headers: [], stream: endless }) },
      { host: '127.0.0.1', port: 0 },
      { stalledMs: 300 },
    )
    const base = `http://127.0.0.1:${listener.port}`
    const reader = await openEventStream(base, { key: 'none', isPaused: true })
    try {
      await cut.promise
      reader.incoming.resume()
      assert.deepEqual(await reader.ended, { isWhole: false })
    } finally {
      reader.disconnect()
      await listener.stop()
    }
  })
})

describe('the limit of open streams', () => {
  test('one too many gets 503 with Retry-After, until a client disconnects', async () => {
    await withService({ bounds: { streamsMax: 3 } }, async (own) => {
      const streams = [await listen({}, own), await listen({}, own), await listen({}, own)]
      const rejected = await own.request('GET', '/v1/events', { key: own.operatorKey, headers: accept })
      assertError(rejected, 503, 'unavailable')
      assert.match(String(rejected.headers['retry-after']), /^\d+$/)
      assert.equal((await own.request('GET', '/v1/events', { key: own.operatorKey })).status, 200)
      streams[1]?.disconnect()
      await eventually('a place is free', async () => (await listen({}, own)).status === 200)
      assert.equal((await listen({}, own)).status, 503)
    })
  })

  test('HEAD does not count', async () => {
    await withService({ bounds: { streamsMax: 1 } }, async (own) => {
      for (let n = 0; n < 5; n++) {
        const head = await own.request('HEAD', '/v1/events', { key: own.operatorKey, headers: accept })
        assert.equal(head.status, 200)
        assert.equal(head.headers['content-type'], 'text/event-stream; charset=utf-8')
        assert.equal(head.text, '')
      }
      const stream = await listen({}, own)
      await stream.untilBlock(': listening')
    })
  })

  test('a stream whose key lost access no longer counts', async () => {
    await withService({ bounds: { streamsMax: 1 } }, async (own) => {
      const { id, key } = await own.makeKey({ scopes: ['events:read'] })
      const stream = await listen({ key }, own)
      await own.request('DELETE', `/v1/keys/${id}`, { key: own.operatorKey })
      await stream.ended
      assert.equal((await listen({}, own)).status, 200)
    })
  })
})

test('a shutdown ends every stream promptly with a complete response, and clients resume without loss', async () => {
  await withService({}, async (own) => {
    const streams = await Promise.all(Array.from({ length: 20 }, () => listen({}, own)))
    await addPet('before the stop', own)
    await Promise.all(streams.map((stream) => stream.until(2)))
    const since = performance.now()
    await own.restart()
    assert.ok(performance.now() - since < 5_000)
    for (const stream of streams) {
      assert.deepEqual(await stream.ended, { isWhole: true })
      assert.equal(stream.blocks.at(-1), endMessages.stopping)
    }
    const { id } = await addPet('after the stop', own)
    const last = String(streams[0]?.events.at(-1)?.id)
    const resumed = await listen({ headers: { 'last-event-id': last } }, own)
    assert.deepEqual((await resumed.until(1))[0]?.data, {
      id,
      name: 'after the stop',
      categoryId: 3,
      status: 'available',
    })
  })
})
