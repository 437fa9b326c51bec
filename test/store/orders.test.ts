import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { timestamp } from '../../src/clock.ts'
import { orderStatuses } from '../../src/orders/order.ts'
import type { ClientResponse } from '../support/client.ts'
import { contestPets } from '../support/contestPets.ts'
import { holdMs, type OrderClient, startOrderClient } from '../support/orderClient.ts'
import { assertError, nextPage } from '../support/responses.ts'

let orderClient: OrderClient
before(async () => {
  orderClient = await startOrderClient()
})
after(() => orderClient.service.stop())

const ada = { name: 'Ada Example', email: 'ada@example.com' }
const post = (body: unknown, headers: Record<string, string> = {}) =>
  orderClient.call('POST', '/v1/store/orders', { body, headers })

describe('createOrder', () => {
  test('holds an available pet and returns the complete order with Location', async () => {
    const petId = await orderClient.addPet()
    const placed = await post({ petId, customer: ada, note: 'Has a garden.' })
    assert.equal(placed.status, 201, placed.text)
    const { id } = placed.json
    const now = timestamp(orderClient.service.now())
    assert.deepEqual(placed.json, {
      id,
      petId,
      status: 'placed',
      customer: ada,
      note: 'Has a garden.',
      placedAt: now,
      updatedAt: now,
      holdExpiresAt: timestamp(orderClient.service.now() + holdMs),
    })
    assert.equal(placed.headers.location, `/v1/store/orders/${id}`)
    assert.equal((await orderClient.call('GET', `/v1/store/orders/${id}`)).text, placed.text)
    assert.equal(await orderClient.petStatus(petId), 'pending')
  })

  test('works without customer and note', async () => {
    const order = await orderClient.place(await orderClient.addPet())
    assert.deepEqual(Object.keys(order), ['id', 'petId', 'status', 'placedAt', 'updatedAt', 'holdExpiresAt'])
  })

  test('accepts the longest name and the longest note, of any characters', async () => {
    const long = { customer: { name: '🐕'.repeat(255) }, note: `\u2028"\\ Ł${'🐕'.repeat(995)}` }
    const { id } = await orderClient.place(await orderClient.addPet(), long)
    const { customer, note } = await orderClient.read(id)
    assert.deepEqual({ customer, note }, long)
  })

  test('assigns increasing ids, and rejected requests use none', async () => {
    const first = await orderClient.place(await orderClient.addPet())
    assertError(await post({ petId: first.petId }), 409, 'pet_unavailable')
    assertError(await post({ petId: 999_999 }), 404, 'pet_not_found')
    assert.equal((await orderClient.place(await orderClient.addPet())).id, first.id + 1)
  })

  for (const petId of ['999999', '0', '-1', '9007199254740993', '9223372036854775807']) {
    test(`returns pet_not_found for ${petId}`, async () => {
      assertError(await post(`{"petId":${petId}}`), 404, 'pet_not_found')
    })
  }

  for (const status of ['pending', 'sold']) {
    test(`rejects a pet that is ${status} without an order`, async () => {
      const petId = await orderClient.addPet({ status })
      assertError(await post({ petId }), 409, 'pet_unavailable')
      assert.equal(await orderClient.petStatus(petId), status)
      assert.deepEqual((await orderClient.call('GET', `/v1/store/orders?petId=${petId}`)).json, [])
    })
  }

  for (const status of ['placed', 'approved', 'delivered']) {
    test(`rejects a pet with an order that is ${status}`, async () => {
      const { petId } = await orderClient.orderThatIs(status)
      assertError(await post({ petId }), 409, 'pet_unavailable')
      assert.equal((await orderClient.call('GET', `/v1/store/orders?petId=${petId}`)).json.length, 1)
    })
  }

  test('accepts a pet whose order was cancelled, and a sold pet that was returned', async () => {
    const cancelled = await orderClient.orderThatIs('cancelled')
    await orderClient.place(cancelled.petId)
    const { petId } = await orderClient.orderThatIs('delivered')
    const back = await orderClient.call('PATCH', `/v1/pets/${petId}`, { body: { status: 'available' } })
    assert.equal(back.status, 200)
    await orderClient.place(petId)
    const orders = (await orderClient.call('GET', `/v1/store/orders?petId=${petId}`)).json
    assert.deepEqual(
      orders.map(({ status }: { status: string }) => status),
      ['placed', 'delivered'],
    )
  })

  test('with an Idempotency-Key runs once; a retry returns the first response, even if the order has changed', async () => {
    const petId = await orderClient.addPet()
    const body = { petId, customer: ada }
    const send = () => post(body, { 'idempotency-key': `order-${petId}` })
    const first = await send()
    assert.equal(first.status, 201)
    const replay = async () => {
      const again = await send()
      assert.equal(again.status, 201)
      assert.equal(again.headers['idempotent-replayed'], 'true')
      assert.equal(again.text, first.text)
      assert.equal(again.headers.location, first.headers.location)
    }
    await replay()
    assert.equal((await orderClient.move(first.json.id, 'cancelled')).status, 200)
    await replay()
    assert.equal(await orderClient.petStatus(petId), 'available')
    const other = await post({ petId }, { 'idempotency-key': `order-${petId}` })
    assertError(other, 422, 'idempotency_key_reused')
  })

  test('returns a stored error for a retry', async () => {
    const { petId, orderId } = await orderClient.orderThatIs('placed')
    const send = () => post({ petId }, { 'idempotency-key': `late-${petId}` })
    assertError(await send(), 409, 'pet_unavailable')
    await orderClient.move(orderId, 'cancelled')
    const again = await send()
    assertError(again, 409, 'pet_unavailable')
    assert.equal(again.headers['idempotent-replayed'], 'true')
  })
})

describe('updateOrder', () => {
  const petStatusWith = { placed: 'pending', approved: 'pending', delivered: 'sold', cancelled: 'available' }

  test('simultaneous changes never both approve and cancel an order', async () => {
    for (let round = 0; round < 4; round++) {
      const { petId, orderId } = await orderClient.orderThatIs('placed')
      const wanted = ['approved', 'cancelled', 'delivered', 'cancelled', 'approved', 'delivered']
      await Promise.all(wanted.map((status) => orderClient.move(orderId, status)))
      const { status } = await orderClient.read(orderId)
      assert.ok(['approved', 'delivered', 'cancelled'].includes(status))
      assert.equal(await orderClient.petStatus(petId), petStatusWith[status as keyof typeof petStatusWith])
    }
  })
})

describe('an unknown order', () => {
  for (const id of ['999999', '0', '9007199254740993']) {
    test(`gets order_not_found: ${id}`, async () => {
      const path = `/v1/store/orders/${id}`
      assertError(await orderClient.call('GET', path), 404, 'order_not_found')
      const change = await orderClient.call('PATCH', path, { body: { status: 'approved' } })
      assertError(change, 404, 'order_not_found')
      assertError(await orderClient.call('DELETE', `${path}/customer`), 404, 'order_not_found')
    })
  }
})

describe('a pet with an open order', () => {
  for (const status of ['placed', 'approved']) {
    test(`cannot change status or be removed while the order is ${status}; its name and category can change`, async () => {
      const { petId, orderId } = await orderClient.orderThatIs(status)
      const path = `/v1/pets/${petId}`
      for (const petStatus of ['available', 'sold']) {
        const rejected = await orderClient.call('PATCH', path, {
          body: { name: 'Not this', status: petStatus },
        })
        assertError(rejected, 409, 'pet_has_open_order')
      }
      assertError(await orderClient.call('DELETE', path), 409, 'pet_has_open_order')
      const renamed = await orderClient.call('PATCH', path, { body: { name: 'Rex', categoryId: 8 } })
      assert.deepEqual(renamed.json, { id: petId, name: 'Rex', categoryId: 8, status: 'pending' })
      const same = await orderClient.call('PATCH', path, { body: { status: 'pending' } })
      assert.equal(same.status, 200, 'the current status is accepted')
      assert.equal((await orderClient.read(orderId)).status, status)
    })
  }

  for (const status of ['delivered', 'cancelled']) {
    test(`can be changed and removed once the order is ${status}`, async () => {
      const { petId, orderId } = await orderClient.orderThatIs(status)
      const target = status === 'delivered' ? 'available' : 'pending'
      const changed = await orderClient.call('PATCH', `/v1/pets/${petId}`, { body: { status: target } })
      assert.equal(changed.json.status, target)
      assert.equal((await orderClient.call('DELETE', `/v1/pets/${petId}`)).status, 204)
      assert.equal(
        (await orderClient.read(orderId)).petId,
        petId,
        'the order remains after its pet is removed',
      )
    })
  }
})

describe('listOrders', () => {
  test('returns orders newest first, page by page, for each combination of filters', async () => {
    const own = await startOrderClient()
    try {
      const made: { id: number; petId: number; status: string }[] = []
      const pets = [await own.addPet(), await own.addPet(), await own.addPet()]
      for (let n = 0; n < 15; n++) {
        const petId = pets[n % 3] as number
        const { id } = await own.place(petId)
        const status = n >= 12 ? 'placed' : n % 2 === 0 ? 'cancelled' : 'delivered'
        if (status === 'delivered') await own.move(id, 'approved')
        if (status !== 'placed') await own.move(id, status)
        if (status === 'delivered')
          await own.call('PATCH', `/v1/pets/${petId}`, { body: { status: 'available' } })
        made.unshift({ id, petId, status })
      }
      for (const status of [undefined, ...orderStatuses]) {
        for (const petId of [undefined, ...pets, 999]) {
          const filter = [status && `&status=${status}`, petId !== undefined && `&petId=${petId}`]
          const expected = made.filter(
            (order) => (!status || order.status === status) && (petId === undefined || order.petId === petId),
          )
          for (const limit of [2, 100]) {
            const seen: number[] = []
            let next: string | undefined = `/v1/store/orders?limit=${limit}${filter.filter(Boolean).join('')}`
            while (next !== undefined) {
              const page: ClientResponse = await own.call('GET', next)
              assert.equal(page.status, 200, page.text)
              assert.ok(page.json.length <= limit)
              seen.push(...page.json.map(({ id }: { id: number }) => id))
              next = nextPage(page)
              assert.equal(next !== undefined, seen.length < expected.length)
            }
            assert.deepEqual(
              seen,
              expected.map(({ id }) => id),
            )
          }
        }
      }
    } finally {
      await own.service.stop()
    }
  })

  test('returns an order in the same form as getOrder', async () => {
    const { id, petId } = await orderClient.place(await orderClient.addPet(), { customer: ada, note: 'x' })
    const listed = await orderClient.call('GET', `/v1/store/orders?petId=${petId}`)
    assert.deepEqual(listed.json, [await orderClient.read(id)])
  })

  test('a traversal returns every order exactly once while others are placed', async () => {
    const orders: number[] = []
    for (let n = 0; n < 5; n++) orders.unshift((await orderClient.place(await orderClient.addPet())).id)
    const first = await orderClient.call('GET', '/v1/store/orders?limit=2')
    await orderClient.place(await orderClient.addPet())
    const second = await orderClient.call('GET', String(nextPage(first)))
    const seen = [...first.json, ...second.json].map(({ id }) => id)
    assert.deepEqual(seen, orders.slice(0, 4))
  })

  for (const petId of ['0', '-5', '9007199254740993', '9223372036854775807']) {
    test(`returns an empty list for the impossible pet id ${petId}`, async () => {
      assert.deepEqual((await orderClient.call('GET', `/v1/store/orders?petId=${petId}`)).json, [])
    })
  }
})

// simultaneousOrders.slow.test.ts repeats it more often.
test('exactly one of many simultaneous orders for one pet is placed', () =>
  contestPets(orderClient, { contests: 2, simultaneous: 100 }))
