import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { RequestOptions } from '../support/client.ts'
import { eventCallsOf } from '../support/eventCalls.ts'
import { amplePlan, assertError } from '../support/responses.ts'
import { useService } from '../support/useService.ts'

const service = useService()
let ample: string
before(async () => {
  ample = (await service.makeKey(amplePlan)).key
})

const { send, done, newest, eventsDuring, addPet, placeOrder, moveOrder } = eventCallsOf(service)

describe('no event is recorded for', () => {
  const quiet: [string, () => Promise<() => Promise<unknown>>][] = [
    [
      'a change of a pet to its current values',
      async () => {
        const { id, name, status, categoryId } = await addPet()
        return () => done('PATCH', `/v1/pets/${id}`, { name, status, categoryId })
      },
    ],
    [
      'an empty change of a pet',
      async () => {
        const { id } = await addPet()
        return () => done('PATCH', `/v1/pets/${id}`, {})
      },
    ],
    [
      'a change of a category to its current name',
      async () => {
        const { id, name } = await done('POST', '/v1/categories', { name: 'Cats' })
        return () => done('PATCH', `/v1/categories/${id}`, { name })
      },
    ],
    [
      'a change of an order to its current status',
      async () => {
        const { order } = await placeOrder()
        return () => moveOrder(order.id, 'placed')
      },
    ],
    [
      'a change of a key to its current settings',
      async () => {
        const { id } = await service.makeKey({ plan: 'pro' })
        return () => done('PATCH', `/v1/keys/${id}`, { plan: 'pro' })
      },
    ],
    [
      'revoking a revoked key',
      async () => {
        const { id } = await service.makeKey()
        await done('DELETE', `/v1/keys/${id}`)
        return () => done('DELETE', `/v1/keys/${id}`)
      },
    ],
    [
      'a retry with the same Idempotency-Key',
      async () => {
        const again = () =>
          send('POST', '/v1/pets', {
            body: { name: 'Milo', categoryId: 3 },
            headers: { 'idempotency-key': 'recorded-once' },
          })
        await again()
        return async () => assert.equal((await again()).headers['idempotent-replayed'], 'true')
      },
    ],
    [
      'a read',
      async () => () =>
        Promise.all(['pets', 'categories', 'keys', 'events'].map((path) => done('GET', `/v1/${path}`))),
    ],
  ]
  for (const [name, prepare] of quiet) {
    test(name, async () => {
      const act = await prepare()
      assert.deepEqual(await eventsDuring(act), [])
    })
  }

  const rejected: [string, () => Promise<[string, string, RequestOptions, number]>][] = [
    ['invalid input', async () => ['POST', '/v1/pets', { body: { name: '', categoryId: 7_100 } }, 400]],
    ['an unknown pet', async () => ['PATCH', '/v1/pets/999999', { body: { name: 'x' } }, 404]],
    [
      'a change with an outdated If-Match',
      async () => {
        const { id } = await addPet()
        const body = { name: 'x', categoryId: 7_101 }
        return ['PATCH', `/v1/pets/${id}`, { body, headers: { 'if-match': '"other"' } }, 412]
      },
    ],
    [
      'an illegal status change together with a new category',
      async () => {
        const { id } = await addPet({ status: 'sold' })
        return ['PATCH', `/v1/pets/${id}`, { body: { status: 'pending', categoryId: 7_102 } }, 409]
      },
    ],
    [
      'a change of a pet with an open order',
      async () => {
        const { pet } = await placeOrder()
        return ['DELETE', `/v1/pets/${pet.id}`, {}, 409]
      },
    ],
    [
      'an order for an unavailable pet',
      async () => {
        const { pet } = await placeOrder()
        return ['POST', '/v1/store/orders', { body: { petId: pet.id } }, 409]
      },
    ],
    [
      'an illegal status change of an order',
      async () => {
        const { order } = await placeOrder()
        return ['PATCH', `/v1/store/orders/${order.id}`, { body: { status: 'delivered' } }, 409]
      },
    ],
    [
      'removing a category in use',
      async () => {
        await addPet()
        return ['DELETE', '/v1/categories/3', {}, 409]
      },
    ],
    [
      'a key with contradictory settings',
      async () => ['POST', '/v1/keys', { body: { name: 'x', limits: { perMinute: 1 } } }, 400],
    ],
    ['a missing scope', async () => ['POST', '/v1/keys', { key: ample, body: { name: 'x' } }, 403]],
    ['no key', async () => ['POST', '/v1/pets', { key: undefined, body: { name: 'x', categoryId: 3 } }, 401]],
  ]
  for (const [name, prepare] of rejected) {
    test(`a rejected request: ${name}`, async () => {
      const [method, path, options, status] = await prepare()
      const events = await eventsDuring(async () =>
        assert.equal((await send(method, path, options)).status, status),
      )
      assert.deepEqual(events, [])
    })
  }
})

describe('the feed', () => {
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=x',
    'limit=1&limit=2',
    'after=-1',
    'after=x',
    'after=1.5',
    'after=',
  ]) {
    test(`?${query} is rejected`, async () => {
      assertError(await send('GET', `/v1/events?${query}`), 400, 'validation_failed')
    })
  }

  test('HEAD returns Last-Event-Id', async () => {
    const response = await send('HEAD', '/v1/events?limit=1')
    assert.equal(response.status, 200)
    assert.equal(response.headers['last-event-id'], String(await newest()))
  })
})

describe('access to events', () => {
  test('requires the scope events:read', async () => {
    const { key } = await service.makeKey()
    assertError(await send('GET', '/v1/events', { key }), 403, 'insufficient_scope')
  })
})
