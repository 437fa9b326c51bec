import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openMigrated } from '../src/database/open.ts'
import { addTestDelivery, pruneDeliveries } from '../src/webhooks/deliveries.ts'
import { hasUndispatched } from '../src/webhooks/dispatch.ts'
import { addWebhook, setWebhookStatus } from '../src/webhooks/queries.ts'
import { eventually } from './support/eventually.ts'
import { hang, loopbackAllowed, startReceiver } from './support/receiver.ts'
import { folderFor } from './support/servers.ts'
import { startOfTests, startTestService } from './support/service.ts'

const dayMs = 86_400_000

async function stage(t: TestContext) {
  const receiver = await startReceiver()
  const service = await startTestService(loopbackAllowed)
  t.after(async () => {
    await receiver.stop()
    await service.stop()
  })
  const ask = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { key: service.operatorKey, body })
  const { id } = (await ask('POST', '/v1/webhooks', { url: receiver.url, events: ['pet.created'] })).json
  const addPet = (name: string) => ask('POST', '/v1/pets', { name, categoryId: 1 })
  const deliveries = async () => (await ask('GET', `/v1/webhooks/${id}/deliveries`)).json
  return { receiver, service, ask, id, addPet, deliveries }
}

test('what waited for an endpoint that was disabled is not sent when it is enabled again', async (t) => {
  const { receiver, ask, id, addPet, deliveries } = await stage(t)
  receiver.reply = 500
  await addPet('first')
  await receiver.until(1)
  await eventually('the webhook has come so far', async () => (await deliveries())[0].lastStatus === 500)
  receiver.reply = 410
  await addPet('second')
  await receiver.until(2)
  await eventually(
    'the webhook has come so far',
    async () => (await ask('GET', `/v1/webhooks/${id}`)).json.status === 'disabled',
  )
  const waiting = (await deliveries()).at(-1)
  assert.deepEqual([waiting.status, waiting.lastError], ['failed', 'The webhook was disabled.'])

  receiver.reply = 204
  await addPet('unheard')
  await ask('PATCH', `/v1/webhooks/${id}`, { status: 'enabled' })
  await addPet('third')
  assert.equal((await receiver.until(3)).data.name, 'third')
})

test('a stop does not wait for an endpoint that hangs, and the message is sent after the next start', async (t) => {
  const { receiver, service, addPet } = await stage(t)
  receiver.reply = hang
  await addPet('patient')
  const first = await receiver.until(1)
  receiver.reply = 204
  await service.restart()
  assert.equal((await receiver.until(2)).id, first.id)
})

test('without webhooks there is nothing to dispatch, and the first one is told of what comes after it', async (t) => {
  const service = await startTestService(loopbackAllowed)
  t.after(() => service.stop())
  await service.request('POST', '/v1/pets', {
    key: service.operatorKey,
    body: { name: 'before', categoryId: 1 },
  })
  const receiver = await startReceiver()
  t.after(() => receiver.stop())
  const hook = { url: receiver.url, events: ['pet.created'] }
  await service.request('POST', '/v1/webhooks', { key: service.operatorKey, body: hook })
  await service.request('POST', '/v1/pets', {
    key: service.operatorKey,
    body: { name: 'after', categoryId: 1 },
  })
  assert.equal((await receiver.until(1)).data.name, 'after')
})

test('deliveries are let go after 30 days, also those that a paused webhook keeps waiting', async (t) => {
  const database = await openMigrated(folderFor(t), startOfTests)
  t.after(() => database.close())
  const settings = { url: 'https://shelter.example/', events: ['pet.created'] as const }
  const count = await database.write(async (trx) => {
    assert.equal(await hasUndispatched(trx), false)
    const { webhook } = await addWebhook(trx, settings, 0, startOfTests)
    await setWebhookStatus(trx, webhook.id, 'paused')
    await addTestDelivery(trx, webhook.id, startOfTests)
    await addTestDelivery(trx, webhook.id, startOfTests + dayMs)
    assert.equal(await pruneDeliveries(trx, startOfTests + 30 * dayMs - 1), 0)
    return pruneDeliveries(trx, startOfTests + 30 * dayMs)
  })
  assert.equal(count, 1)
})
