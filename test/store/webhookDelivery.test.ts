import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/database/database.ts'
import { Deliverer } from '../../src/webhooks/deliverer.ts'
import { createTestDelivery } from '../../src/webhooks/deliveries.ts'
import { createWebhook } from '../../src/webhooks/queries.ts'
import { databaseFor, openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { serverFor } from '../support/servers.ts'
import { startTestService } from '../support/service.ts'
import { hang, loopbackAllowed, registerWebhook, startWebhookReceiver } from '../support/webhookReceiver.ts'
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
  test('is exact to the millisecond, and a failed last attempt disables the webhook with a reason', async (t) => {
    const { service, endpoint, addPet, webhook, deliveries, runDeliverer } = await stageWebhooks(t)
    const dead = await endpoint()
    dead.reply = 500
    const { id } = await registerWebhook(service, dead.url)
    await addPet()
    for (const [index, delay] of documentedDelaysMs.entries()) {
      const attempts = index + 1
      await dead.until(attempts)
      const delivery = await eventually(`attempt ${attempts} is recorded`, async () => {
        const [found] = await deliveries(id)
        return found?.attempts === attempts && found
      })
      assert.equal(delivery.status, 'pending')
      const due = Date.parse(String(delivery.nextAttemptAt))
      const waits = due - service.now()
      assert.ok(waits >= delay && waits <= delay * 1.1, `${waits} ms after attempt ${attempts}`)
      service.advance(waits - 1)
      await runDeliverer()
      assert.equal(dead.received.length, attempts, 'not before it is due')
      service.advance(1)
      await runDeliverer()
    }
    await dead.until(10)
    const disabled = await eventually('it is disabled', async () => {
      const found = await webhook(id)
      return found.status === 'disabled' && found
    })
    const [delivery] = await deliveries(id)
    assert.equal(
      disabled.statusReason,
      `Delivery ${delivery?.id} failed 10 times. Last error: The endpoint responded with 500.`,
    )
    assert.deepEqual(
      [delivery?.status, delivery?.attempts, delivery?.nextAttemptAt, delivery?.finishedAt],
      ['failed', 10, undefined, new Date(service.now()).toISOString()],
    )
    assert.equal(new Set(dead.received.map(({ id: messageId }) => messageId)).size, 1)
    service.advance(48 * hour)
    await addPet()
    await runDeliverer()
    assert.equal(dead.received.length, 10)
  })
})

describe('an endpoint that misbehaves', () => {
  test('does not delay other webhooks', async (t) => {
    const bounds = { attemptTimeoutMs: 300 * second }
    const { service, endpoint, addPet, deliveries } = await stageWebhooks(t, {}, { bounds })
    const [dead, alive] = [await endpoint(), await endpoint()]
    dead.reply = hang
    const { id } = await registerWebhook(service, dead.url)
    await registerWebhook(service, alive.url)
    for (let n = 0; n < 8; n++) {
      await addPet(`Pet ${n}`)
      await alive.until(n + 1)
    }
    assert.equal(dead.received.length, 1, 'the other messages wait for the first')
    assert.equal((await deliveries(id)).length, 8)
  })

  test('causes no writes while an attempt is under way', async (t) => {
    const endpoint = await startWebhookReceiver()
    endpoint.reply = hang
    const { database } = await openDatabaseFor(t)
    let writes = 0
    const counted: Database = {
      ...database,
      write(work) {
        writes++
        return database.write(work)
      },
      writeUnlogged(work) {
        writes++
        return database.writeUnlogged(work)
      },
    }
    const deliverer = new Deliverer({
      database: counted,
      clock: Date.now,
      sending: { allowed: readConfig(loopbackAllowed).webhookAllow },
      onAttempt() {},
      onFault: (error) => assert.fail(String(error)),
    })
    database.onCommit(() => deliverer.wake())
    try {
      await database.write(async (trx) => {
        const settings = { url: endpoint.url, events: ['pet.created' as const] }
        const webhook = await createWebhook(trx, settings, 0, Date.now())
        for (let n = 0; n < 3; n++) await createTestDelivery(trx, webhook.id, Date.now())
      })
      await endpoint.until(1)
      for (let turn = 0; turn < 500; turn++) await nextTurn()
      assert.ok(writes <= 3, `${writes} writes`)
    } finally {
      const stopped = deliverer.stop()
      await endpoint.stop()
      await stopped
    }
  })
})

describe('first attempts', () => {
  test('are made in the order of the events, even if some fail', async (t) => {
    const { service, endpoint, addPet, deliveries, runDeliverer } = await stageWebhooks(t)
    const flaky = await endpoint()
    const seen = new Set<string>()
    const firsts: number[] = []
    flaky.reply = ({ id }) => {
      const isFirst = !seen.has(id)
      seen.add(id)
      if (isFirst) firsts.push(Number(id.slice('msg_'.length)))
      return isFirst && seen.size % 7 === 0 ? 500 : 204
    }
    const { id } = await registerWebhook(service, flaky.url)
    await Promise.all(Array.from({ length: 40 }, (_, n) => addPet(`Pet ${n}`)))
    await eventually('all first attempts', () => firsts.length === 40)
    assert.deepEqual(
      firsts,
      firsts.toSorted((a, b) => a - b),
    )
    service.advance(6 * second)
    await runDeliverer()
    await flaky.until(45)
    await eventually('all are delivered', async () =>
      (await deliveries(id)).every(({ status }) => status === 'delivered'),
    )
    assert.equal(flaky.received.length, 45, 'a delivered message is not sent again')
  })
})

describe('no message is lost', () => {
  test('in a clean restart: queued, failed and new messages are all delivered', async (t) => {
    const { service, endpoint, addPet, deliveries, runDeliverer, send } = await stageWebhooks(
      t,
      {},
      { bounds: { attemptTimeoutMs: 3 * second } },
    )
    const [failing, paused, hanging] = [await endpoint(), await endpoint(), await endpoint()]
    failing.reply = 500
    hanging.reply = hang
    const ids = []
    for (const { url } of [failing, paused, hanging]) ids.push((await registerWebhook(service, url)).id)
    await send('PATCH', `/v1/webhooks/${ids[1]}`, { status: 'paused' })
    const names = Array.from({ length: 5 }, (_, n) => `Pet ${n}`)
    for (const name of names) await addPet(name)
    await hanging.until(1)
    await service.restart()
    for (const receiver of [failing, hanging]) receiver.reply = 204
    await send('PATCH', `/v1/webhooks/${ids[1]}`, { status: 'enabled' })
    service.advance(40 * second)
    await runDeliverer()
    for (const id of ids) {
      await eventually('all are delivered', async () => {
        const found = await deliveries(id)
        return found.length === 5 && found.every(({ status }) => status === 'delivered')
      })
    }
    for (const receiver of [failing, paused, hanging])
      assert.deepEqual([...new Set(receiver.received.map(({ data }) => data.name))].sort(), names)
  })

  test('in a crash during an attempt and during writes', async (t) => {
    const env = {
      ...loopbackAllowed,
      ...(await databaseFor(t)),
      PETSTORE_ADMIN_KEY: 'the-admin-key-of-the-delivery-test',
    }
    const endpoint = await startWebhookReceiver()
    t.after(() => endpoint.stop())
    const server = await serverFor(t, env)
    const key = env.PETSTORE_ADMIN_KEY
    await registerWebhook({ request: server.request, operatorKey: key }, endpoint.url)
    endpoint.reply = hang
    const confirmed: string[] = []
    const add = async (name: string) => {
      const { status } = await server.request('POST', '/v1/pets', { key, body: { name, categoryId: 3 } })
      if (status === 201) confirmed.push(name)
    }
    await add('in the middle of its attempt')
    const first = await endpoint.until(1)
    const load = Array.from({ length: 20 }, async (_, writer) => {
      for (let n = 0; ; n++) await add(`${writer}-${n}`)
    })
    await eventually('changes come in', () => confirmed.length > 50)
    server.child.kill('SIGKILL')
    await Promise.allSettled(load)
    await server.ended

    endpoint.reply = 204
    // After the claim of the interrupted attempt has expired.
    const service = await startTestService(env, { startAt: Date.now() + 31 * second })
    t.after(() => service.stop())
    const received = () => new Set(endpoint.received.map(({ data }) => data.name))
    await eventually('every confirmed change arrives', () => {
      const names = received()
      return confirmed.every((name) => names.has(name))
    })
    assert.equal(endpoint.received[1]?.id, first.id, 'the message of the interrupted attempt is sent first')
  })
})
