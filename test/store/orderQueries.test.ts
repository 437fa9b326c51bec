import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Trx } from '../../src/database/db.ts'
import type { OrderStatus } from '../../src/orders/order.ts'
import {
  customerOf,
  eraseCustomer,
  expireDueHolds,
  findOpenOrderForUpdate,
  findOrder,
  hasDueHolds,
  hasOpenOrders,
  isPetHeld,
  listOrders,
  lockOrder,
  lockOrderAsIs,
  lockPetAndOrder,
  petOrders,
  placeOrder,
  syncPetStatus,
  updateOrderStatus,
} from '../../src/orders/queries.ts'
import { findPetForUpdate } from '../../src/pets/queries.ts'
import { openDatabaseFor } from '../support/engine.ts'

const now = Date.UTC(2030, 0, 1)
const holdMs = 1000
const withoutCustomer = { customer: undefined, note: undefined, holdMs }
const rows = `
  INSERT INTO categories (category_id, name) VALUES (1, 'Cats');
  INSERT INTO pets (id, name, category_id, status)
    VALUES (1, 'Milo', 1, 'available'), (2, 'Luna', 1, 'available'), (3, 'Coco', 1, 'available')`

/** A database with three available animals, and what the tests do with it. */
async function openOrders(t: TestContext) {
  const { database } = await openDatabaseFor(t)
  await database.migrate((_, runScript) => runScript(rows))
  const { read } = database
  const write = <T>(work: (trx: Trx) => Promise<T>) => database.write(work)
  const petOf = async (trx: Trx, id: bigint) => {
    const pet = await findPetForUpdate(trx, id)
    assert.ok(pet)
    return pet
  }
  const place = (petId: bigint, order: Parameters<typeof placeOrder>[2] = withoutCustomer, at = now) =>
    write(async (trx) => placeOrder(trx, await petOf(trx, petId), order, at))
  const move = (id: number, status: OrderStatus, at = now, reason?: string) =>
    write(async (trx) => {
      const locked = await lockOrderAsIs(trx, id)
      assert.ok(locked)
      return updateOrderStatus(trx, locked.order, locked.pet, status, at, reason)
    })
  const petStatus = (id: bigint) => write(async (trx) => (await findPetForUpdate(trx, id))?.status)
  const orderEvents = async () => {
    const events = await read
      .selectFrom('events')
      .select(['type', 'created_at', 'data'])
      .orderBy('id')
      .execute()
    const ofOrders = events.filter(({ type }) => type.startsWith('order.'))
    return ofOrders.map(({ type, created_at, data }) => [type, created_at, JSON.parse(data)])
  }
  return { read, write, place, move, petStatus, orderEvents }
}

test('placing an order stores it, makes its animal pending and records an event without personal data', async (t) => {
  const { read, place, petStatus, orderEvents } = await openOrders(t)
  const customer = { name: 'Ada Example', email: 'ada@example.com' }
  const placed = await place(2n, { customer, note: 'Has a garden.', holdMs })
  const { id } = placed
  assert.partialDeepStrictEqual(
    { ...placed },
    {
      ...{ id, pet_id: 2, status: 'placed', customer_name: customer.name, customer_email: customer.email },
      ...{ note: 'Has a garden.', placed_at: now, updated_at: now, hold_expires_at: now + holdMs },
      cancel_reason: null,
    },
  )
  assert.deepEqual(await findOrder(read, id), placed)
  assert.equal(await findOrder(read, id + 1), undefined)
  assert.equal(await petStatus(2n), 'pending')
  assert.equal(await petStatus(1n), 'available')
  assert.deepEqual(await orderEvents(), [['order.placed', now, { id, petId: 2, status: 'placed' }]])
  const { customer_name, customer_email, note } = await place(1n)
  assert.deepEqual([customer_name, customer_email, note], [null, null, null])
})

test('a change of status ends the hold, gives the animal its status and records the reason', async (t) => {
  const { read, place, move, petStatus, orderEvents } = await openOrders(t)
  const { id } = await place(1n)
  const other = await place(2n)
  const steps = [
    ['approved', 'pending', undefined],
    ['delivered', 'sold', undefined],
    ['cancelled', 'available', 'hold_expired'],
  ] as const
  for (const [index, [status, petStatusThen, reason]] of steps.entries()) {
    const at = now + index + 1
    const { order, pet } = await move(id, status, at, reason)
    assert.deepEqual({ ...(await findOrder(read, id)) }, order)
    assert.deepEqual(
      [order.status, order.updated_at, order.hold_expires_at, order.cancel_reason],
      [status, at, null, reason ?? null],
    )
    assert.equal(pet?.status, petStatusThen)
    assert.equal(await petStatus(1n), petStatusThen)
  }
  assert.deepEqual(await findOrder(read, other.id), other)
  assert.deepEqual((await orderEvents()).slice(2), [
    ['order.approved', now + 1, { id, petId: 1, status: 'approved' }],
    ['order.delivered', now + 2, { id, petId: 1, status: 'delivered' }],
    ['order.cancelled', now + 3, { id, petId: 1, status: 'cancelled', cancelReason: 'hold_expired' }],
  ])
})

test('an order whose animal was removed changes without it', async (t) => {
  const { read, write, place } = await openOrders(t)
  const { id } = await place(1n)
  const locked = await write((trx) => lockOrderAsIs(trx, id))
  assert.deepEqual([locked?.order.id, locked?.pet?.id], [id, 1])
  assert.equal(await write((trx) => lockOrderAsIs(trx, id + 1)), undefined)
  const order = await findOrder(read, id)
  assert.ok(order)
  const changed = await write((trx) => updateOrderStatus(trx, order, undefined, 'cancelled', now))
  assert.deepEqual([changed.order.status, changed.pet], ['cancelled', undefined])
})

test('only an open order whose hold has not expired holds an animal', async (t) => {
  const { read, place, move } = await openOrders(t)
  const { id } = await place(1n)
  assert.equal(await isPetHeld(read, 1n, now + holdMs - 1), true)
  assert.equal(await isPetHeld(read, 1n, now + holdMs), false)
  assert.equal(await isPetHeld(read, 2n, now), false)
  await move(id, 'approved')
  assert.equal(await isPetHeld(read, 1n, now + holdMs), true)
  await move(id, 'delivered')
  assert.equal(await isPetHeld(read, 1n, now), false)
})

test('locking an animal cancels its order exactly if the hold has expired', async (t) => {
  const { read, write, place, petStatus } = await openOrders(t)
  const { id } = await place(1n)
  const before = await write((trx) => lockPetAndOrder(trx, 1n, now + holdMs - 1))
  assert.deepEqual([before.pet?.status, before.openOrder?.id], ['pending', id])
  assert.equal((await findOrder(read, id))?.status, 'placed')
  const after = await write((trx) => lockPetAndOrder(trx, 1n, now + holdMs))
  assert.deepEqual([after.pet?.status, after.openOrder], ['available', undefined])
  const order = await findOrder(read, id)
  assert.deepEqual([order?.status, order?.cancel_reason], ['cancelled', 'hold_expired'])
  assert.equal(await petStatus(1n), 'available')
  assert.equal(await write((trx) => findOpenOrderForUpdate(trx, 1n)), undefined)
  const without = await write((trx) => lockPetAndOrder(trx, 2n, now))
  assert.deepEqual([without.pet?.id, without.openOrder], [2, undefined])
  const unknown = await write((trx) => lockPetAndOrder(trx, 9n, now))
  assert.deepEqual([unknown.pet, unknown.openOrder], [undefined, undefined])
})

test('locking an order cancels it exactly if its hold has expired', async (t) => {
  const { write, place } = await openOrders(t)
  const { id } = await place(1n)
  const before = await write((trx) => lockOrder(trx, id, now + holdMs - 1))
  assert.deepEqual([before?.order.status, before?.pet?.status], ['placed', 'pending'])
  assert.equal((await write((trx) => lockOrderAsIs(trx, id)))?.order.status, 'placed')
  const after = await write((trx) => lockOrder(trx, id, now + holdMs))
  assert.deepEqual([after?.order.status, after?.pet?.status], ['cancelled', 'available'])
  assert.equal(await write((trx) => lockOrder(trx, id + 1, now)), undefined)
})

test('expired holds are cancelled, and others stay', async (t) => {
  const { read, write, place, move, petStatus } = await openOrders(t)
  const due = await place(1n)
  const later = await place(2n, withoutCustomer, now + 1)
  const approved = await place(3n)
  await move(approved.id, 'approved')
  assert.equal(await hasDueHolds(read, now + holdMs - 1), false)
  assert.equal(await write((trx) => expireDueHolds(trx, now + holdMs - 1)), 0)
  assert.equal(await hasDueHolds(read, now + holdMs), true)
  assert.equal(await write((trx) => expireDueHolds(trx, now + holdMs)), 1)
  assert.equal(await hasDueHolds(read, now + holdMs), false)
  const statuses = [due, later, approved].map(async ({ id }) => (await findOrder(read, id))?.status)
  assert.deepEqual(await Promise.all(statuses), ['cancelled', 'placed', 'approved'])
  assert.deepEqual([await petStatus(1n), await petStatus(2n)], ['available', 'pending'])
})

test('orders are listed newest first, below an id, by animal and by status', async (t) => {
  const { read, place, move } = await openOrders(t)
  const first = await place(1n)
  await move(first.id, 'cancelled')
  const second = await place(1n)
  const third = await place(2n)
  const ids = async (...page: Parameters<typeof listOrders> extends [unknown, ...infer P] ? P : never) =>
    (await listOrders(read, ...page)).map(({ id }) => id)
  assert.deepEqual(await ids(9, undefined, {}), [third.id, second.id, first.id])
  assert.deepEqual(await ids(2, undefined, {}), [third.id, second.id])
  assert.deepEqual(await ids(9, third.id, {}), [second.id, first.id])
  assert.deepEqual(await ids(9, undefined, { petId: 1n }), [second.id, first.id])
  assert.deepEqual(await ids(9, undefined, { status: 'placed' }), [third.id, second.id])
  assert.deepEqual(await ids(9, undefined, { petId: 1n, status: 'placed' }), [second.id])
})

test('erasing a customer erases the name, the address and the note of one order', async (t) => {
  const { read, write, place } = await openOrders(t)
  const known = { customer: { name: 'Ada Example', email: 'ada@example.com' }, note: 'Has a garden.', holdMs }
  const erased = await place(1n, known)
  const kept = await place(2n, known)
  await write((trx) => eraseCustomer(trx, erased.id, now + 5))
  const order = await findOrder(read, erased.id)
  assert.deepEqual([order?.customer_name, order?.customer_email, order?.note], [null, null, null])
  assert.deepEqual([order?.status, order?.updated_at], ['placed', now + 5])
  assert.deepEqual(await findOrder(read, kept.id), kept)
})

test('a customer has a name, and an address if it is known', () => {
  assert.equal(customerOf({ customer_name: null, customer_email: null }), undefined)
  const named = { name: 'Ada Example', email: undefined }
  assert.deepEqual(customerOf({ customer_name: 'Ada Example', customer_email: null }), named)
  const complete = { name: 'Ada Example', email: 'ada@example.com' }
  assert.deepEqual(customerOf({ customer_name: complete.name, customer_email: complete.email }), complete)
})

test('an animal gets the status that follows from its order', async (t) => {
  const { write, petStatus } = await openOrders(t)
  await write((trx) => syncPetStatus(trx, 1, 'delivered', now))
  await write((trx) => syncPetStatus(trx, 9, 'delivered', now))
  assert.deepEqual([await petStatus(1n), await petStatus(2n)], ['sold', 'available'])
})

test('an import gets what it needs about open orders', async (t) => {
  const { read } = await openOrders(t)
  assert.equal(petOrders.hasOpenOrders, hasOpenOrders)
  assert.equal(await hasOpenOrders(read, []), false)
  assert.equal(await petOrders.hasOpenOrders(read, [1, 2]), false)
})
