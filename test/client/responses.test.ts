import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { describe, test } from 'node:test'
import { systemClock } from '../../client/src/clock.ts'
import { ConnectionError, Petstore, PetstoreError } from '../../client/src/index.ts'
import { hasCode } from '../support/petstoreClient.ts'
import { sendError, sendJson, startScriptedServer } from '../support/scriptedServer.ts'

const pet = { name: 'Milo', categoryId: 3 }

describe('requests of the client', () => {
  test('headers of the caller replace those of the client, in any case', async (t) => {
    const received: IncomingHttpHeaders[] = []
    const { storeWith } = await startScriptedServer(t, (request, response) => {
      received.push(request.headers)
      sendJson(response, 201, {})
    })
    const headers = {
      'idempotency-key': 'chosen',
      authorization: 'Bearer other',
      'CONTENT-TYPE': 'text/json',
    }
    await storeWith().pets.create(pet, { headers })
    const [first] = received
    assert.deepEqual(
      [first?.['idempotency-key'], first?.authorization, first?.['content-type']],
      ['chosen', 'Bearer other', 'text/json'],
    )
  })

  test('a header that cannot be sent is an error at once', async (t) => {
    const { storeWith, requests, clock } = await startScriptedServer(t, () => {})
    await assert.rejects(storeWith().pets.create(pet, { idempotencyKey: 'a\nb' }), TypeError)
    assert.deepEqual([requests, clock.sleeps], [[], []])
  })

  test('options that cannot work are errors, without the key in them', () => {
    const baseUrl = 'http://test'
    for (const apiKey of ['secret\nkey', 'secret key', 'sécret', '', undefined, null])
      assert.throws(
        () => new Petstore({ baseUrl, apiKey: apiKey as string }),
        (error) => error instanceof TypeError && !error.message.includes('cret'),
      )
    for (const wrong of ['localhost:8080', 'ftp://test', 'test'])
      assert.throws(() => new Petstore({ baseUrl: wrong, apiKey: 'a-key' }), TypeError)
  })

  test('slashes at the end of the address are ignored', async (t) => {
    const { baseUrl, storeWith, requests } = await startScriptedServer(t, (_request, response) =>
      sendJson(response, 200, {}),
    )
    for (const path of ['//', '/v1//']) await storeWith({ baseUrl: `${baseUrl}${path}` }).inventory.get()
    assert.deepEqual(requests, ['GET /v1/store/inventory', 'GET /v1/store/inventory'])
  })

  test('an integer that is not exact is not sent', async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, () => {})
    const store = storeWith()
    await assert.rejects(store.pets.create({ name: 'Milo', categoryId: 2 ** 53 }), RangeError)
    await assert.rejects(store.categories.get(2 ** 53), RangeError)
    await assert.rejects(store.pets.list({ categoryId: 2 ** 53 }).page(), RangeError)
    await assert.rejects(store.events.stream({ after: 2 ** 53 }).next(), RangeError)
    assert.deepEqual(requests, [])
  })

  test('a list without a limit reads the largest pages, also with limit: undefined', async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, (_request, response) =>
      sendJson(response, 200, []),
    )
    await storeWith().pets.list({ limit: undefined }).page()
    await storeWith().events.list().page()
    assert.deepEqual(requests, ['GET /v1/pets?limit=100', 'GET /v1/events?limit=1000'])
  })

  test('times beyond 2^31 ms are not cut short', async (t) => {
    const longestMs = 2 ** 31 - 1
    const setTimeout = t.mock.method(globalThis, 'setTimeout')
    const fetch = async () => Response.json({})
    await new Petstore({ baseUrl: 'http://test', apiKey: 'a-key', timeoutMs: 2 ** 40, fetch }).inventory.get()
    assert.deepEqual(
      setTimeout.mock.calls.map(({ arguments: [, ms] }) => ms),
      [longestMs],
    )
    setTimeout.mock.restore()

    t.mock.timers.enable({ apis: ['setTimeout'] })
    let isAwake = false
    const sleep = systemClock.sleep(longestMs + 1_000, undefined).then(() => {
      isAwake = true
    })
    t.mock.timers.tick(longestMs)
    await new Promise(setImmediate)
    assert.equal(isAwake, false)
    t.mock.timers.tick(1_000)
    await sleep
  })
})

describe('responses to the client', () => {
  test('a redirect is an error, and nothing is sent to its target', async (t) => {
    for (const status of [301, 303, 307]) {
      const { storeWith, requests } = await startScriptedServer(t, (_request, response) =>
        response.writeHead(status, { location: '/elsewhere' }).end(),
      )
      await assert.rejects(storeWith().pets.create(pet), (error: PetstoreError) => {
        assert.deepEqual([error.code, error.status], ['unexpected_response', status])
        return true
      })
      assert.deepEqual(requests, ['POST /v1/pets'])
    }
  })

  test('a redirect in a browser, which has the status 0, is not repeated', async () => {
    let count = 0
    const fetch = async () => {
      count++
      return Object.create(Response.error(), {
        type: { value: 'opaqueredirect' },
        text: { value: async () => '' },
        headers: { value: new Headers() },
        status: { value: 0 },
        ok: { value: false },
      }) as Response
    }
    const store = new Petstore({ baseUrl: 'http://test', apiKey: 'a-key', fetch })
    await assert.rejects(store.inventory.get(), hasCode('unexpected_response'))
    assert.equal(count, 1)
  })

  test('a 404 after a lost response is a success only for what the request removes', async (t) => {
    let code = ''
    const { storeWith, requests } = await startScriptedServer(t, (_request, response) =>
      requests.length % 2 === 1 ? sendError(response, 503, 'unavailable') : sendError(response, 404, code),
    )
    const store = storeWith()
    for (const [name, remove] of Object.entries({
      pet: () => store.pets.delete(999),
      category: () => store.categories.delete(999),
      webhook: () => store.webhooks.delete(999),
    })) {
      code = `${name}_not_found`
      assert.equal(await remove(), undefined)
    }
    for (const [name, remove] of Object.entries({
      order: () => store.orders.eraseCustomer(999),
      key: () => store.keys.liftBan(999),
      revoked_key: () => store.keys.revoke(999),
      // Of a proxy, which does not know whether there is such an animal.
      path: () => store.pets.delete(999),
    })) {
      code = `${name}_not_found`
      await assert.rejects(remove(), hasCode(code))
    }
  })

  test('a body that the API does not send is an unexpected response', async (t) => {
    for (const [status, body] of [
      [400, 'null'],
      [404, '{"code":404,"message":{"a":1},"details":7}'],
      [400, '<html>'],
      [200, '<html>'],
      [200, ''],
      [200, 'null'],
      [200, '7'],
      [200, '{}'],
    ] as const) {
      const { storeWith, requests } = await startScriptedServer(t, (_request, response) =>
        response.writeHead(status).end(body),
      )
      await assert.rejects(storeWith().pets.list().page(), (error: PetstoreError) => {
        assert.ok(error instanceof PetstoreError, String(error))
        assert.deepEqual([error.code, error.status, error.details], ['unexpected_response', status, []])
        assert.equal(typeof error.message, 'string')
        return true
      })
      assert.equal(requests.length, 1)
    }
  })

  test('JSON that is not complete, and an error whose body is lost, are repeated', async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, (_request, response) => {
      if (requests.length === 1)
        return response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":')
      // The body would say idempotency_in_progress.
      response.writeHead(409, { 'content-length': '100' })
      response.write('{', () => response.destroy())
    })
    await assert.rejects(storeWith({ maxRetries: 3 }).pets.create(pet), ConnectionError)
    assert.equal(requests.length, 4)
  })

  test('the rate limit is that of the key, also after an error about a scope or of /keys', async (t) => {
    let reply: [status: number, code: string] = [200, '']
    let left = 50
    const { storeWith } = await startScriptedServer(t, (_request, response) =>
      sendError(response, ...reply, {
        'retry-after': '0',
        'x-ratelimit-limit': '60',
        'x-ratelimit-remaining': String(--left),
        'x-ratelimit-reset': '2000000000',
      }),
    )
    const store = storeWith({ maxRetries: 0 })
    const remaining = async (status: number, code: string, call: () => Promise<unknown>) => {
      reply = [status, code]
      await call().catch(() => {})
      return store.rateLimit?.remaining
    }
    const inventory = () => store.inventory.get()
    assert.equal(await remaining(200, '', inventory), 49)
    assert.equal(await remaining(403, 'insufficient_scope', inventory), 48)
    assert.equal(await remaining(429, 'rate_limit_exceeded', () => store.keys.limits(5)), 47)
    assert.equal(await remaining(403, 'origin_not_allowed', inventory), 47)
    assert.equal(await remaining(401, 'invalid_api_key', inventory), 47)
    assert.equal(await remaining(429, 'rate_limit_exceeded', () => store.limits.get()), 47)
  })
})
