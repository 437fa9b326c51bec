import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventRetentionMs } from '../../src/events/queries.ts'
import { inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import {
  adminKey,
  concurrently,
  type Event,
  feedAfter,
  listAllItems,
  makeAmpleKey,
  newestEventId,
  requestOk,
  retryWhile503,
  servicesFor,
  tally,
} from '../support/instances.ts'
import { hourMs } from '../support/orderClient.ts'
import { assertError } from '../support/responses.ts'
import { loopbackAllowed, registerWebhook, startWebhookReceiver } from '../support/webhookReceiver.ts'

/** Generous: the test checks whether it happens, not when. */
const boundMs = 30_000

const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => b - a)

test('200 holds expire once each, on any instance, and the next order need not wait for it', async (t) => {
  const { all: services, first, advance } = await servicesFor(t, { PETSTORE_ORDER_HOLD_HOURS: '1' })
  const key = await makeAmpleKey(first)
  const placed: { id: number; petId: number }[] = await concurrently(
    services,
    200,
    async (service, index) => {
      const pet = await requestOk(service, 'POST', '/v1/pets', { name: `Held ${index}`, categoryId: 3 }, key)
      return (await requestOk(service, 'POST', '/v1/store/orders', { petId: pet.json.id }, key)).json
    },
  )
  const before = await newestEventId(first)
  advance(hourMs)
  // Every fourth is ordered again at all three instances, before an instance may have processed the expiry.
  const wanted = placed.filter((_, index) => index % 4 === 0)
  const responses = await concurrently(services, wanted.length * 3, ({ request }, index) => {
    const body = { petId: wanted[Math.floor(index / 3)]?.petId }
    return retryWhile503(() => request('POST', '/v1/store/orders', { key, body }))
  })
  const codes = responses.map(({ status, json }) => `${status} ${json?.code ?? ''}`)
  assert.deepEqual(tally(codes), { '201 ': wanted.length, '409 pet_unavailable': wanted.length * 2 })
  const expiriesIn = (events: Event[]) => events.filter(({ type }) => type === 'order.cancelled')
  await eventually(
    'all holds expire',
    async () => expiriesIn(await feedAfter(first, before)).length >= placed.length,
    boundMs,
  )
  // One more round of every instance: an instance that would expire a hold a second time has had time to.
  advance(1)
  const nextPlaced = responses.filter(({ status }) => status === 201)
  await requestOk(first, 'PATCH', `/v1/store/orders/${nextPlaced[0]?.json.id}`, { status: 'approved' })
  advance(hourMs)
  await eventually(
    'the next holds expire',
    async () => expiriesIn(await feedAfter(first, before)).length >= placed.length + wanted.length - 1,
    boundMs,
  )
  const expired = expiriesIn(await feedAfter(first, before))
  assert.deepEqual(
    sorted(expired.map(({ data }) => data.id)),
    sorted([...placed, ...nextPlaced.slice(1).map(({ json }) => json)].map(({ id }) => id)),
  )
  assert.deepEqual(tally(expired.map(({ data }) => data.cancelReason as string)), {
    hold_expired: expired.length,
  })
  const pets = await listAllItems(first, '/v1/pets?limit=100')
  assert.deepEqual(tally(pets.map(({ status }) => status)), { available: 199, pending: 1 })
})

test('events older than 30 days are pruned once, and the feed continues after them without a gap', async (t) => {
  const { all: services, first, advance, databaseEnv } = await servicesFor(t, {}, { bounds: { sweepMs: 20 } })
  // More than one step prunes, so that the instances take turns.
  await inDatabase(databaseEnv, (database) =>
    database.write(async (trx) => {
      const created_at = first.now()
      const rows = Array.from({ length: 5_000 }, () => ({
        type: 'pet.deleted',
        created_at,
        data: '{"id":1}',
        is_private: 0,
      }))
      await trx.insertInto('events').values(rows).execute()
    }),
  )
  const position = await newestEventId(first)
  advance(eventRetentionMs - 1)
  const remaining = await requestOk(first, 'POST', '/v1/pets', { name: 'Kept', categoryId: 3 })
  advance(1)
  await eventually('the old events are gone', async () => {
    const { status } = await first.request('GET', `/v1/events?after=${position - 1}`, { key: adminKey })
    return status === 410
  })
  for (const service of services) {
    assertError(
      await service.request('GET', `/v1/events?after=${position - 1}`, { key: adminKey }),
      410,
      'events_expired',
    )
    const rest = await feedAfter(service, position)
    assert.deepEqual(
      rest.filter(({ type }) => type === 'pet.created').map(({ data }) => data.id),
      [remaining.json.id],
    )
    assert.ok(rest.every(({ id }, index) => id === position + 1 + index))
  }
  const faults = services.flatMap(({ logLines }) => logLines.filter((line) => JSON.parse(line).level >= 50))
  assert.deepEqual(faults, [])
})

test('repetitions come once each time that the schedule has one, not once for each instance', async (t) => {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  receiver.reply = 500
  const { all: services, first, advance } = await servicesFor(t, loopbackAllowed)
  const { id } = await registerWebhook(first, receiver.url)
  await concurrently(services, 20, (service, index) =>
    requestOk(service, 'POST', '/v1/pets', { name: `Again ${index}`, categoryId: 3 }),
  )
  const attempted = (attempts: number) =>
    eventually(`${attempts} attempts of each`, async () => {
      const deliveries = await listAllItems(first, `/v1/webhooks/${id}/deliveries?limit=100`)
      return deliveries.length === 20 && deliveries.every((delivery) => delivery.attempts === attempts)
    })
  const everyMessage = (times: number) =>
    assert.deepEqual(
      [...new Set(Object.values(tally(receiver.received.map((message) => message.id))))],
      [times],
    )
  await attempted(1)
  everyMessage(1)
  // Each delay of the schedule with the tenth that may come on top.
  for (const [index, delayMs] of [5_500, 330_000, 1_980_000].entries()) {
    advance(delayMs)
    await attempted(index + 2)
    everyMessage(index + 2)
  }
  assert.equal(new Set(receiver.received.map((message) => message.id)).size, 20)
})
