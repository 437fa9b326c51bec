import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { timestamp } from '../../src/clock.ts'
import { eventually } from '../support/eventually.ts'
import { holdMs, hourMs, type OrderClient, startOrderClient } from '../support/orderClient.ts'
import { assertError } from '../support/responses.ts'

let client: OrderClient
before(async () => {
  client = await startOrderClient()
})
after(() => client.service.stop())

const isCancelled = async (orderId: number) => (await client.read(orderId)).status === 'cancelled'

/** Checks the state after a hold has expired. */
async function assertExpiredOnce(orderId: number, afterEvent: number): Promise<void> {
  const order = await client.read(orderId)
  assert.equal(order.status, 'cancelled')
  assert.equal(order.cancelReason, 'hold_expired')
  assert.equal(order.holdExpiresAt, undefined)
  // The feed contains an event only once it is durable, which can be after the order can be read.
  const events = await eventually('the event is in the feed', async () => {
    const all = await client.eventsAfter(afterEvent)
    const found = all.filter(({ type, data }) => type.startsWith('order.') && data.id === orderId)
    return found.length > 0 && found
  })
  assert.deepEqual(
    events.map(({ type, data }) => [type, data]),
    [
      [
        'order.cancelled',
        { id: orderId, petId: order.petId, status: 'cancelled', cancelReason: 'hold_expired' },
      ],
    ],
  )
}

describe('an expired hold', () => {
  test('is processed without a request: the order is cancelled with a reason, and the pet is available', async () => {
    const { petId, orderId } = await client.orderThatIs('placed')
    const newest = await client.newestEventId()
    const { placedAt } = await client.read(orderId)
    client.service.advance(holdMs)
    await eventually('the hold expires', () => isCancelled(orderId))
    assert.equal(await client.petStatus(petId), 'available')
    const order = await client.read(orderId)
    assert.deepEqual(order, {
      id: orderId,
      petId,
      status: 'cancelled',
      placedAt,
      updatedAt: timestamp(client.service.now()),
      cancelReason: 'hold_expired',
    })
    await assertExpiredOnce(orderId, newest)
    const types = (await client.eventsAfter(newest)).filter(({ data }) => data.id === petId)
    assert.ok(types.some(({ type, data }) => type === 'pet.updated' && data.status === 'available'))
  })

  test('is not processed a millisecond early', async () => {
    const { petId, orderId } = await client.orderThatIs('placed')
    client.service.advance(holdMs - 1)
    const rejected = await client.call('POST', '/v1/store/orders', { body: { petId } })
    assertError(rejected, 409, 'pet_unavailable')
    assert.equal((await client.move(orderId, 'approved')).status, 200)
  })

  test('does not block the next order, even before it is processed', async () => {
    for (let round = 0; round < 3; round++) {
      const { petId, orderId } = await client.orderThatIs('placed')
      const newest = await client.newestEventId()
      client.service.advance(holdMs)
      const next = await client.place(petId)
      assert.equal(next.status, 'placed')
      await assertExpiredOnce(orderId, newest)
      assert.equal(await client.petStatus(petId), 'pending')
      assert.equal((await client.move(next.id, 'cancelled')).status, 200)
    }
  })

  test('keeps its cancel reason if the order is cancelled again', async () => {
    const { petId, orderId } = await client.orderThatIs('placed')
    const newest = await client.newestEventId()
    client.service.advance(holdMs)
    const cancelled = await client.move(orderId, 'cancelled')
    assert.equal(cancelled.status, 200, cancelled.text)
    assert.equal(cancelled.json.cancelReason, 'hold_expired')
    await assertExpiredOnce(orderId, newest)
    assert.equal(await client.petStatus(petId), 'available')
  })

  for (const status of ['approved', 'placed', 'delivered']) {
    test(`cannot become ${status}`, async () => {
      const { petId, orderId } = await client.orderThatIs('placed')
      const newest = await client.newestEventId()
      client.service.advance(holdMs)
      assertError(await client.move(orderId, status), 409, 'illegal_transition')
      await eventually('the hold expires', () => isCancelled(orderId))
      await assertExpiredOnce(orderId, newest)
      assert.equal(await client.petStatus(petId), 'available')
    })
  }

  for (const [what, change, status] of [
    ['sold by hand', { status: 'sold' }, 'sold'],
    ['set to pending by hand', { status: 'pending' }, 'pending'],
    ['renamed', { name: 'Rex' }, 'available'],
  ] as const) {
    test(`no longer holds the pet, which can be ${what}`, async () => {
      const { petId, orderId } = await client.orderThatIs('placed')
      const newest = await client.newestEventId()
      client.service.advance(holdMs)
      const changed = await client.call('PATCH', `/v1/pets/${petId}`, { body: change })
      assert.equal(changed.status, 200, changed.text)
      assert.equal(changed.json.status, status)
      await assertExpiredOnce(orderId, newest)
      assert.equal(await client.petStatus(petId), status)
    })
  }

  test('does not prevent the pet from being removed', async () => {
    const { petId, orderId } = await client.orderThatIs('placed')
    const newest = await client.newestEventId()
    client.service.advance(holdMs)
    assert.equal((await client.call('DELETE', `/v1/pets/${petId}`)).status, 204)
    await assertExpiredOnce(orderId, newest)
  })
})

test('an order that is not placed does not expire', async () => {
  const orders = []
  for (const status of ['approved', 'delivered', 'cancelled'])
    orders.push(await client.read((await client.orderThatIs(status)).orderId))
  const other = await client.orderThatIs('placed')
  client.service.advance(10 * holdMs)
  await eventually('the other hold expires', () => isCancelled(other.orderId))
  for (const order of orders) assert.deepEqual(await client.read(order.id), order)
})

test('any number of holds that expire together are all processed', async () => {
  // More than one batch, which has at most 500.
  const many = 620
  const { service } = client
  const pending = async () => (await client.call('GET', '/v1/store/inventory')).json.pending
  const before = await pending()
  const newest = await client.newestEventId()
  const { write } = await service.openDatabase()
  await write(async (trx) => {
    const pet = { name: 'Milo', category_id: 3n, status: 'pending' }
    const pets = await trx
      .insertInto('pets')
      .values(Array.from({ length: many }, () => pet))
      .returning('id')
      .execute()
    const times = { placed_at: service.now(), updated_at: service.now() }
    const order = { ...times, status: 'placed', hold_expires_at: service.now() + holdMs }
    await trx
      .insertInto('orders')
      .values(pets.map(({ id }) => ({ ...order, pet_id: id })))
      .execute()
  })
  service.advance(holdMs)
  await eventually(
    'all are processed',
    async () => (await client.call('GET', '/v1/store/orders?status=placed&limit=1')).json.length === 0,
    60_000,
  )
  assert.equal(await pending(), before)
  const cancelled = (await client.eventsAfter(newest)).filter(({ type }) => type === 'order.cancelled')
  assert.equal(new Set(cancelled.map(({ data }) => data.id)).size, many)
  assert.equal(cancelled.length, many)
})

test('a hold that expires while the service is stopped is processed after the restart', async () => {
  const { petId, orderId } = await client.orderThatIs('placed')
  const restarted = client.service.restart()
  client.service.advance(holdMs)
  await restarted
  await eventually('the hold expires', () => isCancelled(orderId))
  assert.equal(await client.petStatus(petId), 'available')
})

test('PETSTORE_ORDER_HOLD_HOURS sets how long new orders hold their pets', async () => {
  await client.service.restart({ PETSTORE_ORDER_HOLD_HOURS: '5' })
  const before = await client.place(await client.addPet())
  assert.equal(before.holdExpiresAt, timestamp(client.service.now() + 5 * hourMs))
  await client.service.restart({ PETSTORE_ORDER_HOLD_HOURS: '1' })
  const since = await client.place(await client.addPet())
  assert.equal(since.holdExpiresAt, timestamp(client.service.now() + hourMs))
  client.service.advance(hourMs)
  await eventually('the shorter hold expires', () => isCancelled(since.id))
  assert.deepEqual(await client.read(before.id), before)
})
