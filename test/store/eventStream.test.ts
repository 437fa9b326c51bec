import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { FeedEvent } from '../../src/events/event.ts'
import { recordEvents } from '../../src/events/queries.ts'
import {
  type EventStreamClient,
  type EventStreamOptions,
  openEventStream,
} from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import { amplePlan } from '../support/responses.ts'
import type { TestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

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
const feed = async (position: number) =>
  (await service.request('GET', `/v1/events?after=${position}&limit=1000`, { key: service.operatorKey })).json
const newest = async (at: TestService = service) =>
  Number((await at.request('HEAD', '/v1/events', { key: at.operatorKey })).headers['last-event-id'])
const rangeAfter = (position: number, count: number) =>
  Array.from({ length: count }, (_, n) => position + 1 + n)

describe('a stream sends events', () => {
  test('live, from now on, with the same content as the feed', async () => {
    await addPet('before')
    const position = await newest()
    const stream = await listen()
    assert.equal(stream.status, 200)
    const { headers } = stream
    assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
    assert.equal(headers['cache-control'], 'private, no-cache')
    assert.equal(headers['x-stability'], 'experimental')
    assert.equal(headers['last-event-id'], String(position))
    assert.match(String(headers['x-ratelimit-remaining']), /^\d+$/)
    await stream.untilBlock(': listening')
    for (let n = 1; n <= 3; n++) {
      await addPet(`live ${n}`)
      await stream.until(n)
    }
    const [first] = await feed(position)
    assert.deepEqual(
      stream.events,
      (await feed(position)).map(({ id, type, data }: FeedEvent) => ({ id, type, data })),
    )
    const block = `id: ${first.id}\nevent: pet.created\ndata: ${JSON.stringify(first)}`
    assert.ok(stream.blocks.includes(block), stream.blocks.join('\n\n'))
    stream.disconnect()
  })

  const resumptions: [string, (position: number) => Partial<EventStreamOptions>, number][] = [
    ['after', (position) => ({ path: `/v1/events?after=${position}` }), 3],
    ['Last-Event-ID', (position) => ({ headers: { 'last-event-id': String(position + 1) } }), 2],
    [
      'Last-Event-ID, which takes precedence over after',
      (position) => ({
        path: `/v1/events?after=${position}`,
        headers: { 'last-event-id': String(position + 2) },
      }),
      1,
    ],
    ['the oldest', () => ({ path: '/v1/events?after=0' }), Number.POSITIVE_INFINITY],
  ]
  for (const [name, options, missed] of resumptions) {
    test(`resumes from ${name}`, async () => {
      const position = await newest()
      for (let n = 0; n < 3; n++) await addPet(`missed ${n}`)
      const stream = await listen(options(position))
      const expected = Math.min(missed, position + 3)
      await stream.until(expected)
      await addPet('live')
      const received = await stream.until(expected + 1)
      assert.deepEqual(
        received.map(({ id }) => id),
        rangeAfter(position + 3 - expected, expected + 1),
      )
      stream.disconnect()
    })
  }

  test('without a gap between missed and live events during concurrent writes', async () => {
    const position = await newest()
    const writes = Array.from({ length: 100 }, (_, n) => addPet(`busy ${n}`))
    const streams = await Promise.all(
      Array.from({ length: 3 }, () => listen({ path: `/v1/events?after=${position}` })),
    )
    await Promise.all(writes)
    for (const stream of streams) {
      const received = await stream.until(100)
      assert.deepEqual(
        received.map(({ id }) => id),
        rangeAfter(position, 100),
      )
      stream.disconnect()
    }
  })

  test('including changes by another process', async () => {
    const stream = await listen()
    const other = await service.openDatabase()
    await other.write((trx) => recordEvents(trx, service.now(), [{ type: 'pet.updated', data: { id: 1 } }]))
    assert.deepEqual((await stream.until(1))[0]?.data, { id: 1 })
    stream.disconnect()
  })
})

describe('a stream requires current access', () => {
  const manage = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { key: service.operatorKey, body })
  const losses: [string, (id: number) => Promise<unknown>][] = [
    ['is revoked', (id) => manage('DELETE', `/v1/keys/${id}`)],
    ['is rotated without overlap', (id) => manage('POST', `/v1/keys/${id}/rotate`, { overlapSeconds: 0 })],
    ['loses the scope', (id) => manage('PATCH', `/v1/keys/${id}`, { scopes: ['pets:read'] })],
    [
      'expires',
      async (id) => {
        const expiresAt = new Date(service.now() + 60_000).toISOString()
        await manage('PATCH', `/v1/keys/${id}`, { expiresAt })
        service.advance(60_000)
      },
    ],
  ]
  for (const [name, lose] of losses) {
    test(`it ends when its key ${name}`, async () => {
      const { id, key } = await service.makeKey({ ...amplePlan, scopes: ['events:read', 'pets:read'] })
      const stream = await listen({ key })
      await stream.untilBlock(': listening')
      await lose(id)
      assert.deepEqual(await stream.ended, { isWhole: true })
      assert.equal(stream.blocks.at(-1), endMessages.ended)
    })
  }

  test('events about keys require keys:manage, even if the scope changes during the stream', async () => {
    const { id, key } = await service.makeKey({ ...amplePlan, scopes: ['events:read', 'keys:manage'] })
    const plain = await service.makeKey({ ...amplePlan, scopes: ['events:read'] })
    const [manager, other] = [await listen({ key }), await listen({ key: plain.key })]
    await service.makeKey()
    await manager.until(1)
    await manage('PATCH', `/v1/keys/${id}`, { scopes: ['events:read'] })
    await service.makeKey()
    await addPet()
    await other.until(1)
    await eventually('the event of the pet', () => manager.events.some(({ type }) => type === 'pet.created'))
    const types = manager.events.map(({ type }) => type)
    assert.deepEqual(types, ['key.created', 'pet.created'])
    assert.deepEqual(
      other.events.map(({ type }) => type),
      ['pet.created'],
    )
    for (const stream of [manager, other]) stream.disconnect()
  })
})
