import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { headersOf, Petstore, type PetstoreOptions, type RequestOptions } from '../../client/src/index.ts'
import { clientOf } from '../support/petstoreClient.ts'
import { sendJson, startScriptedServer } from '../support/scriptedServer.ts'
import { useService } from '../support/useService.ts'

const service = useService()
const create = (options?: unknown) => () => new Petstore(options as PetstoreOptions)
const [baseUrl, apiKey] = ['http://test', 'a-key']

describe('the options of the client', () => {
  test('a missing one is named', () => {
    for (const [options, name] of [
      [undefined, 'baseUrl'],
      [null, 'baseUrl'],
      [{}, 'baseUrl'],
      [{ apiKey }, 'baseUrl'],
      [{ baseUrl: undefined, apiKey }, 'baseUrl'],
      [{ baseUrl: '', apiKey }, 'baseUrl'],
      [{ baseUrl }, 'apiKey'],
      [{ baseUrl, apiKey: undefined }, 'apiKey'],
      [{ baseUrl, apiKey: '' }, 'apiKey'],
    ] as const)
      assert.throws(create(options), { name: 'TypeError', message: new RegExp(`^${name} is missing\\.`) })
  })

  test('a wrong address is an error that does not contain it', () => {
    const keys = ['ps_live_secret', 'ps_test_secret', 'secret-of-the-operator', 'secret:with/a+colon']
    const addresses = ['test', 'localhost:8080', 'ftp://test', '//test', '/\\test', 'http://', 7]
    // The value can be a key, so the message does not have it.
    const message = 'baseUrl must be an address such as https://pets.example/v1.'
    for (const wrong of [...addresses, ...keys, '/v1'])
      assert.throws(create({ baseUrl: wrong, apiKey }), { name: 'TypeError', message })
    // A web page has an address that others can be relative to. A key must not become a part of one.
    Object.assign(globalThis, { location: { href: 'https://shelter.example/page' } })
    try {
      for (const wrong of [...addresses, ...keys])
        assert.throws(create({ baseUrl: wrong, apiKey }), { name: 'TypeError', message })
      create({ baseUrl: '/v1', apiKey })()
    } finally {
      Reflect.deleteProperty(globalThis, 'location')
    }
  })

  test('numbers that cannot work are errors, in the client and in a request', async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, (_request, response) =>
      sendJson(response, 200, {}),
    )
    for (const name of ['timeoutMs', 'maxRetries', 'maxWaitMs'])
      for (const value of [-1, Number.NaN, '5', null])
        assert.throws(create({ baseUrl, apiKey, [name]: value }), {
          name: 'RangeError',
          message: new RegExp(name),
        })
    for (const name of ['timeoutMs', 'maxRetries'])
      for (const value of [-1, Number.NaN, '5'])
        await assert.rejects(storeWith().inventory.get({ [name]: value } as RequestOptions), {
          name: 'RangeError',
          message: new RegExp(name),
        })
    assert.deepEqual(requests, [])
    await storeWith({ maxRetries: 0, maxWaitMs: 0 }).inventory.get({ timeoutMs: Number.POSITIVE_INFINITY })
  })

  test('undefined means the default', async () => {
    const store = clientOf(service, {
      timeoutMs: undefined,
      maxRetries: undefined,
      maxConcurrent: undefined,
      maxWaitMs: undefined,
      throttle: undefined,
      fetch: undefined,
    })
    await store.inventory.get({ timeoutMs: undefined, maxRetries: undefined, headers: undefined })
  })

  test('ifMatch can be null or undefined: the change then has no condition', async () => {
    const store = clientOf(service)
    const { id } = await store.pets.create({ name: 'Luna', categoryId: 3 })
    for (const ifMatch of [null, undefined])
      assert.equal((await store.pets.update(id, { name: 'Luna' }, { ifMatch })).id, id)
    await store.pets.delete(id, { ifMatch: null })
  })

  test('ifMatch is the condition of a change of a category, too', async () => {
    const store = clientOf(service)
    const created = await store.categories.create({ name: 'Rabbits' })
    const ifMatch = headersOf(created).get('etag')
    assert.match(ifMatch ?? '', /^"/)
    const { categories } = store
    const renamed = await categories.update(created.id, { name: 'Hares' }, { ifMatch })
    const isRejected = { status: 412, code: 'precondition_failed' }
    await assert.rejects(categories.update(created.id, { name: 'Mice' }, { ifMatch }), isRejected)
    await assert.rejects(categories.delete(created.id, { ifMatch }), isRejected)
    assert.deepEqual(await categories.get(created.id), renamed)
    await categories.delete(created.id, { ifMatch: headersOf(renamed).get('etag') })
    await assert.rejects(categories.get(created.id), { code: 'category_not_found' })
  })
})

describe('a filter', () => {
  test('by no ids is an error, because without the filter all animals would be listed', async () => {
    const store = clientOf(service)
    await store.pets.create({ name: 'Milo', categoryId: 3 })
    await assert.rejects(store.pets.list({ id: [] }).page(), { name: 'RangeError', message: /^id is empty/ })
  })
})

describe('headersOf', () => {
  test('has the headers of every result, and of no other object', async () => {
    const store = clientOf(service)
    const luna = await store.pets.create({ name: 'Luna', categoryId: 3 })
    assert.match(headersOf(luna).get('etag') ?? '', /^"/)
    const { items } = await store.pets.list().page()
    assert.match(headersOf(items).get('x-request-id') ?? '', /./)
    assert.throws(() => headersOf(items[0] as object), { name: 'TypeError', message: /result/ })
    assert.throws(() => headersOf({ ...luna }), TypeError)
  })
})

describe('an id in a path', () => {
  test('cannot change the path', async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, (_request, response) =>
      sendJson(response, 200, {}),
    )
    const store = storeWith()
    for (const id of ['.', '..', '', undefined, null, ['..']] as unknown as number[]) {
      await assert.rejects(store.pets.delete(id), { name: 'TypeError', message: /^petId must be an id/ })
      await assert.rejects(store.webhooks.retryDelivery(1, id), { message: /^deliveryId must be an id/ })
      await assert.rejects(store.webhooks.deliveries(id).page(), { message: /^webhookId must be an id/ })
    }
    assert.equal(requests.length, 0)
    for (const id of ['a/../b', '%2e%2e', '..\\x', '?limit=1', '#', 'é', '...'])
      await store.orders.get(id as unknown as number)
    assert.deepEqual(
      requests.map((request) => request.replace('GET /v1/store/orders/', '')),
      ['a%2F..%2Fb', '%252e%252e', '..%5Cx', '%3Flimit%3D1', '%23', '%C3%A9', '...'],
    )
  })
})
