import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventIdMax } from '../../src/events/queries.ts'
import { createTestDelivery, pruneDeliveries } from '../../src/webhooks/deliveries.ts'
import { hasUndispatchedEvents } from '../../src/webhooks/dispatch.ts'
import { createWebhook, updateWebhook } from '../../src/webhooks/queries.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { startOfTests } from '../support/service.ts'
import { useService } from '../support/useService.ts'
import { hang, loopbackAllowed, startWebhookReceiver } from '../support/webhookReceiver.ts'

const dayMs = 86_400_000

const service = useService(loopbackAllowed)
const send = (method: string, path: string, body?: unknown) =>
  service.request(method, path, { key: service.operatorKey, body })
const addPet = (name: string) => send('POST', '/v1/pets', { name, categoryId: 1 })

async function receiverFor(t: TestContext) {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  return receiver
}

/** A webhook that is deleted after the test. */
async function stage(t: TestContext) {
  const receiver = await receiverFor(t)
  const { id } = (await send('POST', '/v1/webhooks', { url: receiver.url, events: ['pet.created'] })).json
  t.after(() => send('DELETE', `/v1/webhooks/${id}`))
  const deliveries = async () => (await send('GET', `/v1/webhooks/${id}/deliveries`)).json
  return { receiver, id, deliveries }
}

test('the first webhook receives only the events after its registration', async (t) => {
  await addPet('before')
  const { receiver } = await stage(t)
  await addPet('after')
  assert.equal((await receiver.until(1)).data.name, 'after')
})

test('deliveries that were pending when a webhook was disabled are not sent after it is enabled again', async (t) => {
  const { receiver, id, deliveries } = await stage(t)
  receiver.reply = 500
  await addPet('first')
  await receiver.until(1)
  await eventually('the first attempt is recorded', async () => (await deliveries())[0].lastStatus === 500)
  receiver.reply = 410
  await addPet('second')
  await receiver.until(2)
  await eventually(
    'the webhook is disabled',
    async () => (await send('GET', `/v1/webhooks/${id}`)).json.status === 'disabled',
  )
  const waiting = (await deliveries()).at(-1)
  assert.deepEqual([waiting.status, waiting.lastError], ['failed', 'The webhook was disabled.'])

  receiver.reply = 204
  await addPet('unheard')
  await send('PATCH', `/v1/webhooks/${id}`, { status: 'enabled' })
  await addPet('third')
  assert.equal((await receiver.until(3)).data.name, 'third')
})

test('a stop does not wait for an endpoint that hangs, and the message is sent after the restart', async (t) => {
  const { receiver } = await stage(t)
  receiver.reply = hang
  await addPet('patient')
  const first = await receiver.until(1)
  receiver.reply = 204
  await service.restart()
  assert.equal((await receiver.until(2)).id, first.id)
})

test('deliveries are deleted after 30 days, including pending ones of a paused webhook', async (t) => {
  const { database } = await openDatabaseFor(t, startOfTests)
  const settings = { url: 'https://shelter.example/', events: ['pet.created'] as const }
  const count = await database.write(async (trx) => {
    assert.equal(await hasUndispatchedEvents(trx, eventIdMax), false)
    const webhook = await createWebhook(trx, settings, 0, startOfTests)
    await updateWebhook(trx, webhook.id, { status: 'paused' })
    await createTestDelivery(trx, webhook.id, startOfTests)
    await createTestDelivery(trx, webhook.id, startOfTests + dayMs)
    assert.equal(await pruneDeliveries(trx, startOfTests + 30 * dayMs - 1), 0)
    return pruneDeliveries(trx, startOfTests + 30 * dayMs)
  })
  assert.equal(count, 1)
})

test('without keys:manage, a webhook with key events cannot be changed, rotated, retried or deleted', async (t) => {
  const receiver = await receiverFor(t)
  receiver.reply = 500
  const hook = { url: receiver.url, events: ['key.created'] }
  const { id } = (await send('POST', '/v1/webhooks', hook)).json
  t.after(() => send('DELETE', `/v1/webhooks/${id}`))
  await service.makeKey()
  await receiver.until(1)
  const manager = await service.makeKey({ scopes: ['webhooks:manage'] })
  const as = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { key: manager.key, body })
  const [delivery] = (await send('GET', `/v1/webhooks/${id}/deliveries`)).json
  for (const rejected of [
    await as('PATCH', `/v1/webhooks/${id}`, { url: 'https://evil.example/', events: ['pet.created'] }),
    await as('PATCH', `/v1/webhooks/${id}`, { url: 'https://evil.example/' }),
    await as('POST', `/v1/webhooks/${id}/deliveries/${delivery.id}/retry`),
    await as('POST', `/v1/webhooks/${id}/rotate`),
    await as('DELETE', `/v1/webhooks/${id}`),
  ]) {
    assert.deepEqual([rejected.status, rejected.json.code], [403, 'insufficient_scope'])
  }
  // When the operator removes the key events, their pending deliveries fail, so none can be redirected.
  await send('PATCH', `/v1/webhooks/${id}`, { events: ['pet.created'] })
  const left = (await send('GET', `/v1/webhooks/${id}/deliveries`)).json
  assert.deepEqual(new Set(left.map(({ status }: { status: string }) => status)), new Set(['failed']))
})

test('a response from the old URL after the URL was changed does not affect the webhook', async (t) => {
  const { receiver, id } = await stage(t)
  const moved = await receiverFor(t)
  const sendResponses: (() => void)[] = []
  receiver.reply = { act: (response) => void sendResponses.push(() => response.writeHead(410).end()) }
  await addPet('on its way')
  const first = await receiver.until(1)
  await send('PATCH', `/v1/webhooks/${id}`, { url: moved.url })
  await addPet('behind it')
  for (const respond of sendResponses) respond()
  assert.equal((await moved.until(1)).id, first.id)
  assert.equal((await moved.until(2)).data.name, 'behind it')
  assert.equal((await send('GET', `/v1/webhooks/${id}`)).json.status, 'enabled')
})

test('manual retries do not use up the retry schedule', async (t) => {
  const { receiver, id, deliveries } = await stage(t)
  await addPet('often')
  await receiver.until(1)
  const [{ id: deliveryId }] = await deliveries()
  for (let n = 2; n <= 11; n++) {
    const isDone = async () => (await deliveries())[0].status === 'delivered'
    await eventually('the delivery has ended', isDone)
    receiver.reply = n === 11 ? 500 : 204
    await send('POST', `/v1/webhooks/${id}/deliveries/${deliveryId}/retry`)
    await receiver.until(n)
  }
  await eventually('the failure is noted', async () => (await deliveries())[0].lastStatus === 500)
  assert.equal((await deliveries())[0].status, 'pending')
  assert.equal((await deliveries())[0].attempts, 11)
  assert.equal((await send('GET', `/v1/webhooks/${id}`)).json.status, 'enabled')
})
