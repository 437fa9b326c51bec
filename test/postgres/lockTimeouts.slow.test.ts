import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminKey, requestOk, servicesFor } from '../support/instances.ts'
import { assertUnavailable, isOutcomeUnknown } from '../support/load.ts'
import { clientFor } from '../support/lockWaiters.ts'

// A transaction sends several statements at once. After the one that has waited too long, the others fail too.
test('a write that waits too long for an animal gets 503, also if other statements of its transaction fail with it', async (t) => {
  const { first, databaseEnv } = await servicesFor(t, {}, {}, 1)
  const addPet = async () =>
    (await requestOk(first, 'POST', '/v1/pets', { name: 'Held', categoryId: 3 })).json.id
  const order = async (petId: number) =>
    (await requestOk(first, 'POST', '/v1/store/orders', { petId })).json.id
  const free = await Promise.all(Array.from({ length: 5 }, addPet))
  const orderIds = await Promise.all((await Promise.all(Array.from({ length: 3 }, addPet))).map(order))
  const [changed, moved, removed, ordered, profiled] = free
  const [approved, cancelled, erased] = orderIds
  const writes: [method: string, path: string, body?: object][] = [
    ['PATCH', `/v1/pets/${changed}`, { name: 'Changed' }],
    ['PATCH', `/v1/pets/${moved}`, { categoryId: 4 }],
    ['DELETE', `/v1/pets/${removed}`],
    ['POST', '/v1/store/orders', { petId: ordered }],
    ['PATCH', `/v1/pets/${profiled}/profile`, { species: 'dog' }],
    ['PATCH', `/v1/store/orders/${approved}`, { status: 'approved' }],
    ['PATCH', `/v1/store/orders/${cancelled}`, { status: 'cancelled' }],
    ['DELETE', `/v1/store/orders/${erased}/customer`],
  ]
  const holder = await clientFor(t, databaseEnv)
  await holder.query('BEGIN; SELECT FROM pets FOR UPDATE; SELECT FROM orders FOR UPDATE')
  const responses = await Promise.all(
    writes.map(([method, path, body]) => first.request(method, path, { key: adminKey, body })),
  )
  await holder.query('COMMIT')
  for (const [index, response] of responses.entries()) {
    const [method, path] = writes[index] as [string, string]
    assert.equal(response.status, 503, `${method} ${path}: ${response.text}`)
    assertUnavailable(response, method)
    assert.ok(!isOutcomeUnknown(response), 'nothing was applied')
  }
})
