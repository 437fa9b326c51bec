import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { attemptTimeoutMs, nextAttemptAt, retryDelaysMs } from '../../src/webhooks/webhook.ts'
import { eventually } from '../support/eventually.ts'
import { amplePlan } from '../support/responses.ts'
import { hang, registerWebhook } from '../support/webhookReceiver.ts'
import { stageWebhooks } from '../support/webhookStage.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** As documented for receivers. */
const documentedDelaysMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

describe('the retry schedule', () => {
  test('is the documented one, with at most 10 % jitter', () => {
    assert.deepEqual(retryDelaysMs, documentedDelaysMs)
    assert.equal(attemptTimeoutMs, 15_000)
    for (const [index, delay] of documentedDelaysMs.entries()) {
      assert.equal(nextAttemptAt(index + 1, 1_000, 0), 1_000 + delay)
      assert.equal(nextAttemptAt(index + 1, 1_000, 0.5), 1_000 + delay * 1.05)
      assert.ok((nextAttemptAt(index + 1, 1_000, 1 - Number.EPSILON) as number) <= 1_000 + delay * 1.1)
    }
    assert.equal(nextAttemptAt(documentedDelaysMs.length + 1, 1_000, 0), undefined)
  })

  test('an endpoint that is down for an hour receives everything when it is up again', async (t) => {
    const { service, endpoint, addPet, webhook, deliveries, runDeliverer } = await stageWebhooks(t)
    const away = await endpoint()
    away.reply = 503
    const { id } = await registerWebhook(service, away.url)
    for (let n = 0; n < 12; n++) {
      await addPet(`while away ${n}`)
      service.advance(5 * minute)
      await runDeliverer()
    }
    away.reply = 204
    await addPet('when back')
    await eventually('the newest immediately', () =>
      away.received.some(({ data }) => data.name === 'when back'),
    )
    service.advance(3 * hour)
    await runDeliverer()
    await eventually('all are delivered', async () =>
      (await deliveries(id)).every(({ status }) => status === 'delivered'),
    )
    assert.equal(new Set(away.received.map(({ data }) => data.name)).size, 13)
    assert.equal((await webhook(id)).status, 'enabled')
  })
})

describe('an endpoint that misbehaves', () => {
  test('does not delay other webhooks even if there are more of its kind than concurrent attempts', async (t) => {
    const { service, endpoint, addPet } = await stageWebhooks(t, {}, { bounds: { attemptTimeoutMs: second } })
    const [dead, alive] = [await endpoint(), await endpoint()]
    dead.reply = hang
    for (let n = 0; n < 70; n++) await registerWebhook(service, dead.url)
    await registerWebhook(service, alive.url)
    const messages = 8
    await Promise.all(Array.from({ length: messages }, (_, n) => addPet(`Pet ${n}`)))
    await alive.until(messages, 120_000)
    // They did not wait behind the messages of the others, which are tried several times each.
    assert.ok(
      dead.received.length < (70 * messages) / 2,
      `${dead.received.length} messages before the last one`,
    )
  })
})

test('many simultaneous orders for one animal cause exactly one message', async (t) => {
  const { service, endpoint, addPet, runDeliverer } = await stageWebhooks(t)
  const shop = await endpoint()
  await registerWebhook(service, shop.url, ['order.placed'])
  const { key } = await service.makeKey(amplePlan)
  const pet = await addPet()
  const orders = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      service.request('POST', '/v1/store/orders', { key, body: { petId: pet.id, note: `order ${n}` } }),
    ),
  )
  const placed = orders.filter(({ status }) => status === 201)
  assert.equal(placed.length, 1)
  assert.ok(orders.every(({ status, json }) => status === 201 || json.code === 'pet_unavailable'))
  const message = await shop.until(1)
  assert.deepEqual(message.data, { id: placed[0]?.json.id, petId: pet.id, status: 'placed' })
  await runDeliverer()
  assert.equal(shop.received.length, 1)
})
