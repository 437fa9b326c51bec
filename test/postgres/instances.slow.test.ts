import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { ClientResponse } from '../support/client.ts'
import { openEventStream } from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import {
  adminKey,
  concurrently,
  type Event,
  feedAfter,
  instancesFor,
  listAllItems,
  makeAmpleKey,
  makeKey,
  newestEventId,
  requestOk,
  retryWhile503,
  tally,
} from '../support/instances.ts'
import { amplePlan, assertError } from '../support/responses.ts'
import type { Server } from '../support/servers.ts'
import { loopbackAllowed, registerWebhook, startWebhookReceiver } from '../support/webhookReceiver.ts'

/** Three processes on one database. The tests set the client address with X-Forwarded-For. */
const { all: instances } = await instancesFor(
  { after },
  { PETSTORE_TRUSTED_PROXIES: '127.0.0.1', ...loopbackAllowed },
)
const [one, two, three] = instances as [Server, Server, Server]
const ampleKey = await makeAmpleKey(one)

const remaining = ({ headers }: ClientResponse) => Number(headers['x-ratelimit-remaining'])
const downFrom = (count: number) => Array.from({ length: count }, (_, index) => count - 1 - index)
const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => b - a)

/** The remaining counts in the responses. Each number must occur once. */
function assertAdmitted(
  responses: readonly ClientResponse[],
  statuses: readonly number[],
  limit: number,
): void {
  const admitted = responses.filter(({ status }) => statuses.includes(status))
  const rejected = responses.filter(({ status }) => status === 429)
  assert.equal(
    admitted.length + rejected.length,
    responses.length,
    JSON.stringify(tally(statusesOf(responses))),
  )
  assert.deepEqual(sorted(admitted.map(remaining)), downFrom(limit))
  assert.ok(rejected.every((response) => remaining(response) === 0))
}
const statusesOf = (responses: readonly ClientResponse[]) => responses.map(({ status }) => status)

describe('of 300 simultaneous requests over three instances', () => {
  for (let round = 1; round <= 20; round++) {
    test(`on a fresh free key exactly 60 are admitted, round ${round}`, async () => {
      const { key } = await makeKey(one)
      const responses = await concurrently(instances, 300, ({ request }, index) =>
        index % 2 === 0
          ? request('GET', '/v1/pets', { key })
          : request('POST', '/v1/pets', { key, body: { name: `Milo ${index}`, categoryId: 3 } }),
      )
      assertAdmitted(responses, [200, 201], 60)
      const { json } = await three.request('GET', '/v1/limits', { key })
      assert.equal(json.day.limit - json.day.remaining, 60)
    })
  }

  for (let round = 1; round <= 5; round++) {
    test(`without a key from one address exactly 100 are admitted, round ${round}`, async () => {
      const headers = { 'x-forwarded-for': `203.0.113.${round}` }
      const responses = await concurrently(instances, 300, ({ request }, index) =>
        request('GET', '/v1/pets', { headers, key: index % 3 === 0 ? 'nonsense' : undefined }),
      )
      assertAdmitted(responses, [401], 100)
    })
  }
})

describe('of 500 simultaneous orders for one pet over three instances', () => {
  for (let round = 1; round <= 4; round++) {
    test(`one is placed and has one event, round ${round}`, async () => {
      const { id: petId } = (await requestOk(two, 'POST', '/v1/pets', { name: 'Wanted', categoryId: 3 })).json
      const before = await newestEventId(one)
      const responses = await concurrently(instances, 500, ({ request }) =>
        retryWhile503(() => request('POST', '/v1/store/orders', { key: ampleKey, body: { petId } })),
      )
      const codes = responses.map(({ status, json }) => `${status} ${json?.code ?? json?.status}`)
      assert.deepEqual(tally(codes), { '201 placed': 1, '409 pet_unavailable': 499 })
      const events = (await feedAfter(three, before)).filter(({ type }) => /^(order|pet)\./.test(type))
      assert.deepEqual(
        events.map(({ type, data }) => [type, data.petId ?? data.id, data.status]),
        [
          ['order.placed', petId, 'placed'],
          ['pet.updated', petId, 'pending'],
        ],
      )
      assert.equal((await listAllItems(one, `/v1/store/orders?petId=${petId}`)).length, 1)
    })
  }
})

describe('one Idempotency-Key at three instances concurrently', () => {
  const post = (instance: Server, path: string, idempotencyKey: string, body: unknown, key = ampleKey) =>
    retryWhile503(() =>
      instance.request('POST', path, { key, body, headers: { 'idempotency-key': idempotencyKey } }),
    )

  /** The responses that do not ask to retry. They must be identical. */
  function oneResponse(responses: readonly ClientResponse[]): ClientResponse {
    const said = responses.filter(({ json }) => json?.code !== 'idempotency_in_progress')
    assert.ok(said.length > 0)
    assert.equal(new Set(said.map(({ status, text }) => `${status} ${text}`)).size, 1)
    assert.equal(said.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length, 1)
    return said[0] as ClientResponse
  }

  test('does the work once, and every response is the same or says that it is in progress', async () => {
    const before = await newestEventId(one)
    const names = Array.from({ length: 40 }, (_, index) => `once-${index}`)
    const ids = await Promise.all(
      names.map(async (name) => {
        const body = { name, categoryId: 3 }
        const response = oneResponse(
          await concurrently(instances, 9, (instance) => post(instance, '/v1/pets', name, body)),
        )
        assert.equal(response.status, 201)
        for (const instance of instances) {
          const again = await post(instance, '/v1/pets', name, body)
          assert.deepEqual([again.status, again.text], [201, response.text])
          assert.equal(again.headers.location, response.headers.location)
        }
        return response.json.id
      }),
    )
    const created = (await feedAfter(two, before)).filter(({ type }) => type === 'pet.created')
    assert.deepEqual(sorted(created.map(({ data }) => data.id)), sorted(ids))
  })

  test('with different bodies does one of them, and rejects the others', async () => {
    const before = await newestEventId(one)
    for (let round = 0; round < 10; round++) {
      const responses = await concurrently(instances, 9, (instance, index) =>
        post(instance, '/v1/pets', `contradicts-${round}`, {
          name: `Either ${round} ${index}`,
          categoryId: 3,
        }),
      )
      const codes = responses.map(({ status, json }) => `${status} ${json?.code ?? ''}`)
      assert.deepEqual(tally(codes), { '201 ': 1, '422 idempotency_key_reused': 8 })
    }
    const created = (await feedAfter(two, before)).filter(({ type }) => type === 'pet.created')
    assert.equal(created.length, 10)
  })

  test('rejects another body at every instance once there is a response', async () => {
    const body = { name: 'First', categoryId: 3 }
    assert.equal((await post(one, '/v1/pets', 'taken', body)).status, 201)
    for (const instance of instances)
      assertError(
        await post(instance, '/v1/pets', 'taken', { ...body, name: 'Second' }),
        422,
        'idempotency_key_reused',
      )
  })

  test('replays an error at all of them, even if its cause is gone', async () => {
    for (let round = 0; round < 10; round++) {
      const { id: petId } = (await requestOk(one, 'POST', '/v1/pets', { name: 'Taken', categoryId: 3 })).json
      const { id: orderId } = (await requestOk(two, 'POST', '/v1/store/orders', { petId })).json
      // The pet is released during the requests: all are rejected, or all have the one order.
      const [responses] = await Promise.all([
        concurrently(instances, 9, (instance) =>
          post(instance, '/v1/store/orders', `late-${petId}`, { petId }),
        ),
        requestOk(three, 'PATCH', `/v1/store/orders/${orderId}`, { status: 'cancelled' }),
      ])
      const { status } = oneResponse(responses)
      const orders = await listAllItems(one, `/v1/store/orders?petId=${petId}`)
      assert.equal(orders.length, status === 201 ? 2 : 1)
    }
  })

  test('creates one key, whose secret every instance returns again', async () => {
    const body = { name: 'once' }
    const made = oneResponse(
      await concurrently(instances, 9, (instance) => post(instance, '/v1/keys', 'one-key', body, adminKey)),
    )
    for (const instance of instances) {
      assert.equal((await post(instance, '/v1/keys', 'one-key', body, adminKey)).text, made.text)
      assert.equal((await instance.request('GET', '/v1/pets', { key: made.json.key })).status, 200)
    }
  })
})

describe('the feed', () => {
  const writers = 30
  const turnsPerWriter = 5

  /** Adds, changes, orders and deletes, each at another instance. */
  async function write(key: string, writer: number): Promise<void> {
    let sent = writer
    const send = (method: string, path: string, body?: unknown) =>
      requestOk(instances[sent++ % instances.length] as Server, method, path, body, key)
    for (let turn = 0; turn < turnsPerWriter; turn++) {
      const { json: pet } = await send('POST', '/v1/pets', { name: `${writer}`, categoryId: turn })
      const { json: order } = await send('POST', '/v1/store/orders', { petId: pet.id })
      await send('PATCH', `/v1/store/orders/${order.id}`, { status: 'cancelled' })
      // Also key events, which not every reader may see.
      if (writer % 10 === 0) await send('POST', '/v1/keys', { name: `${writer}` })
      await send('DELETE', `/v1/pets/${pet.id}`)
    }
  }

  test(`has no event that a reader at any instance misses while ${writers} callers write at all of them`, async (t) => {
    // Readers have separate keys, so that they do not wait for the counts of the writers.
    const { key: publicKey } = await makeKey(one, { ...amplePlan, scopes: ['events:read'] })
    const readerKey = await makeAmpleKey(one)
    const start = await newestEventId(one)
    let isOver = false
    let looks = 0
    /** Reads again immediately, from the last event. */
    async function follow(instance: Server, key: string): Promise<number[]> {
      const seen: number[] = []
      for (;;) {
        const wasOver = isOver
        const path = `/v1/events?after=${seen.at(-1) ?? start}&limit=1000`
        const page: Event[] = (await requestOk(instance, 'GET', path, undefined, key)).json
        looks++
        seen.push(...page.map(({ id }) => id))
        if (wasOver && page.length === 0) return seen
      }
    }
    const written = Promise.all(Array.from({ length: writers }, (_, writer) => write(ampleKey, writer)))
    const readers = [follow(one, readerKey), follow(two, publicKey), follow(three, readerKey)]
    const [seen] = await Promise.all([
      Promise.all(readers),
      written.finally(() => {
        isOver = true
      }),
    ])
    const whole = await feedAfter(two, start)
    assert.deepEqual(
      whole.map(({ id }) => id),
      whole.map((_, index) => start + 1 + index),
      'the feed has no gaps',
    )
    const publicOnes = whole.filter(({ type }) => !type.startsWith('key.'))
    assert.ok(publicOnes.length >= writers * turnsPerWriter * 6 && whole.length > publicOnes.length)
    for (const [index, ids] of seen.entries()) {
      const expected = index === 1 ? publicOnes : whole
      assert.deepEqual(
        ids,
        expected.map(({ id }) => id),
        `reader ${index}`,
      )
    }
    t.diagnostic(`${whole.length} events, ${looks} looks of ${seen.length} readers`)
  })

  test('is streamed at one instance while the others write', async (t) => {
    const streams = await Promise.all(instances.map(({ base }) => openEventStream(base, { key: ampleKey })))
    t.after(() => {
      for (const stream of streams) stream.disconnect()
    })
    const before = await newestEventId(one)
    for (const [index, instance] of instances.entries())
      await requestOk(instance, 'POST', '/v1/pets', { name: `Streamed ${index}`, categoryId: 3 })
    const expected = (await feedAfter(one, before)).map(({ id, type }) => [id, type])
    assert.equal(expected.length, 3)
    for (const stream of streams) {
      const received = await stream.until(3)
      assert.deepEqual(
        received.map(({ id, type }) => [id, type]),
        expected,
      )
    }
  })

  test('is streamed completely and in order at every instance while all of them write', async (t) => {
    const before = await newestEventId(one)
    const streams = await Promise.all(
      instances.map(({ base }) =>
        openEventStream(base, { key: ampleKey, path: `/v1/events?after=${before}` }),
      ),
    )
    t.after(() => {
      for (const stream of streams) stream.disconnect()
    })
    await concurrently(instances, 12, (_, writer) => write(ampleKey, writer))
    const whole = (await feedAfter(one, before)).map(({ id }) => id)
    for (const stream of streams) {
      const received = await stream.until(whole.length)
      assert.deepEqual(
        received.map(({ id }) => id),
        whole,
      )
    }
  })
})

test('a webhook receives 200 events of three instances once each, in the order of the events', async (t) => {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  const { id } = await registerWebhook({ request: one.request, operatorKey: adminKey }, receiver.url)
  t.after(() => requestOk(one, 'DELETE', `/v1/webhooks/${id}`))
  const before = await newestEventId(one)
  await concurrently(instances, 200, (instance, index) =>
    requestOk(instance, 'POST', '/v1/pets', { name: `Delivered ${index}`, categoryId: 3 }, ampleKey),
  )
  const created = (await feedAfter(two, before)).filter(({ type }) => type === 'pet.created')
  assert.equal(created.length, 200)
  await eventually(
    'all are delivered',
    async () => {
      const deliveries = await listAllItems(three, `/v1/webhooks/${id}/deliveries?limit=100`)
      return deliveries.length === 200 && deliveries.every(({ status }) => status === 'delivered')
    },
    60_000,
  )
  assert.deepEqual(
    receiver.received.map((message) => message.id),
    created.map((event) => `msg_${event.id}`),
  )
})
