import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { startLoad } from '../support/load.ts'
import { queryOnce, tablesQuery } from '../support/queryOnce.ts'
import { amplePlan } from '../support/responses.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { startTestService } from '../support/service.ts'
import { loopbackAllowed, registerWebhook, startWebhookReceiver } from '../support/webhookReceiver.ts'

test('a running service does not notice columns that a later version adds under it: every request is served', async (t) => {
  const undo = reverseCleanup(t)
  const env = await databaseFor(undo)
  const receiver = await startWebhookReceiver()
  undo.after(() => receiver.stop())
  const service = await startTestService({ ...env, ...loopbackAllowed }, { bounds: { sweepMs: 200 } })
  undo.after(() => service.stop())
  const { key } = await service.makeKey(amplePlan)
  await registerWebhook(service, receiver.url)
  const load = startLoad([service], { callers: 2, key })
  undo.after(() => load.stop().catch(() => {}))

  /** A call of every kind, with statements on every table, each of which must be served. */
  async function callEverything() {
    const call = async (method: string, path: string, body?: unknown) => {
      const response = await service.request(method, path, {
        key: service.operatorKey,
        ...(body !== undefined && { body }),
      })
      assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${response.text}`)
      return response.json
    }
    const { id: petId } = await call('POST', '/v1/pets', { name: 'Milo', categoryId: 3 })
    const { id: orderId } = await call('POST', '/v1/store/orders', { petId, customer: { name: 'Zoë' } })
    await call('PATCH', `/v1/store/orders/${orderId}`, { status: 'cancelled' })
    await call('GET', '/v1/store/orders')
    await call('PATCH', `/v1/pets/${petId}`, { name: 'Luna' })
    const { id: categoryId } = await call('POST', '/v1/categories', { name: `Rabbits of ${petId}` })
    await call('PATCH', `/v1/categories/${categoryId}`, { name: `Hares of ${petId}` })
    await call('GET', '/v1/categories')
    const { id: keyId } = await call('POST', '/v1/keys', { name: 'another' })
    await call('POST', `/v1/keys/${keyId}/rotate`)
    await call('GET', '/v1/keys')
    await call('GET', '/v1/limits')
    await call('GET', '/v1/webhooks')
    await call('GET', '/v1/webhooks/1/deliveries')
    await call('GET', '/v1/events?limit=5')
  }
  await callEverything()
  await callEverything()
  const tables = await queryOnce(env, tablesQuery)
  assert.ok(tables.length >= 14)
  for (const { relname } of tables) {
    await queryOnce(env, `ALTER TABLE ${relname} ADD COLUMN from_the_future text`)
    await callEverything()
  }
  await load.stop()
  assert.equal(load.rejections(), 0, 'no request was rejected')
  const pets = await queryOnce(env, 'SELECT id FROM pets')
  const isNotified = () => {
    const reported = new Set(receiver.received.map(({ data }) => data.id))
    service.advance(60_000)
    return pets.every(({ id }) => reported.has(Number(id)))
  }
  await eventually('webhooks receive an event of every pet', isNotified, 30_000)
})
