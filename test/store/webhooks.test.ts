import assert from 'node:assert/strict'
import { afterEach, before, describe, test } from 'node:test'
import { webhooksMax } from '../../src/webhooks/webhook.ts'
import type { ClientResponse, RequestOptions } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { amplePlan, assertError, assertResponseHeaders, nextPage } from '../support/responses.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'
import {
  isSignedWith,
  loopbackAllowed,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhookReceiver.ts'

// The verifier of messages looks at the time of this machine.
const service = useService(loopbackAllowed, { startAt: 'now' })
let manager: string
const receivers: WebhookReceiver[] = []
before(async () => {
  manager = (await service.makeKey({ ...amplePlan, scopes: ['webhooks:manage'] })).key
})
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.stop()
  for (const { id } of (await service.request('GET', '/v1/webhooks?limit=100', { key: manager })).json)
    await service.request('DELETE', `/v1/webhooks/${id}`, { key: service.operatorKey })
})

async function send(method: string, path: string, options: RequestOptions = {}): Promise<ClientResponse> {
  const response = await service.request(method, path, { key: service.operatorKey, ...options })
  assertResponseHeaders(response, method)
  return response
}
async function receiver(): Promise<WebhookReceiver> {
  const started = await startWebhookReceiver()
  receivers.push(started)
  return started
}
const register = (url: string, events?: readonly string[]) => registerWebhook(service, url, events)
const addPet = async (name = 'Milo') =>
  (await send('POST', '/v1/pets', { body: { name, categoryId: 3 } })).json
const get = async (id: number) => (await send('GET', `/v1/webhooks/${id}`)).json
const deliveries = async (id: number) => (await send('GET', `/v1/webhooks/${id}/deliveries`)).json
const change = async (id: number, body: unknown) => {
  const { status, json, text } = await send('PATCH', `/v1/webhooks/${id}`, { body })
  assert.equal(status, 200, text)
  return json
}
/** Waits until the deliverer has processed everything that is due: the last one is delivered last. */
async function untilQuiet(): Promise<void> {
  const marker = await receiver()
  const { id } = await register(marker.url)
  await send('POST', `/v1/webhooks/${id}/test`)
  await marker.until(1)
  await send('DELETE', `/v1/webhooks/${id}`)
}

const example = { url: 'https://shelter.example/hooks', events: ['pet.created', 'order.placed'] }

describe('registration', () => {
  test('returns the webhook with its secret and its URL', async () => {
    const response = await send('POST', '/v1/webhooks', { body: example })
    assert.equal(response.status, 201)
    const { id, secret, ...rest } = response.json
    assert.deepEqual(rest, {
      ...example,
      status: 'enabled',
      createdAt: new Date(service.now()).toISOString(),
    })
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(response.headers.location, `/v1/webhooks/${id}`)
    assert.equal(response.headers['x-stability'], 'experimental')
    assert.deepEqual(await get(id), { id, ...rest })
  })

  test('shows the secret only once, except to a retry with the same Idempotency-Key', async () => {
    const options = { key: manager, body: example, headers: { 'idempotency-key': 'register-once' } }
    const first = await send('POST', '/v1/webhooks', options)
    const { id, secret } = first.json
    const again = await send('POST', '/v1/webhooks', options)
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.deepEqual(again.json, first.json)
    const other = await send('POST', '/v1/webhooks', { ...options, key: service.operatorKey })
    assert.notEqual(other.json.id, id)
    await send('POST', `/v1/webhooks/${id}/test`)
    for (const [method, path, body] of [
      ['GET', `/v1/webhooks/${id}`],
      ['GET', '/v1/webhooks'],
      ['GET', `/v1/webhooks/${id}/deliveries`],
      ['PATCH', `/v1/webhooks/${id}`, { status: 'paused' }],
    ] as const) {
      const { status, text } = await send(method, path, { body })
      assert.equal(status, 200)
      assert.ok(!text.includes('whsec_'), path)
    }
    for (const said of [secret, other.json.secret])
      assert.ok(!service.logLines.some((line) => line.includes(said)))
  })

  test(`is limited to ${webhooksMax} webhooks`, async () => {
    const own = await startTestService()
    try {
      const { key } = await own.makeKey({ ...amplePlan, scopes: ['webhooks:manage'] })
      const add = () => own.request('POST', '/v1/webhooks', { key, body: example })
      const { write } = await own.openDatabase()
      const row = { url: example.url, events: '[]', from_event_id: 0, secret: 'secret', created_at: 0 }
      // All but the last one, without the requests.
      const others = Array.from({ length: webhooksMax - 1 }, () => ({ ...row, status: 'paused' as const }))
      await write((trx) => trx.insertInto('webhooks').values(others).execute())
      assert.equal((await add()).status, 201)
      assertError(await add(), 400, 'validation_failed')
      await own.request('DELETE', '/v1/webhooks/1', { key })
      assert.equal((await add()).status, 201)
    } finally {
      await own.stop()
    }
  })
})

describe('messages', () => {
  test('are sent only for the selected event types and only for events after the registration', async () => {
    await addPet('before')
    const [pets, orders, keys] = [await receiver(), await receiver(), await receiver()]
    await register(pets.url, ['pet.created', 'pet.deleted'])
    await register(orders.url, ['order.placed'])
    await register(keys.url, ['key.created'])
    const pet = await addPet('after')
    await send('POST', '/v1/store/orders', { body: { petId: pet.id, customer: { name: 'Ada' } } })
    const made = await service.makeKey()
    const { id } = await addPet('last')
    await send('DELETE', `/v1/pets/${id}`)
    await pets.until(3)
    await untilQuiet()
    const types = ({ received }: WebhookReceiver) => received.map(({ type }) => type)
    assert.deepEqual(types(pets), ['pet.created', 'pet.created', 'pet.deleted'])
    assert.deepEqual(types(orders), ['order.placed'])
    assert.deepEqual(types(keys), ['key.created'])
    assert.deepEqual(orders.received[0]?.data, { id: 1, petId: pet.id, status: 'placed' })
    assert.ok(!keys.received[0]?.body.includes(made.key))
  })

  test('have the same id at every webhook for the same event', async () => {
    const [one, two] = [await receiver(), await receiver()]
    await register(one.url)
    await register(two.url)
    await addPet()
    assert.equal((await one.until(1)).id, (await two.until(1)).id)
  })
})

describe('a test message', () => {
  test('is signed, has the type webhook.test and appears in the deliveries', async () => {
    const endpoint = await receiver()
    const { id, secret } = await register(endpoint.url)
    const response = await send('POST', `/v1/webhooks/${id}/test`)
    assert.equal(response.status, 202)
    assert.equal(response.json.status, 'pending')
    const message = await endpoint.until(1)
    assert.equal(message.type, 'webhook.test')
    assert.ok(isSignedWith(secret, message))
    await send('POST', `/v1/webhooks/${id}/test`)
    assert.notEqual((await endpoint.until(2)).id, message.id)
    const delivery = await eventually('it is noted', async () => {
      const found = (await deliveries(id)).find((one: { id: number }) => one.id === response.json.id)
      return found.status !== 'pending' && found
    })
    assert.deepEqual(delivery, {
      id: response.json.id,
      eventType: 'webhook.test',
      status: 'delivered',
      attempts: 1,
      lastStatus: 204,
      createdAt: response.json.createdAt,
      finishedAt: new Date(service.now()).toISOString(),
    })
  })
})

describe('deliveries', () => {
  test('show the attempts, the last outcome and the time of the next attempt', async () => {
    const endpoint = await receiver()
    endpoint.reply = 503
    const { id } = await register(endpoint.url)
    await addPet()
    const { id: eventId } = (await send('GET', '/v1/events?limit=1000')).json.at(-1)
    const [delivery] = await eventually('the failure is noted', async () => {
      const found = await deliveries(id)
      return found[0]?.attempts === 1 && found
    })
    const { nextAttemptAt, id: _id, ...rest } = delivery
    assert.deepEqual(rest, {
      eventId,
      eventType: 'pet.created',
      status: 'pending',
      attempts: 1,
      lastStatus: 503,
      lastError: 'The endpoint responded with 503.',
      createdAt: new Date(service.now()).toISOString(),
    })
    const delay = Date.parse(nextAttemptAt) - service.now()
    assert.ok(delay >= 5_000 && delay <= 5_500, `${delay} ms`)
  })

  test('are listed newest first, in pages', async () => {
    const endpoint = await receiver()
    const { id } = await register(endpoint.url)
    const pets = []
    for (let n = 0; n < 5; n++) pets.push(await addPet(`Pet ${n}`))
    await endpoint.until(5)
    const walked: { id: number }[] = []
    let page: string | undefined = `/v1/webhooks/${id}/deliveries?limit=2`
    while (page) {
      const response: ClientResponse = await send('GET', page)
      walked.push(...response.json)
      page = nextPage(response)
    }
    const ids = walked.map((delivery) => delivery.id)
    assert.equal(new Set(ids).size, 5)
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => b - a),
    )
  })

  test('belong to one webhook: a cursor or an id of another webhook is rejected', async () => {
    const endpoint = await receiver()
    const [one, two] = [await register(endpoint.url), await register(endpoint.url)]
    for (let n = 0; n < 2; n++) await send('POST', `/v1/webhooks/${one.id}/test`)
    const first = await send('GET', `/v1/webhooks/${one.id}/deliveries?limit=1`)
    const cursor = new URL(nextPage(first) as string, service.base).searchParams.get('cursor')
    const other = await send('GET', `/v1/webhooks/${two.id}/deliveries?cursor=${cursor}`)
    assertError(other, 400, 'invalid_cursor')
    for (const id of [first.json[0].id, 999_999, 'x']) {
      const response = await send('POST', `/v1/webhooks/${two.id}/deliveries/${id}/retry`)
      assertError(response, 404, 'webhook_not_found')
    }
    assert.deepEqual(await deliveries(two.id), [])
  })

  test('can be retried at once: the same message with a new signature', async () => {
    const endpoint = await receiver()
    endpoint.reply = 500
    const { id, secret } = await register(endpoint.url)
    await addPet()
    const first = await endpoint.until(1)
    const [failed] = await eventually('the failure is noted', async () => {
      const found = await deliveries(id)
      return found[0]?.attempts === 1 && found
    })
    endpoint.reply = 200
    service.advance(1_000)
    const response = await send('POST', `/v1/webhooks/${id}/deliveries/${failed.id}/retry`)
    assert.equal(response.status, 202)
    assert.equal(response.json.status, 'pending')
    const second = await endpoint.until(2)
    assert.deepEqual({ id: second.id, body: second.body }, { id: first.id, body: first.body })
    assert.notEqual(second.headers['webhook-timestamp'], first.headers['webhook-timestamp'])
    assert.ok(isSignedWith(secret, second))
    await eventually('it is delivered', async () => {
      const [found] = await deliveries(id)
      return found.status === 'delivered' && found.attempts === 2 && found.lastError === undefined
    })
    await send('POST', `/v1/webhooks/${id}/deliveries/${failed.id}/retry`)
    assert.equal((await endpoint.until(3)).id, first.id, 'also one that was delivered')
  })
})

describe('a webhook', () => {
  test('that is paused queues its messages in order until it is resumed', async () => {
    const endpoint = await receiver()
    const { id } = await register(endpoint.url)
    assert.equal((await change(id, { status: 'paused' })).status, 'paused')
    for (let n = 0; n < 3; n++) await addPet(`waiting ${n}`)
    // A test message has no event and is queued after the existing ones.
    await eventually('they are in line', async () => (await deliveries(id)).length === 3)
    await send('POST', `/v1/webhooks/${id}/test`)
    await untilQuiet()
    assert.equal(endpoint.received.length, 0)
    assert.equal((await deliveries(id)).length, 4)
    assert.equal((await change(id, { status: 'enabled' })).status, 'enabled')
    await endpoint.until(4)
    assert.deepEqual(
      endpoint.received.map(({ data }) => data.name),
      ['waiting 0', 'waiting 1', 'waiting 2', undefined],
    )
  })

  for (const statuses of [['enabled'], ['paused', 'enabled']])
    test(`that was disabled receives only the events after it is ${statuses.join(', then ')}`, async () => {
      const endpoint = await receiver()
      endpoint.reply = 410
      const { id } = await register(endpoint.url)
      await addPet('gone')
      await eventually('it is disabled', async () => (await get(id)).status === 'disabled')
      assert.equal((await get(id)).statusReason, 'The endpoint responded with 410 Gone.')
      endpoint.reply = 204
      await addPet('while disabled')
      await untilQuiet()
      for (const status of statuses) {
        const { statusReason, ...changed } = await change(id, { status })
        assert.deepEqual([changed.status, statusReason], [status, undefined])
      }
      await addPet('after')
      await endpoint.until(2)
      await untilQuiet()
      assert.deepEqual(
        endpoint.received.map(({ data }) => data.name),
        ['gone', 'after'],
      )
    })

  test('that is disabled rejects tests and retries, which would stay pending', async () => {
    const endpoint = await receiver()
    endpoint.reply = 410
    const { id } = await register(endpoint.url)
    await addPet()
    await eventually('it is disabled', async () => (await get(id)).status === 'disabled')
    endpoint.reply = 204
    const before = await deliveries(id)
    const test = `/v1/webhooks/${id}/test`
    const retry = `/v1/webhooks/${id}/deliveries/${before[0].id}/retry`
    for (const path of [test, retry]) assertError(await send('POST', path), 409, 'webhook_disabled')
    assert.deepEqual(await deliveries(id), before)
    await change(id, { status: 'enabled' })
    for (const path of [test, retry]) assert.equal((await send('POST', path)).status, 202)
    await endpoint.until(3)
  })

  test('whose URL and event types change receives the new types at the new URL', async () => {
    const [before, after] = [await receiver(), await receiver()]
    const { id, secret } = await register(before.url)
    const { id: petId } = await addPet()
    await before.until(1)
    const changed = await change(id, { url: after.url, events: ['pet.deleted'] })
    assert.deepEqual([changed.url, changed.events], [after.url, ['pet.deleted']])
    await addPet()
    await send('DELETE', `/v1/pets/${petId}`)
    const message = await after.until(1)
    assert.equal(message.type, 'pet.deleted')
    assert.ok(isSignedWith(secret, message))
    assert.equal(before.received.length, 1)
  })

  test('that is deleted loses its deliveries and receives nothing more', async () => {
    const endpoint = await receiver()
    endpoint.reply = 500
    const { id } = await register(endpoint.url)
    await addPet()
    await endpoint.until(1)
    assert.equal((await send('DELETE', `/v1/webhooks/${id}`)).status, 204)
    service.advance(6_000)
    await addPet()
    await untilQuiet()
    assert.equal(endpoint.received.length, 1)
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/test'],
    ] as const) {
      assertError(await send(method, `/v1/webhooks/${id}${path}`), 404, 'webhook_not_found')
    }
  })

  test('is listed newest first, in pages', async () => {
    const ids = []
    for (let n = 0; n < 5; n++) ids.unshift((await register(example.url)).id)
    const walked: number[] = []
    let page: string | undefined = '/v1/webhooks?limit=2'
    while (page) {
      const response: ClientResponse = await send('GET', page)
      walked.push(...response.json.map(({ id }: { id: number }) => id))
      page = nextPage(response)
    }
    assert.deepEqual(walked, ids)
    assertError(await send('GET', '/v1/webhooks?cursor=x'), 400, 'invalid_cursor')
  })
})

describe('rotation', () => {
  const rotate = async (id: number, body?: unknown) => {
    const { status, json, text } = await send('POST', `/v1/webhooks/${id}/rotate`, { body })
    assert.equal(status, 200, text)
    return json
  }

  test('both secrets sign until the overlap ends, then only the new one', async () => {
    const endpoint = await receiver()
    const { id, secret: old } = await register(endpoint.url)
    const { secret: fresh, ...shown } = await rotate(id, { overlapSeconds: 60 })
    assert.notEqual(fresh, old)
    assert.deepEqual(shown, await get(id))
    service.advance(59_999)
    await addPet()
    const during = await endpoint.until(1)
    assert.ok(isSignedWith(old, during) && isSignedWith(fresh, during))
    service.advance(1)
    await addPet()
    const later = await endpoint.until(2)
    assert.ok(!isSignedWith(old, later) && isSignedWith(fresh, later))
  })

  test('a retry with the same Idempotency-Key returns the same secret and rotates once', async () => {
    const { id } = await register(example.url)
    const options = { headers: { 'idempotency-key': 'rotate-once' } }
    const first = await send('POST', `/v1/webhooks/${id}/rotate`, options)
    const again = await send('POST', `/v1/webhooks/${id}/rotate`, options)
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.equal(again.json.secret, first.json.secret)
  })
})
