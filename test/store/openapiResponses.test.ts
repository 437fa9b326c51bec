import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { eventTypes } from '../../src/events/event.ts'
import type { ClientResponse, RequestOptions } from '../support/client.ts'
import { holdWriteLockOf } from '../support/engine.ts'
import { openEventStream } from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import {
  codesOf,
  createValidator,
  type Node,
  operationsOf,
  readDocument,
  resolve,
} from '../support/openapi.ts'
import { bodyOf, sendRaw, statusOf } from '../support/rawSocket.ts'
import { startTestService } from '../support/service.ts'
import {
  loopbackAllowed,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhookReceiver.ts'

const minuteMs = 60_000
const monthMs = 31 * 24 * 60 * 60 * 1000

const document = readDocument('openapi.json')
const operations = operationsOf(document)
const problemsOf = createValidator(document)

/** Headers of HTTP itself, which OpenAPI documents do not list. */
const plainHeaders =
  /^(date|connection|keep-alive|content-type|content-length|transfer-encoding|cache-control|vary|x-content-type-options)$/

/** Checks a response against the document: status, body, and headers in both directions. */
function check(id: string, { status, headers, json, text }: ClientResponse): void {
  const { operation } = operations.find((candidate) => candidate.operation.operationId === id) ?? {}
  const at = `${id} ${status} ${json?.code ?? ''}`
  const response = resolve(document, operation?.responses[String(status)])
  assert.ok(response, `${at} is not described: ${text}`)
  const described = response.content?.['application/json']
  if (described === undefined) assert.equal(text, '', `${at} has a body.`)
  else assert.equal(problemsOf(described.schema, json), '', `${at}: ${text}`)
  if (status >= 400) {
    assert.equal(json.status, status)
    const codes = codesOf(document, operation as Node, String(status))
    assert.ok(codes.includes(json.code), `${at} is not among the described codes.`)
  }
  for (const [name, node] of Object.entries(response.headers)) {
    const { required, schema } = resolve(document, node as object)
    const sent = headers[name.toLowerCase()] as string | undefined
    if (sent === undefined) assert.ok(!required, `${at} lacks the header ${name}.`)
    else
      assert.equal(problemsOf(schema, schema.type === 'integer' ? Number(sent) : sent), '', `${at}: ${name}`)
  }
  const known = Object.keys(response.headers).map((name) => name.toLowerCase())
  for (const name of Object.keys(headers)) {
    assert.ok(plainHeaders.test(name) || known.includes(name), `${at} has ${name}, which is not described.`)
  }
}

describe('the responses of the service match the document', () => {
  let service: Awaited<ReturnType<typeof startTestService>>
  let key: string
  let receiver: WebhookReceiver
  /** Receives all messages. */
  let receiverOfAll: WebhookReceiver
  /** The default path parameters. */
  let targets: Record<string, unknown>
  /** Every pair of operation and status that was checked. */
  const seen = new Set<string>()
  before(async () => {
    service = await startTestService(
      { ...loopbackAllowed, PETSTORE_BAN_AFTER_REFUSALS: '50' },
      { bounds: { sweepMs: 50 } },
    )
    receiver = await startWebhookReceiver()
    receiverOfAll = await startWebhookReceiver()
    key = service.operatorKey
    const make = async (path: string, body?: unknown) =>
      (await service.request('POST', `/v1${path}`, { key, body })).json.id
    const { id: webhookOfAll } = await registerWebhook(service, receiverOfAll.url, [...eventTypes])
    await make(`/webhooks/${webhookOfAll}/test`)
    const { id: webhookId } = await registerWebhook(service, receiver.url, ['order.placed'])
    targets = {
      petId: await make('/pets', { name: 'Milo', categoryId: 3 }),
      keyId: (await service.makeKey()).id,
      categoryId: 3,
      orderId: await make('/store/orders', { petId: await make('/pets', { name: 'Rex', categoryId: 3 }) }),
      webhookId,
      deliveryId: await make(`/webhooks/${webhookId}/test`),
    }
    for (const [name, value] of Object.entries(targets)) assert.equal(typeof value, 'number', name)
  })
  after(async () => {
    await service.stop()
    await receiver.stop()
    await receiverOfAll.stop()
  })

  const pathOf = (path: string, params: Record<string, unknown> = {}) =>
    `/v1${path.replace(/\{(\w+)\}/g, (_, name) => String({ ...targets, ...params }[name]))}`

  type Ask = RequestOptions & { params?: Record<string, unknown>; query?: string }
  async function ask(id: string, expected: number, { params, query = '', ...options }: Ask = {}) {
    const { method = '', path = '' } = operations.find(({ operation }) => operation.operationId === id) ?? {}
    const response = await service.request(method, pathOf(path, params) + query, { key, ...options })
    assert.equal(response.status, expected, `${id}: ${response.text}`)
    check(id, response)
    seen.add(`${id} ${response.status}`)
    return response
  }
  const idempotency = (value: string) => ({ 'idempotency-key': value })
  const ids = operations.map(({ operation }) => operation.operationId as string)
  const having = (status: string) =>
    operations
      .filter(({ operation }) => status in operation.responses)
      .map(({ operation }) => operation.operationId)

  test('for pets', async () => {
    const body = { name: 'Luna', categoryId: 3 }
    const { json: luna } = await ask('createPet', 201, { body, headers: idempotency('a') })
    const replayed = await ask('createPet', 201, { body, headers: idempotency('a') })
    assert.equal(replayed.headers['idempotent-replayed'], 'true')
    await ask('createPet', 400, { body: '{' })
    await ask('createPet', 400, { body: {}, headers: idempotency('b') })
    await ask('createPet', 400, { body: {}, headers: idempotency('b') })
    const strict = { prefer: 'handling=strict' }
    await ask('createPet', 400, { body: { ...body, staus: 'sold' }, headers: strict })
    await ask('createPet', 400, { body: {}, headers: strict })
    const applied = await ask('createPet', 201, { body, headers: strict })
    assert.equal(applied.headers['preference-applied'], 'handling=strict')

    const first = await ask('listPets', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await ask('listPets', 304, {
      query: '?limit=1',
      headers: { 'if-none-match': String(first.headers.etag) },
    })
    await ask('listPets', 200, { query: '?status=sold' })
    await ask('listPets', 400, { query: '?limit=101' })
    await ask('listPets', 400, { query: '?cursor=nonsense' })

    const params = { petId: luna.id }
    const found = await ask('getPet', 200, { params })
    await ask('getPet', 304, { params, headers: { 'if-none-match': String(found.headers.etag) } })
    await ask('getPet', 404, { params: { petId: 999 } })
    await ask('getPet', 404, { params: { petId: 'luna' } })
    await ask('updatePet', 200, { params, body: { status: 'sold' } })
    await ask('updatePet', 409, { params, body: { status: 'pending' } })
    await ask('updatePet', 400, { params, body: { status: 'lost' } })
    await ask('updatePet', 404, { params: { petId: 999 }, body: {} })
    await ask('updatePet', 412, { params, body: {}, headers: { 'if-match': '"other"' } })
    await ask('deletePet', 412, { params, headers: { 'if-match': '"other"' } })
    await ask('deletePet', 204, { params })
    await ask('deletePet', 404, { params })
  })

  test('for categories and the inventory', async () => {
    const body = { name: 'Rabbits' }
    const { json: rabbits } = await ask('createCategory', 201, { body, headers: idempotency('rabbits') })
    await ask('createCategory', 201, { body, headers: idempotency('rabbits') })
    await ask('createCategory', 400, { body: { name: ' ' } })
    await ask('createCategory', 400, { body: '{' })
    const first = await ask('listCategories', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await ask('listCategories', 200)
    await ask('listCategories', 400, { query: '?limit=0' })
    await ask('listCategories', 400, { query: '?cursor=nonsense' })
    const params = { categoryId: rabbits.id }
    await ask('getCategory', 200, { params })
    await ask('getCategory', 200)
    await ask('updateCategory', 200, { params, body: { name: 'Hares' } })
    await ask('updateCategory', 200, { params, body: { name: null } })
    await ask('updateCategory', 400, { params, body: { name: 7 } })
    await ask('deleteCategory', 409)
    await ask('deleteCategory', 204, { params })
    for (const id of ['getCategory', 'updateCategory', 'deleteCategory']) {
      await ask(id, 404, { params, ...(id === 'updateCategory' && { body: {} }) })
    }
    await ask('getInventory', 200)
  })

  test('for orders', async () => {
    const { json: otis } = await ask('createPet', 201, { body: { name: 'Otis', categoryId: 3 } })
    const body = {
      petId: otis.id,
      customer: { name: 'Ada Example', email: 'ada@example.com' },
      note: 'has a garden',
    }
    const { json: placed } = await ask('createOrder', 201, { body, headers: idempotency('order') })
    await ask('createOrder', 201, { body, headers: idempotency('order') })
    assert.equal((await ask('createOrder', 409, { body })).json.code, 'pet_unavailable')
    await ask('createOrder', 404, { body: { petId: 999 } })
    await ask('createOrder', 400, { body: { ...body, customer: { name: 'Ada', email: 'nowhere' } } })
    const first = await ask('listOrders', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await ask('listOrders', 200, { query: `?status=placed&petId=${otis.id}` })
    await ask('listOrders', 400, { query: '?status=lost' })
    await ask('listOrders', 400, { query: '?cursor=nonsense' })
    const ofPet = { petId: otis.id }
    const blocked = await ask('updatePet', 409, { params: ofPet, body: { status: 'available' } })
    assert.equal(blocked.json.code, 'pet_has_open_order')
    await ask('deletePet', 409, { params: ofPet })
    const params = { orderId: placed.id }
    await ask('getOrder', 200, { params })
    await ask('updateOrder', 409, { params, body: { status: 'delivered' } })
    await ask('updateOrder', 200, { params, body: { status: 'approved' } })
    await ask('updateOrder', 200, { params, body: { status: 'cancelled' } })
    const again = await ask('createOrder', 201, { body })
    for (const status of ['approved', 'delivered'])
      await ask('updateOrder', 200, { params: { orderId: again.json.id }, body: { status } })
    await ask('updateOrder', 400, { params, body: {} })
    await ask('eraseOrderCustomer', 204, { params })
    await ask('getOrder', 200, { params })
    for (const id of ['getOrder', 'updateOrder', 'eraseOrderCustomer']) {
      const unknown = {
        params: { orderId: 999 },
        ...(id === 'updateOrder' && { body: { status: 'placed' } }),
      }
      await ask(id, 404, unknown)
    }
  })

  test('for events', async () => {
    await ask('listEvents', 200)
    const page = await ask('listEvents', 200, { query: '?after=0&limit=1' })
    assert.match(String(page.headers.link), /rel="next"/)
    await ask('listEvents', 400, { query: '?after=now' })
    const { headers, status, ...stream } = await openEventStream(service.base, {
      key,
      path: '/v1/events?after=0',
    })
    const { content } = resolve(document, document.paths['/events'].get.responses['200'])
    assert.ok(content['text/event-stream'])
    assert.match(String(headers['content-type']), /^text\/event-stream/)
    const [first] = await stream.until(1)
    stream.disconnect()
    assert.equal(status, 200)
    assert.equal(first?.id, page.json[0].id)
  })

  test('for webhooks and deliveries', async () => {
    const body = { url: receiver.url, events: ['pet.created', 'key.created'] }
    const { json: made } = await ask('createWebhook', 201, { body, headers: idempotency('webhook') })
    await ask('createWebhook', 201, { body, headers: idempotency('webhook') })
    await ask('createWebhook', 201, {
      body: { url: 'https://shelter.example/hook', events: ['pet.deleted'] },
    })
    await ask('createWebhook', 400, { body: { ...body, url: 'http://192.0.2.1/' } })
    await ask('createWebhook', 400, { body: { ...body, events: [] } })
    const first = await ask('listWebhooks', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await ask('listWebhooks', 400, { query: '?limit=x' })
    await ask('listWebhooks', 400, { query: '?cursor=nonsense' })
    const params = { webhookId: made.id }
    await ask('getWebhook', 200, { params })
    await ask('updateWebhook', 200, { params, body: { status: 'paused', events: ['pet.updated'] } })
    await ask('updateWebhook', 400, { params, body: { status: 'disabled' } })
    await ask('rotateWebhookSecret', 200, { params })
    await ask('rotateWebhookSecret', 200, { params, body: { overlapSeconds: 60 } })
    await ask('rotateWebhookSecret', 400, { params, body: { overlapSeconds: -1 } })
    await ask('testWebhook', 202, { params })
    await ask('testWebhook', 400, { params, headers: idempotency('two words') })
    const { json: tested } = await ask('testWebhook', 202)
    await eventually('a delivery has ended', async () => {
      const { json } = await ask('listDeliveries', 200)
      return json.find((delivery: { id: number }) => delivery.id === tested.id).status === 'delivered'
    })
    const page = await ask('listDeliveries', 200, { query: '?limit=1' })
    assert.match(String(page.headers.link), /rel="next"/)
    await ask('listDeliveries', 400, { query: '?limit=x' })
    await ask('listDeliveries', 400, { query: '?cursor=nonsense' })
    await ask('retryDelivery', 202, { params: { deliveryId: tested.id } })
    await ask('retryDelivery', 400, { headers: idempotency('two words') })
    await ask('retryDelivery', 404, { params: { deliveryId: 999 } })
    await ask('deleteWebhook', 204, { params })
    const ofOne = ids.filter((id) => id.includes('Webhook') && !/^(list|create)/.test(id))
    for (const id of [...ofOne, 'listDeliveries', 'retryDelivery']) {
      await ask(id, 404, { params, ...(id === 'updateWebhook' && { body: {} }) })
    }
  })

  test('for limits and keys', async () => {
    await ask('getLimits', 200)
    const body = {
      name: 'Web site',
      plan: 'enterprise',
      limits: { perDay: 5 },
      expiresAt: '2030-01-01T00:00:00Z',
    }
    const { json: made } = await ask('createKey', 201, { body })
    const params = { keyId: made.id }
    await ask('createKey', 400, { body: { name: '' } })
    await ask('listKeys', 200, { query: '?limit=1' })
    await ask('listKeys', 200)
    await ask('listKeys', 400, { query: '?limit=x' })
    await ask('getKey', 200, { params })
    await ask('updateKey', 200, { params, body: { plan: 'pro', limits: null, expiresAt: null } })
    await ask('updateKey', 400, { params, body: { plan: 'gold' } })
    await ask('rotateKey', 200, { params, body: { overlapSeconds: 60 } })
    await ask('rotateKey', 200, { params })
    await ask('rotateKey', 400, { params, body: { overlapSeconds: -1 } })
    await ask('liftKeyBan', 204, { params })
    await ask('revokeKey', 204, { params })
    assert.equal((await ask('rotateKey', 409, { params })).json.code, 'illegal_transition')
    await ask('getKey', 200, { params })
    for (const id of ['getKey', 'updateKey', 'revokeKey', 'rotateKey', 'liftKeyBan']) {
      await ask(id, 404, { params: { keyId: 999 }, ...(id === 'updateKey' && { body: {} }) })
    }
  })

  test('for invalid bodies and reused idempotency keys', async () => {
    const large = ' '.repeat(65 * 1024)
    for (const id of having('413')) await ask(id, 413, { body: large })
    for (const id of having('415')) {
      await ask(id, 415, { body: 'name=Milo', headers: { 'content-type': 'text/plain' } })
    }
    await ask('createPet', 201, { body: { name: 'Milo', categoryId: 1 }, headers: idempotency('taken') })
    for (const id of having('422')) await ask(id, 422, { body: {}, headers: idempotency('taken') })
  })

  test('for retries during the first request', async () => {
    // Another writer holds the lock, so the first request stays in progress.
    let released: Promise<void> | undefined
    const other = await holdWriteLockOf(service.databaseEnv)
    try {
      const retried = operations.filter(({ method }) => method === 'POST').map(({ operation }) => operation)
      assert.deepEqual(
        retried.filter(({ responses }) => !('409' in responses)),
        [],
      )
      const firsts = retried.map(async ({ operationId: id }) => {
        const { path = '' } = operations.find(({ operation }) => operation.operationId === id) ?? {}
        const send = () =>
          service.request('POST', pathOf(path), { key, body: {}, headers: idempotency(`together-${id}`) })
        const both = [send(), send()]
        const retry = await Promise.race(both)
        assert.equal(retry.json.code, 'idempotency_in_progress', `${id}: ${retry.text}`)
        check(id, retry)
        seen.add(`${id} 409`)
        return { id, both }
      })
      const started = await Promise.all(firsts)
      released = other.release()
      await released
      for (const { id, both } of started) for (const response of await Promise.all(both)) check(id, response)
    } finally {
      if (!released) await other.release()
    }
  })

  test('for missing access', async () => {
    const publishable = await service.makeKey({ origins: ['https://shelter.example'] })
    const poor = await service.makeKey({ scopes: [] })
    for (const id of ids) {
      // One minute each, because of the rate limit of the address.
      service.advance(minuteMs)
      await ask(id, 401, { key: undefined })
      await ask(id, 401, { key: 'nonsense' })
      await ask(id, 403, { key: publishable.key })
      await ask(id, id === 'getLimits' ? 200 : 403, { key: poor.key })
    }
  })

  test('for rate limits and bans', async () => {
    service.advance(minuteMs)
    const busy = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    await ask('listPets', 200, { key: busy.key })
    const paid = ids.filter((id) => id !== 'getLimits')
    const codes = new Set<string>()
    while (codes.size < 2) {
      for (const id of paid) codes.add((await ask(id, 429, { key: busy.key })).json.code)
    }
    assert.deepEqual([...codes], ['rate_limit_exceeded', 'key_banned'])
    await ask('getLimits', 200, { key: busy.key })
    const anonymous = Array.from({ length: 100 }, () => service.request('GET', '/v1/pets'))
    for (const response of await Promise.all(anonymous)) check('listPets', response)
    await ask('getLimits', 429, { key: busy.key })
  })

  test('for every type of event, in the feed and in webhooks', async () => {
    const typesOf = (all: readonly { type: string }[]) => [...new Set(all.map(({ type }) => type))].sort()
    await eventually('every type is in the feed', async () => {
      const { json } = await ask('listEvents', 200, { query: '?after=0&limit=1000' })
      return typesOf(json).join() === eventTypes.toSorted().join()
    })
    const expected = [...eventTypes, 'webhook.test'].sort().join()
    await eventually('a message of every type was received', async () => {
      return typesOf(receiverOfAll.received).join() === expected
    })
    const { parameters, requestBody } = document.webhooks.event.post
    for (const { type, body, headers } of receiverOfAll.received) {
      const { schema } = requestBody.content['application/json']
      assert.equal(problemsOf(schema, JSON.parse(body)), '', `${type}: ${body}`)
      for (const { name, schema } of parameters as Node[]) {
        const value = schema.type === 'integer' ? Number(headers[name]) : headers[name]
        assert.equal(problemsOf(schema, value), '', `${type}: ${name}`)
      }
    }
  })

  test('for requests that are not valid HTTP', async () => {
    for (const { method, path, operation } of operations) {
      const id = operation.operationId
      const raw = await sendRaw(
        service.base,
        `${method} ${pathOf(path)} HTTP/1.1\r\nHost: a@b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      )
      assert.equal(statusOf(raw), 400, `${id}: ${raw}`)
      const response = resolve(document, operation.responses['400'])
      const body = JSON.parse(bodyOf(raw))
      assert.equal(problemsOf(response.content['application/json'].schema, body), '', id)
      assert.ok(codesOf(document, operation, '400').includes(body.code), `${id} lacks ${body.code}.`)
      seen.add(`${id} 400`)
    }
  })

  test('for events that are no longer kept', async () => {
    service.advance(monthMs)
    await eventually('the events are pruned', async () => {
      const { status } = await service.request('GET', '/v1/events?after=0', { key })
      return status === 410
    })
    const expired = await ask('listEvents', 410, { query: '?after=0' })
    assert.match(String(expired.headers.link), /rel="next"/)
  })

  test('for getPet after its sunset', async () => {
    service.advance(Date.UTC(2030, 11, 5) - service.now())
    await ask('getPet', 410)
  })

  test('for every documented response except server errors', () => {
    const described = operations.flatMap(({ operation }) =>
      Object.keys(operation.responses).map((status) => `${operation.operationId} ${status}`),
    )
    const missing = described.filter((pair) => !seen.has(pair) && !/ (500|503)$/.test(pair))
    assert.deepEqual(missing, [])
  })
})
