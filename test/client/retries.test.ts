import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import {
  ConnectionError,
  type PetstoreError,
  type PetstoreOptions,
  TimeoutError,
} from '../../client/src/index.ts'
import { eventually } from '../support/eventually.ts'
import { type Fault, startFaultProxy } from '../support/faultProxy.ts'
import { clientOf, hasCode } from '../support/petstoreClient.ts'
import { sendError, sendJson, startScriptedServer } from '../support/scriptedServer.ts'
import { useService } from '../support/useService.ts'

const service = useService()

/** A client behind a proxy that gives the first requests of a method these faults. */
async function clientWithFaults(
  t: TestContext,
  method: string,
  faults: Fault[],
  options: Partial<PetstoreOptions> = {},
) {
  const requests: IncomingMessage[] = []
  const proxy = await startFaultProxy(
    t,
    () => service.base,
    (request) => {
      if (request.method !== method) return 'none'
      requests.push(request)
      return faults.shift() ?? 'none'
    },
  )
  return { store: clientOf(service, { baseUrl: proxy.base, ...options }), requests }
}

describe('retries', () => {
  test('a POST has the same Idempotency-Key in all attempts, and another one in the next call', async (t) => {
    const { store, requests } = await clientWithFaults(t, 'POST', ['resetAfterWork', '503'])
    const first = await store.pets.create({ name: 'Milo', categoryId: 3 })
    const second = await store.pets.create({ name: 'Milo', categoryId: 3 })
    const keys = requests.map(({ headers }) => headers['idempotency-key'])
    assert.equal(keys.length, 4)
    assert.equal(new Set(keys.slice(0, 3)).size, 1)
    assert.notEqual(keys[3], keys[0])
    assert.notEqual(first.id, second.id)
  })

  test('a caller can choose the Idempotency-Key', async () => {
    const store = clientOf(service)
    const create = () => store.pets.create({ name: 'Milo', categoryId: 3 }, { idempotencyKey: 'chosen' })
    assert.deepEqual(await create(), await create())
  })

  test('a DELETE whose response was lost succeeds; one of a missing animal does not', async (t) => {
    const { store } = await clientWithFaults(t, 'DELETE', ['resetAfterWork'])
    const { id } = await store.pets.create({ name: 'Milo', categoryId: 3 })
    await store.pets.delete(id)
    await assert.rejects(store.pets.delete(id), hasCode('pet_not_found'))
  })

  test('a 429 does not make a missing animal a removed one', async (t) => {
    const { store } = await clientWithFaults(t, 'DELETE', ['429'])
    await assert.rejects(store.pets.delete(999_999), hasCode('pet_not_found'))
  })

  test('a PATCH is repeated; with ifMatch a lost response stays an unknown outcome', async (t) => {
    const faults: Fault[] = ['resetAfterWork', 'none', 'resetAfterWork', 'none', 'reset']
    const { store } = await clientWithFaults(t, 'PATCH', faults)
    const pet = await store.pets.create({ name: 'Milo', categoryId: 3 })
    assert.equal((await store.pets.update(pet.id, { name: 'Luna' })).name, 'Luna')
    await assert.rejects(
      store.pets.update(pet.id, { name: 'Nala' }, { ifMatch: await currentEtag(pet.id) }),
      (error) => error instanceof ConnectionError,
    )
    // The service did not get the first attempt, so the second one succeeds.
    const ifMatch = await currentEtag(pet.id)
    assert.equal((await store.pets.update(pet.id, { name: 'Coco' }, { ifMatch })).name, 'Coco')
  })

  async function currentEtag(id: unknown): Promise<string> {
    const { headers } = await service.request('GET', `/v1/pets/${id}`, { key: service.operatorKey })
    return String(headers.etag)
  }

  test('a 408, a 409 idempotency_in_progress and a 5xx are repeated after growing delays', async (t) => {
    const errors: [status: number, code: string, headers?: Record<string, string>][] = [
      [503, 'unavailable', { 'retry-after': '7' }],
      [408, 'request_timeout'],
      [409, 'idempotency_in_progress'],
      [500, 'internal_error'],
    ]
    const { storeWith, requests, clock } = await startScriptedServer(t, (_request, response) => {
      const error = errors[requests.length - 1]
      if (error) sendError(response, ...error)
      else sendJson(response, 201, {})
    })
    await storeWith().pets.create({ name: 'Milo', categoryId: 3 })
    assert.deepEqual(clock.sleeps, [7_000 + 250, 500, 1_000, 2_000])
  })

  test('other errors are not repeated', async (t) => {
    const { store, requests } = await clientWithFaults(t, 'POST', [])
    await assert.rejects(store.orders.create({ petId: 999_999 }))
    await assert.rejects(store.pets.create({ name: '', categoryId: 3 }))
    assert.equal(requests.length, 2)
  })

  test('the number of retries is bounded', async (t) => {
    const faults = Array<Fault>(9).fill('503')
    const { store, requests } = await clientWithFaults(t, 'GET', faults, { maxRetries: 2 })
    await assert.rejects(store.limits.get(), (error: PetstoreError) => error.status === 503)
    assert.equal(requests.length, 3)
    await assert.rejects(store.limits.get({ maxRetries: 0 }))
    assert.equal(requests.length, 4)
  })
})

describe('timeouts and signals', () => {
  test('an attempt without a response ends after timeoutMs and is repeated', async (t) => {
    const { store, requests } = await clientWithFaults(t, 'GET', ['silence'], { timeoutMs: 200 })
    await store.limits.get()
    assert.equal(requests.length, 2)
  })

  test('the last one is a TimeoutError', async (t) => {
    const { store } = await clientWithFaults(t, 'GET', ['silence'], { timeoutMs: 50, maxRetries: 0 })
    await assert.rejects(store.limits.get(), (error: TimeoutError) => {
      assert.ok(error instanceof TimeoutError)
      assert.deepEqual([error.code, error.status], ['timeout', 0])
      return true
    })
  })

  test('a service that cannot be reached is a ConnectionError with its cause', async () => {
    const store = clientOf(service, { baseUrl: 'http://127.0.0.1:1', maxRetries: 0 })
    await assert.rejects(store.limits.get(), (error: ConnectionError) => {
      assert.ok(error instanceof ConnectionError && error.cause instanceof Error)
      assert.deepEqual([error.code, error.status], ['connection_failed', 0])
      return true
    })
  })

  test('a signal ends a request in flight, in the queue, and before it starts', async (t) => {
    const { store, requests } = await clientWithFaults(t, 'GET', ['silence'], { maxConcurrent: 1 })
    const reason = new Error('enough')
    const controllers = [new AbortController(), new AbortController()] as const
    const calls = controllers.map(({ signal }) => store.limits.get({ signal }))
    const ended = Promise.allSettled(calls)
    await eventually('a request in flight', () => requests.length === 1)
    for (const controller of controllers.toReversed()) controller.abort(reason)
    for (const result of await ended) assert.deepEqual(result, { status: 'rejected', reason })
    await assert.rejects(store.limits.get({ signal: AbortSignal.abort(reason) }), reason)
    assert.equal(requests.length, 1)
    // The slot is free again.
    await store.limits.get()
  })
})
