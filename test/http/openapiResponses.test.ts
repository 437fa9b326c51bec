import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { eventTypes } from '../../src/events/event.ts'
import type { ClientResponse, RequestOptions } from '../support/client.ts'
import { holdWriteLockOf } from '../support/engine.ts'
import { openEventStream } from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'
import {
  codesOf,
  createValidator,
  type Node,
  operationsOf,
  readDocument,
  resolve,
} from '../support/openapi.ts'
import { bodyOf, sendRaw, statusOf } from '../support/rawSocket.ts'
import { assertSameNames } from '../support/sameNames.ts'
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
  let photo: { body: Uint8Array; headers: Record<string, string> }
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
    photo = { body: await jpeg(32, 32), headers: { 'content-type': 'image/jpeg' } }
    targets = {
      petId: await make('/pets', { name: 'Milo', categoryId: 3 }),
      keyId: (await service.makeKey()).id,
      categoryId: 3,
      orderId: await make('/store/orders', { petId: await make('/pets', { name: 'Rex', categoryId: 3 }) }),
      webhookId,
      deliveryId: await make(`/webhooks/${webhookId}/test`),
    }
    for (const [name, value] of Object.entries(targets)) assert.equal(typeof value, 'number', name)
    targets.photoId = 'x'.repeat(22)
    targets.importId = 'x'.repeat(22)
  })
  after(async () => {
    await service.stop()
    await receiver.stop()
    await receiverOfAll.stop()
  })

  const pathOf = (path: string, params: Record<string, unknown> = {}) =>
    `/v1${path.replace(/\{(\w+)\}/g, (_, name) => String({ ...targets, ...params }[name]))}`

  type Ask = RequestOptions & { params?: Record<string, unknown>; query?: string }
  async function sendRequest(id: string, expected: number, { params, query = '', ...options }: Ask = {}) {
    const { method = '', path = '' } = operations.find(({ operation }) => operation.operationId === id) ?? {}
    const response = await service.request(method, pathOf(path, params) + query, { key, ...options })
    assert.equal(response.status, expected, `${id}: ${response.text}`)
    check(id, response)
    seen.add(`${id} ${response.status}`)
    return response
  }
  const csv = { body: 'name,categoryId,sex\nLuna,3,f\nMilo,3,x', headers: { 'content-type': 'text/csv' } }
  /** The bodies that are not JSON. */
  const files = (): Record<string, Pick<RequestOptions, 'body' | 'headers'>> => ({
    addPetPhoto: photo,
    createImport: csv,
  })
  const strict = { prefer: 'handling=strict' }
  const idempotency = (value: string) => ({ 'idempotency-key': value })
  /** A request with a body that the operation reads. */
  const readable = (id: string, idempotencyKey: string) => {
    const { body, headers } = files()[id] ?? { body: {}, headers: {} }
    return { body, headers: { ...headers, ...strict, ...idempotency(idempotencyKey) } }
  }
  const ids = operations.map(({ operation }) => operation.operationId as string)
  const having = (status: string): string[] =>
    operations
      .filter(({ operation }) => status in operation.responses)
      .map(({ operation }) => operation.operationId)

  test('for pets', async () => {
    const body = { name: 'Luna', categoryId: 3 }
    const { json: luna } = await sendRequest('createPet', 201, { body, headers: idempotency('a') })
    const replayed = await sendRequest('createPet', 201, { body, headers: idempotency('a') })
    assert.equal(replayed.headers['idempotent-replayed'], 'true')
    await sendRequest('createPet', 400, { body: '{' })
    await sendRequest('createPet', 400, { body: {}, headers: idempotency('b') })
    await sendRequest('createPet', 400, { body: {}, headers: idempotency('b') })
    await sendRequest('createPet', 400, { body: { ...body, staus: 'sold' }, headers: strict })
    await sendRequest('createPet', 400, { body: {}, headers: strict })
    const applied = await sendRequest('createPet', 201, { body, headers: strict })
    assert.equal(applied.headers['preference-applied'], 'handling=strict')

    const first = await sendRequest('listPets', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await sendRequest('listPets', 200, { query: '?status=sold' })
    await sendRequest('listPets', 400, { query: '?limit=101' })
    await sendRequest('listPets', 400, { query: '?cursor=nonsense' })

    const params = { petId: luna.id }
    await sendRequest('getPet', 200, { params })
    await sendRequest('getPet', 404, { params: { petId: 999 } })
    await sendRequest('getPet', 404, { params: { petId: 'luna' } })
    await sendRequest('updatePet', 200, { params, body: { status: 'sold' } })
    await sendRequest('updatePet', 409, { params, body: { status: 'pending' } })
    await sendRequest('updatePet', 400, { params, body: { status: 'lost' } })
    await sendRequest('updatePet', 404, { params: { petId: 999 }, body: {} })
    await sendRequest('deletePet', 204, { params })
    await sendRequest('deletePet', 404, { params })
  })

  test('for categories and the inventory', async () => {
    const body = { name: 'Rabbits' }
    const { json: rabbits } = await sendRequest('createCategory', 201, {
      body,
      headers: idempotency('rabbits'),
    })
    await sendRequest('createCategory', 201, { body, headers: idempotency('rabbits') })
    await sendRequest('createCategory', 400, { body: { name: ' ' } })
    await sendRequest('createCategory', 400, { body: '{' })
    const first = await sendRequest('listCategories', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await sendRequest('listCategories', 200)
    await sendRequest('listCategories', 400, { query: '?limit=0' })
    await sendRequest('listCategories', 400, { query: '?cursor=nonsense' })
    const params = { categoryId: rabbits.id }
    await sendRequest('getCategory', 200, { params })
    await sendRequest('getCategory', 200)
    await sendRequest('updateCategory', 200, { params, body: { name: 'Hares' } })
    await sendRequest('updateCategory', 200, { params, body: { name: null } })
    await sendRequest('updateCategory', 400, { params, body: { name: 7 } })
    const { json: hares } = await sendRequest('createCategory', 201, { body: { name: 'Hares' } })
    await sendRequest('createCategory', 409, { body: { name: 'HARES' } })
    await sendRequest('updateCategory', 409, { params, body: { name: 'hares' } })
    await sendRequest('deleteCategory', 204, { params: { categoryId: hares.id } })
    await sendRequest('deleteCategory', 409)
    await sendRequest('deleteCategory', 204, { params })
    for (const id of ['getCategory', 'updateCategory', 'deleteCategory']) {
      await sendRequest(id, 404, { params, ...(id === 'updateCategory' && { body: {} }) })
    }
    await sendRequest('getInventory', 200)
  })

  test('for orders', async () => {
    const { json: otis } = await sendRequest('createPet', 201, { body: { name: 'Otis', categoryId: 3 } })
    const body = {
      petId: otis.id,
      customer: { name: 'Ada Example', email: 'ada@example.com' },
      note: 'has a garden',
    }
    const { json: placed } = await sendRequest('createOrder', 201, { body, headers: idempotency('order') })
    await sendRequest('createOrder', 201, { body, headers: idempotency('order') })
    assert.equal((await sendRequest('createOrder', 409, { body })).json.code, 'pet_unavailable')
    await sendRequest('createOrder', 404, { body: { petId: 999 } })
    await sendRequest('createOrder', 400, { body: { ...body, customer: { name: 'Ada', email: 'nowhere' } } })
    const first = await sendRequest('listOrders', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await sendRequest('listOrders', 200, { query: `?status=placed&petId=${otis.id}` })
    await sendRequest('listOrders', 400, { query: '?status=lost' })
    await sendRequest('listOrders', 400, { query: '?cursor=nonsense' })
    const ofPet = { petId: otis.id }
    const blocked = await sendRequest('updatePet', 409, { params: ofPet, body: { status: 'available' } })
    assert.equal(blocked.json.code, 'pet_has_open_order')
    await sendRequest('deletePet', 409, { params: ofPet })
    const params = { orderId: placed.id }
    await sendRequest('getOrder', 200, { params })
    await sendRequest('updateOrder', 409, { params, body: { status: 'delivered' } })
    await sendRequest('updateOrder', 200, { params, body: { status: 'approved' } })
    await sendRequest('updateOrder', 200, { params, body: { status: 'cancelled' } })
    const again = await sendRequest('createOrder', 201, { body })
    for (const status of ['approved', 'delivered'])
      await sendRequest('updateOrder', 200, { params: { orderId: again.json.id }, body: { status } })
    await sendRequest('updateOrder', 400, { params, body: {} })
    await sendRequest('eraseOrderCustomer', 204, { params })
    await sendRequest('getOrder', 200, { params })
    for (const id of ['getOrder', 'updateOrder', 'eraseOrderCustomer']) {
      const unknown = {
        params: { orderId: 999 },
        ...(id === 'updateOrder' && { body: { status: 'placed' } }),
      }
      await sendRequest(id, 404, unknown)
    }
  })

  test('for profiles, photos and history', async () => {
    const { json: pet } = await sendRequest('createPet', 201, { body: { name: 'Nala', categoryId: 3 } })
    const params = { petId: pet.id }
    const missing = { params: { petId: 999 } }
    const profile = await sendRequest('getPetProfile', 200, { params })
    const etag = String(profile.headers.etag)
    await sendRequest('getPetProfile', 400, { params, query: '?view=x' })
    const body = { species: 'cat', sex: 'female', birthDate: '2024-05-01', externalId: 'A1', fee: null }
    await sendRequest('updatePetProfile', 200, { params, body, headers: { 'if-match': etag } })
    await sendRequest('updatePetProfile', 409, { body: { externalId: 'A1' } })
    await sendRequest('updatePetProfile', 400, { params, body: { sex: 'x' } })
    const { json: added } = await sendRequest('addPetPhoto', 201, { params, ...photo })
    await sendRequest('addPetPhoto', 400, { params, ...photo, body: photo.body.subarray(0, 200) })
    const { json: second } = await sendRequest('addPetPhoto', 201, { params, ...photo })
    await sendRequest('listPetPhotos', 200, { params })
    await sendRequest('listPetPhotos', 400, { params, query: '?view=x' })
    const ofPhoto = { params: { ...params, photoId: added.id } }
    await sendRequest('updatePetPhoto', 200, { ...ofPhoto, body: { alt: 'A cat', position: 1 } })
    await sendRequest('updatePetPhoto', 400, { ...ofPhoto, body: { position: -1 } })
    await sendRequest('removePetPhoto', 204, { params: { ...params, photoId: second.id } })
    await sendRequest('listPetHistory', 200, { params })
    const page = await sendRequest('listPetHistory', 200, { params, query: '?limit=1' })
    assert.match(String(page.headers.link), /rel="next"/)
    await sendRequest('listPetHistory', 400, { params, query: '?limit=x' })
    for (const id of ['getPetProfile', 'listPetPhotos', 'removePetPhoto', 'listPetHistory', 'getListing'])
      await sendRequest(id, 404, missing)
    await sendRequest('updatePetProfile', 404, { ...missing, body: {} })
    await sendRequest('updatePetPhoto', 404, { ...missing, body: {} })
    await sendRequest('addPetPhoto', 404, { ...missing, ...photo })
  })

  test('for listings', async () => {
    const first = await sendRequest('listListings', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await sendRequest('listListings', 200, { query: '?view=staff&listed=any' })
    await sendRequest('listListings', 400, { query: '?sex=x' })
    await sendRequest('listListings', 400, { query: '?cursor=nonsense' })
    await sendRequest('getListing', 200)
    await sendRequest('getListing', 400, { query: '?view=x' })
  })

  test('for the store profile', async () => {
    const etag = String((await sendRequest('getStoreProfile', 200)).headers.etag)
    const body = { name: 'Second Chance', url: 'https://shelter.example', adoptionPage: true }
    await sendRequest('updateStoreProfile', 200, { body, headers: { 'if-match': etag } })
    await sendRequest('updateStoreProfile', 400, { body: { url: 'shelter.example' } })
  })

  test('for events', async () => {
    await sendRequest('listEvents', 200)
    const page = await sendRequest('listEvents', 200, { query: '?after=0&limit=1' })
    assert.match(String(page.headers.link), /rel="next"/)
    await sendRequest('listEvents', 400, { query: '?after=now' })
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
    const { json: made } = await sendRequest('createWebhook', 201, { body, headers: idempotency('webhook') })
    await sendRequest('createWebhook', 201, { body, headers: idempotency('webhook') })
    await sendRequest('createWebhook', 201, {
      body: { url: 'https://shelter.example/hook', events: ['pet.deleted'] },
    })
    await sendRequest('createWebhook', 400, { body: { ...body, url: 'http://192.0.2.1/' } })
    await sendRequest('createWebhook', 400, { body: { ...body, events: [] } })
    const first = await sendRequest('listWebhooks', 200, { query: '?limit=1' })
    assert.match(String(first.headers.link), /rel="next"/)
    await sendRequest('listWebhooks', 400, { query: '?limit=x' })
    await sendRequest('listWebhooks', 400, { query: '?cursor=nonsense' })
    const params = { webhookId: made.id }
    await sendRequest('getWebhook', 200, { params })
    await sendRequest('updateWebhook', 200, { params, body: { status: 'paused', events: ['pet.updated'] } })
    await sendRequest('updateWebhook', 400, { params, body: { status: 'disabled' } })
    await sendRequest('rotateWebhookSecret', 200, { params })
    await sendRequest('rotateWebhookSecret', 200, { params, body: { overlapSeconds: 60 } })
    await sendRequest('rotateWebhookSecret', 400, { params, body: { overlapSeconds: -1 } })
    await sendRequest('testWebhook', 202, { params })
    await sendRequest('testWebhook', 400, { params, headers: idempotency('two words') })
    const { json: tested } = await sendRequest('testWebhook', 202)
    await eventually('a delivery has ended', async () => {
      const { json } = await sendRequest('listDeliveries', 200)
      return json.find((delivery: { id: number }) => delivery.id === tested.id).status === 'delivered'
    })
    const page = await sendRequest('listDeliveries', 200, { query: '?limit=1' })
    assert.match(String(page.headers.link), /rel="next"/)
    await sendRequest('listDeliveries', 400, { query: '?limit=x' })
    await sendRequest('listDeliveries', 400, { query: '?cursor=nonsense' })
    await sendRequest('retryDelivery', 202, { params: { deliveryId: tested.id } })
    await sendRequest('retryDelivery', 400, { headers: idempotency('two words') })
    await sendRequest('retryDelivery', 404, { params: { deliveryId: 999 } })
    await sendRequest('deleteWebhook', 204, { params })
    const ofOne = ids.filter((id) => id.includes('Webhook') && !/^(list|create)/.test(id))
    for (const id of [...ofOne, 'listDeliveries', 'retryDelivery']) {
      await sendRequest(id, 404, { params, ...(id === 'updateWebhook' && { body: {} }) })
    }
  })

  test('for limits and keys', async () => {
    await sendRequest('getLimits', 200)
    const body = {
      name: 'Web site',
      plan: 'enterprise',
      limits: { perDay: 5 },
      expiresAt: '2030-01-01T00:00:00Z',
    }
    const { json: made } = await sendRequest('createKey', 201, { body })
    const params = { keyId: made.id }
    await sendRequest('createKey', 400, { body: { name: '' } })
    await sendRequest('listKeys', 200, { query: '?limit=1' })
    await sendRequest('listKeys', 200)
    await sendRequest('listKeys', 400, { query: '?limit=x' })
    await sendRequest('getKey', 200, { params })
    await sendRequest('updateKey', 200, { params, body: { plan: 'pro', limits: null, expiresAt: null } })
    await sendRequest('updateKey', 400, { params, body: { plan: 'gold' } })
    await sendRequest('rotateKey', 200, { params, body: { overlapSeconds: 60 } })
    await sendRequest('rotateKey', 200, { params })
    await sendRequest('rotateKey', 400, { params, body: { overlapSeconds: -1 } })
    await sendRequest('liftKeyBan', 204, { params })
    await sendRequest('revokeKey', 204, { params })
    assert.equal((await sendRequest('rotateKey', 409, { params })).json.code, 'illegal_transition')
    await sendRequest('getKey', 200, { params })
    await sendRequest('getKeyUsage', 200, { params })
    await sendRequest('getKeyLimits', 200, { params })
    await sendRequest('getUsage', 200)
    await sendRequest('listAuditEntries', 200)
    await sendRequest('listAuditEntries', 400, { query: '?limit=x' })
    for (const id of [
      'getKey',
      'getKeyUsage',
      'getKeyLimits',
      'updateKey',
      'revokeKey',
      'rotateKey',
      'liftKeyBan',
    ]) {
      await sendRequest(id, 404, { params: { keyId: 999 }, ...(id === 'updateKey' && { body: {} }) })
    }
  })

  test('for imports', async () => {
    const { json: created } = await sendRequest('createImport', 201, csv)
    assert.deepEqual([created.animals.length, created.wrongLines.length], [1, 1])
    await sendRequest('createImport', 409, csv)
    await sendRequest('createImport', 400, { ...csv, query: '?dateOrder=x' })
    await sendRequest('listImports', 200)
    const params = { importId: created.id }
    await sendRequest('getImport', 200, { params })
    await sendRequest('applyImport', 202, { params })
    await sendRequest('applyImport', 400, { params, headers: idempotency('two words') })
    await sendRequest('deleteImport', 204, { params })
    for (const id of ['getImport', 'applyImport', 'deleteImport']) await sendRequest(id, 404, { params })
  })

  test('for conditional requests', async () => {
    for (const id of having('304')) {
      const found = await sendRequest(id, 200)
      await sendRequest(id, 304, { headers: { 'if-none-match': String(found.headers.etag) } })
    }
    const { json: added } = await sendRequest('addPetPhoto', 201, photo)
    const { json: unused } = await sendRequest('createCategory', 201, { body: { name: 'Fish' } })
    for (const id of having('412'))
      await sendRequest(id, 412, {
        params: { photoId: added.id, categoryId: unused.id },
        body: id === 'updateOrder' ? { status: 'approved' } : {},
        headers: { 'if-match': '"other"', ...strict },
      })
  })

  test('for invalid bodies and reused idempotency keys', async () => {
    const large = ' '.repeat(257 * 1024)
    const largeFile = Buffer.alloc(20 * 1024 * 1024 + 1)
    for (const id of having('413')) {
      const file = files()[id]
      await sendRequest(id, 413, file ? { ...file, body: largeFile } : { body: large, headers: strict })
    }
    for (const id of having('415')) {
      await sendRequest(id, 415, { body: 'name=Milo', headers: { 'content-type': 'text/plain', ...strict } })
    }
    await sendRequest('createPet', 201, {
      body: { name: 'Milo', categoryId: 1 },
      headers: idempotency('taken'),
    })
    for (const id of having('422')) await sendRequest(id, 422, readable(id, 'taken'))
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
        const send = () => service.request('POST', pathOf(path), { key, ...readable(id, `together-${id}`) })
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
    const withoutScopes = await service.makeKey({ scopes: [] })
    for (const id of ids) {
      // One minute each, because of the rate limit of the address.
      service.advance(minuteMs)
      await sendRequest(id, 401, { key: undefined })
      await sendRequest(id, 401, { key: 'nonsense' })
      await sendRequest(id, 403, { key: publishable.key, headers: strict })
      await sendRequest(id, id === 'getLimits' ? 200 : 403, { key: withoutScopes.key })
    }
  })

  test('for rate limits and bans', async () => {
    service.advance(minuteMs)
    const busy = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    await sendRequest('listPets', 200, { key: busy.key })
    const paid = ids.filter((id) => id !== 'getLimits')
    const codes = new Set<string>()
    while (codes.size < 2) {
      for (const id of paid) codes.add((await sendRequest(id, 429, { key: busy.key })).json.code)
    }
    assert.deepEqual([...codes], ['rate_limit_exceeded', 'key_banned'])
    await sendRequest('getLimits', 200, { key: busy.key })
    const anonymous = Array.from({ length: 100 }, () => service.request('GET', '/v1/pets'))
    for (const response of await Promise.all(anonymous)) check('listPets', response)
    await sendRequest('getLimits', 429, { key: busy.key })
  })

  test('for every type of event, in the feed and in webhooks', async () => {
    const typesOf = (all: readonly { type: string }[]) => new Set(all.map(({ type }) => type))
    const isComplete = (types: ReadonlySet<string>) => eventTypes.every((type) => types.has(type))
    const inFeed = async () =>
      typesOf((await sendRequest('listEvents', 200, { query: '?after=0&limit=1000' })).json)
    const received = () => typesOf(receiverOfAll.received)
    // If a type does not come, the comparison names it.
    await eventually('every type', async () => isComplete(await inFeed())).catch(() => {})
    assertSameNames('The event types that the requests of this test cause', await inFeed(), eventTypes)
    await eventually('every type', () => isComplete(received())).catch(() => {})
    assertSameNames('The event types of the messages', received(), [...eventTypes, 'webhook.test'])
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

  test('for expired events', async () => {
    service.advance(monthMs)
    await eventually('the events are pruned', async () => {
      const { status } = await service.request('GET', '/v1/events?after=0', { key })
      return status === 410
    })
    const expired = await sendRequest('listEvents', 410, { query: '?after=0' })
    assert.match(String(expired.headers.link), /rel="next"/)
  })

  test('for getPet after its sunset', async () => {
    service.advance(Date.UTC(2030, 11, 5) - service.now())
    await sendRequest('getPet', 410)
  })

  // openapiTimeouts.slow.test.ts checks the 408.
  test('for every documented response except server errors', () => {
    const described = operations.flatMap(({ operation }) =>
      Object.keys(operation.responses).map((status) => `${operation.operationId} ${status}`),
    )
    const missing = described.filter((pair) => !seen.has(pair) && !/ (408|500|503)$/.test(pair))
    assert.deepEqual(missing, [], `This test causes no such response: ${missing.join(', ')}.`)
  })
})
