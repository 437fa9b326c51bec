import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseFor } from '../support/engine.ts'
import { runPetstore } from '../support/process.ts'
import { serverFor } from '../support/servers.ts'

test('an order imported with an expired hold and then with a future one holds its animal again', async (t) => {
  const env = await databaseFor(t)
  const order = (holdExpiresAt: number) => ({
    type: 'order',
    id: 1,
    petId: 1,
    status: 'placed',
    customer: null,
    note: null,
    placedAt: 0,
    updatedAt: 0,
    holdExpiresAt,
    cancelReason: null,
  })
  const bring = async (...records: unknown[]) => {
    const lines = records.map((record) => JSON.stringify(record)).join('\n')
    const { code, stderr } = await runPetstore(['import'], env, lines)
    assert.equal(code, 0, stderr)
  }
  await bring({ type: 'pet', id: 1, name: 'Milo', categoryId: 1 }, order(1_000))
  await bring(order(Date.now() + 3_600_000))

  const server = await serverFor(t, env)
  const key = server.operatorKey
  const send = (method: string, path: string, body?: unknown) => server.request(method, path, { key, body })
  assert.equal((await send('GET', '/v1/pets?id=1')).json[0].status, 'pending')
  const second = await send('POST', '/v1/store/orders', { petId: 1 })
  assert.deepEqual([second.status, second.json.code], [409, 'pet_unavailable'])
  assert.deepEqual((await send('GET', '/v1/store/inventory')).json, { available: 0, pending: 1, sold: 0 })
})
