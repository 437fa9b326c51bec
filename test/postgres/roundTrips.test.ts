import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientResponse } from '../support/client.ts'
import { databaseFor } from '../support/engine.ts'
import { startTestService } from '../support/service.ts'
import { proxyFor } from '../support/tcpProxy.ts'

/** A setting of the connections that write. */
const writeSetting = 'SET statement_timeout = 0'

test('every write takes no more round trips than it needs', async (t) => {
  const env = await databaseFor(t)
  const proxy = await proxyFor(t, env.DATABASE_URL as string)
  const roundTrips = proxy.countRoundTrips(writeSetting)
  const service = await startTestService({
    ...env,
    // One connection: the set-up of another one would count as well.
    PETSTORE_DATABASE_POOL: '1',
    DATABASE_URL: proxy.through(env.DATABASE_URL as string),
  })
  t.after(() => service.stop())
  const key = service.operatorKey
  const send = async (method: string, path: string, body?: object, headers = {}): Promise<ClientResponse> => {
    const response = await service.request(method, `/v1${path}`, { key, headers, ...(body && { body }) })
    assert.ok(response.status < 300, `${method} ${path}: ${response.text}`)
    return response
  }
  const idempotent = (value: string) => ({ 'idempotency-key': value })
  const pet = { name: 'Milo', categoryId: 1 }
  const { id } = (await send('POST', '/pets', pet)).json
  const other = (await send('POST', '/pets', pet)).json.id
  const order = (await send('POST', '/store/orders', { petId: other, customer: { name: 'A' } })).json.id
  const moved = (await send('POST', '/pets', { ...pet, categoryId: 79 })).json.id
  await send('DELETE', `/pets/${moved}`)
  const own = await service.makeKey()

  const writes: [name: string, expected: number, write: () => Promise<unknown>][] = [
    ['create an animal', 1, () => send('POST', '/pets', pet)],
    ['create an animal and its category', 1, () => send('POST', '/pets', { ...pet, categoryId: 77 })],
    ['create an animal with an Idempotency-Key', 1, () => send('POST', '/pets', pet, idempotent('one'))],
    // No caller waits for the rollback of a transaction that has changed nothing.
    ['replay it', 2 + 1, () => send('POST', '/pets', pet, idempotent('one'))],
    ['change an animal', 2, () => send('PATCH', `/pets/${id}`, { name: 'Otis' })],
    ['move an animal to another category', 2, () => send('PATCH', `/pets/${id}`, { categoryId: 77 })],
    ['move an animal to a new category', 3, () => send('PATCH', `/pets/${id}`, { categoryId: 78 })],
    ['change nothing', 1 + 1, () => send('PATCH', `/pets/${id}`, { name: 'Otis' })],
    ['place an order', 3, () => send('POST', '/store/orders', { petId: id })],
    ['approve an order', 2, () => send('PATCH', `/store/orders/${order}`, { status: 'approved' })],
    ['deliver an order', 2, () => send('PATCH', `/store/orders/${order}`, { status: 'delivered' })],
    ['erase a customer', 3, () => send('DELETE', `/store/orders/${order}/customer`)],
    ['remove an animal', 2, () => send('DELETE', `/pets/${other}`)],
    ['add a category', 6, () => send('POST', '/categories', { name: 'Cats' })],
    ['rename a category', 5, () => send('PATCH', '/categories/77', { name: 'Dogs' })],
    ['remove a category', 3, () => send('DELETE', '/categories/79')],
    ['create a key', 4, () => service.makeKey()],
    ['change a key', 3, () => send('PATCH', `/keys/${own.id}`, { name: 'renamed' })],
    ['rotate a key', 4, () => send('POST', `/keys/${own.id}/rotate`)],
    ['revoke a key', 3, () => send('DELETE', `/keys/${own.id}`)],
  ]
  const taken: [string, number][] = []
  for (const [name, , write] of writes) {
    const before = roundTrips()
    await write()
    taken.push([name, roundTrips() - before])
  }
  assert.deepEqual(
    taken,
    writes.map(([name, expected]) => [name, expected]),
  )
})
