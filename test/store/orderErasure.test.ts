import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { timestamp } from '../../src/clock.ts'
import { allTracesDisappear, remainingTraces, uniqueCustomer } from '../support/customerData.ts'
import { eventually } from '../support/eventually.ts'
import { holdMs, type OrderClient, startOrderClient } from '../support/orderClient.ts'
import { runPetstore } from '../support/process.ts'
import { assertError } from '../support/responses.ts'

let client: OrderClient
before(async () => {
  client = await startOrderClient()
})
after(() => client.service.stop())

const erase = (orderId: number) => client.call('DELETE', `/v1/store/orders/${orderId}/customer`)

for (const status of ['placed', 'approved', 'delivered', 'cancelled']) {
  test(`erases customer and note of an order that is ${status}, and keeps the order`, async () => {
    const person = uniqueCustomer()
    const petId = await client.addPet()
    const { id } = await client.place(petId, { customer: person.customer, note: person.note })
    if (status === 'delivered') await client.move(id, 'approved')
    if (status !== 'placed') await client.move(id, status)
    const { customer, note, ...rest } = await client.read(id)
    assert.deepEqual({ customer, note }, { customer: person.customer, note: person.note })
    const newest = await client.newestEventId()
    client.service.advance(1_000)
    assert.equal((await erase(id)).status, 204)
    const erased = { ...rest, updatedAt: timestamp(client.service.now()) }
    assert.deepEqual(await client.read(id), erased)
    assert.deepEqual((await client.call('GET', `/v1/store/orders?petId=${petId}`)).json, [erased])
    assert.equal((await erase(id)).status, 204, 'repeating it has no effect')
    assert.deepEqual(await client.eventsAfter(newest), [])
  })
}

test('an order can still be processed after its customer is erased', async () => {
  const petId = await client.addPet()
  const { id } = await client.place(petId, { customer: uniqueCustomer().customer })
  await erase(id)
  assert.equal((await client.move(id, 'approved')).status, 200)
  assert.equal((await client.move(id, 'delivered')).status, 200)
  assert.equal(await client.petStatus(petId), 'sold')
  const other = await client.place(await client.addPet(), { customer: uniqueCustomer().customer })
  await erase(other.id)
  client.service.advance(holdMs)
  await eventually(
    'the hold expires',
    async () => (await client.read(other.id)).cancelReason === 'hold_expired',
  )
})

for (const [length, what] of [
  [20, 'a short note'],
  [1_000, 'a long note'],
] as const) {
  test(`no trace of an erased customer with ${what} is left in the database`, async () => {
    const { databaseEnv } = client.service
    const [person, neighbour] = [uniqueCustomer(length), uniqueCustomer(length)]
    const neighbours = await client.place(await client.addPet(), {
      customer: neighbour.customer,
      note: neighbour.note,
    })
    const petId = await client.addPet()
    const placed = await client.call('POST', '/v1/store/orders', {
      body: { petId, customer: person.customer, note: person.note },
      headers: { 'idempotency-key': `erasure-${length}` },
    })
    await client.move(placed.json.id, 'approved')
    assert.deepEqual(await remainingTraces(person, databaseEnv), person.traces, 'this is where they are')
    assert.equal((await erase(placed.json.id)).status, 204)
    await allTracesDisappear(person, databaseEnv)
    assert.deepEqual(await remainingTraces(neighbour, databaseEnv), neighbour.traces)
    assert.deepEqual((await client.read(neighbours.id)).customer, neighbour.customer)
  })
}

test('no trace is left of many customers that are erased in random order', async () => {
  const orders = await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      const person = uniqueCustomer((n * 37) % 1_000)
      const { customer, note } = person
      const placed = await client.call('POST', '/v1/store/orders', {
        body: { petId: await client.addPet(), customer, note },
        headers: n % 2 === 0 ? {} : { 'idempotency-key': `many-${n}` },
      })
      return { id: placed.json.id as number, person }
    }),
  )
  for (const { id } of orders)
    if (id % 3 === 0) await client.move(id, id % 2 === 0 ? 'approved' : 'cancelled')
  const byChance = orders.toSorted((a, b) => ((a.id * 61) % 101) - ((b.id * 61) % 101))
  for (const { id } of byChance) await client.call('DELETE', `/v1/store/orders/${id}/customer`)
  const traces = orders.flatMap(({ person }) => person.traces)
  await allTracesDisappear({ traces }, client.service.databaseEnv)
})

test('a retry returns the first response without the customer and places no new order', async () => {
  const { customer, note } = uniqueCustomer()
  const petId = await client.addPet()
  const send = () =>
    client.call('POST', '/v1/store/orders', {
      body: { petId, customer, note },
      headers: { 'idempotency-key': 'retried' },
    })
  const first = await send()
  assert.equal(first.status, 201)
  assert.equal((await client.move(first.json.id, 'cancelled')).status, 200)
  await erase(first.json.id)
  const again = await send()
  assert.equal(again.status, 201, again.text)
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(again.headers.location, first.headers.location)
  const { customer: _customer, note: _note, ...rest } = first.json
  assert.deepEqual(again.json, rest)
  assert.equal(await client.petStatus(petId), 'available')
  assert.equal((await client.call('GET', `/v1/store/orders?petId=${petId}`)).json.length, 1)
})

test('an export contains all customers except erased ones', async () => {
  const [erased, other] = [uniqueCustomer(), uniqueCustomer()]
  const { id } = await client.place(await client.addPet(), { customer: erased.customer, note: erased.note })
  await client.place(await client.addPet(), { customer: other.customer, note: other.note })
  await erase(id)
  const { stdout } = await runPetstore(['export'], client.service.databaseEnv)
  for (const trace of erased.traces) assert.ok(!stdout.includes(trace))
  for (const trace of other.traces) assert.ok(stdout.includes(trace))
})

test('erasing the customer of an unknown order gets 404', async () => {
  assertError(await erase(999_999), 404, 'order_not_found')
})
