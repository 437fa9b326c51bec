import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import { eventually } from './eventually.ts'
import { type Caller, type ExpectedState, isBusy, pick } from './fleet.ts'

/** Adds a pet, changes it, orders it, and completes or cancels the order. */
export async function adopt(
  { attempt, insist: retryUntilResponse, ok }: Caller,
  known: ExpectedState,
  name: string,
  turn: number,
) {
  const body = { name, categoryId: turn % 20 }
  const isRetried = turn % 3 !== 0
  const noted: { id?: number; isRetried: boolean } = { isRetried }
  known.animals.set(name, noted)
  const made = isRetried
    ? (await retryUntilResponse('POST', '/v1/pets', { body, idempotencyKey: name })).response
    : await attempt('POST', '/v1/pets', { body })
  // Without a key the outcome is unknown, and the request must not be repeated.
  if (!made || isBusy(made)) return
  assert.equal(made.status, 201, made.text)
  const { id } = made.json
  noted.id = id
  known.pets.set(id, { name, status: 'available' })
  // A confirmed change is visible everywhere immediately.
  assert.deepEqual(await ok('GET', `/v1/pets?id=${id}`), [made.json])

  await ok('PATCH', `/v1/pets/${id}`, { body: { name: `${name} renamed` } })
  known.pets.set(id, { name: `${name} renamed`, status: 'available' })
  const order = await ok('POST', '/v1/store/orders', {
    body: { petId: id, note: name },
    idempotencyKey: `order-${name}`,
  })
  known.orders.set(order.id, 'placed')
  known.pets.set(id, { name: `${name} renamed`, status: 'pending' })
  const ways = [['approved', 'delivered'], ['approved', 'cancelled'], ['cancelled'], ['approved'], []]
  const petStatus: Record<string, string> = { delivered: 'sold', cancelled: 'available' }
  for (const status of pick(ways)) {
    await ok('PATCH', `/v1/store/orders/${order.id}`, { body: { status } })
    known.orders.set(order.id, status)
    known.pets.set(id, { name: `${name} renamed`, status: petStatus[status] ?? 'pending' })
  }
  assert.equal((await ok('GET', `/v1/store/orders/${order.id}`)).status, known.orders.get(order.id))
  if (!petStatus[known.orders.get(order.id) as string] || turn % 2 === 0) return
  const { response, failedAttempts } = await retryUntilResponse('DELETE', `/v1/pets/${id}`)
  // The attempt whose response was lost may have done it.
  if (response.status === 404) assert.ok(failedAttempts > 0)
  else assert.equal(response.status, 204, response.text)
  known.pets.set(id, 'gone')
}

/** Adds a pet, and repeats the request until there is a response. */
export async function addOnce({ ok }: Caller, known: ExpectedState, name: string): Promise<number> {
  known.animals.set(name, { isRetried: true })
  const send = () => ok('POST', '/v1/pets', { body: { name, categoryId: 7 }, idempotencyKey: name })
  const made = await send()
  assert.deepEqual(await send(), made, 'a retry gets the response of the first attempt')
  const { id } = made
  known.animals.set(name, { id, isRetried: true })
  known.pets.set(id, { name, status: 'available' })
  return id
}

/** Many callers order the same pet, and the one that gets it cancels. No request is repeated. */
export async function orderConcurrently(
  { attempt, ok }: Caller,
  known: ExpectedState,
  petIds: readonly number[],
) {
  const petId = pick(petIds)
  const response = await attempt('POST', '/v1/store/orders', { body: { petId } })
  if (response?.status === 201) known.orders.set(response.json.id, 'cancelled')
  else if (response) assert.ok(response.json.code === 'pet_unavailable' || isBusy(response), response.text)
  // An order whose response was lost is cancelled by the next caller that finds it.
  const open = await ok('GET', `/v1/store/orders?petId=${petId}&status=placed`)
  const ids: number[] =
    response?.status === 201 ? [response.json.id] : open.map(({ id }: { id: number }) => id)
  for (const id of ids) {
    await ok('PATCH', `/v1/store/orders/${id}`, { body: { status: 'cancelled' } })
    known.orders.set(id, 'cancelled')
  }
}

/** The database may be away for some seconds. */
const holdWaitMaxMs = 30_000
/** Later than any time of the run. */
export const longAgo = 1

async function endHold(database: Database, id: number): Promise<true> {
  await database.write((trx) =>
    trx
      .updateTable('orders')
      .set({ hold_expires_at: longAgo })
      .where('id', '=', id)
      .where('status', '=', 'placed')
      .execute(),
  )
  return true
}

/** An order whose hold expires. Every other time the next order comes before an instance has expired it. */
export async function letHoldExpire(
  caller: Caller,
  known: ExpectedState,
  database: Database,
  name: string,
  turn: number,
) {
  const petId = await addOnce(caller, known, name)
  const order = await caller.ok('POST', '/v1/store/orders', {
    body: { petId },
    idempotencyKey: `held-${name}`,
  })
  await eventually('its hold has ended', () => endHold(database, order.id).catch(() => false), holdWaitMaxMs)
  known.held.add(order.id)
  known.orders.set(order.id, 'cancelled')
  if (turn % 2 === 0) return
  const next = await caller.ok('POST', '/v1/store/orders', {
    body: { petId },
    idempotencyKey: `next-${name}`,
  })
  known.orders.set(next.id, 'placed')
  known.pets.set(petId, { name, status: 'pending' })
}
