import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type PetstoreOptions, RateLimitError } from '../../client/src/index.ts'
import { clientOf, sharedClock } from '../support/petstoreClient.ts'
import { useService } from '../support/useService.ts'

const service = useService()

/** A client with its own key, which has these limits. `statuses` has the responses, except those of `GET /limits`. */
async function limitedClient(
  limits: { perMinute?: number; perDay?: number },
  options: Partial<PetstoreOptions> = {},
) {
  const { id, key } = await service.makeKey({ plan: 'enterprise', limits })
  const statuses: number[] = []
  let inFlight = 0
  let inFlightMax = 0
  const counted: PetstoreOptions['fetch'] = async (url, init) => {
    inFlightMax = Math.max(inFlightMax, ++inFlight)
    try {
      const response = await fetch(url, init)
      if (!url.endsWith('/limits')) statuses.push(response.status)
      return response
    } finally {
      inFlight--
    }
  }
  const another = (more: Partial<PetstoreOptions> = {}) =>
    clientOf(service, { apiKey: key, fetch: counted, ...options, ...more }, sharedClock(service))
  return {
    id,
    key,
    statuses,
    store: another(),
    another,
    inFlightMax: () => inFlightMax,
    rejected: () => statuses.filter((status) => status === 429).length,
  }
}

const times = <T>(count: number, run: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, run))

describe('rate limits', () => {
  test('requests in flight are bounded', async () => {
    for (const maxConcurrent of [undefined, 3]) {
      const { store, inFlightMax } = await limitedClient({}, maxConcurrent ? { maxConcurrent } : {})
      await times(40, () => store.inventory.get())
      assert.equal(inFlightMax(), maxConcurrent ?? 8)
    }
    for (const maxConcurrent of [0, 51, Number.NaN])
      assert.throws(() => clientOf(service, { maxConcurrent }), RangeError)
    clientOf(service, { maxConcurrent: 51, throttle: true })
  })

  test('the state of the limit is known after each call', async () => {
    const { store } = await limitedClient({ perMinute: 20 })
    const state = () => store.rateLimit
    assert.equal(state(), undefined)
    for (const remaining of [19, 18]) {
      await store.inventory.get()
      const resetsAt = state()?.resetsAt
      assert.deepEqual(state(), { limit: 20, remaining, resetsAt })
      assert.ok(Number(resetsAt) > service.now() && Number(resetsAt) <= service.now() + 61_000)
    }
    await assert.rejects(store.orders.get(999_999))
    assert.equal(state()?.remaining, 17)
  })

  test('one 429 pauses all requests of the client until its Retry-After', async () => {
    const { store, statuses, rejected } = await limitedClient({ perMinute: 20 })
    await times(60, () => store.inventory.get())
    assert.equal(statuses.filter((status) => status === 200).length, 60)
    // In each of the two windows that were too short, at most those in flight.
    assert.ok(rejected() >= 2 && rejected() <= 16, String(rejected()))
  })

  test('with throttle no request is rejected', async () => {
    const { store, statuses, rejected } = await limitedClient(
      { perMinute: 20 },
      { throttle: true, maxConcurrent: 100 },
    )
    const startedAt = service.now()
    await times(100, () => store.inventory.get())
    assert.equal(rejected(), 0)
    assert.equal(statuses.length, 100)
    // The whole limit is used: five windows, with four waits between them.
    assert.ok(service.now() - startedAt <= 4 * 62_000, String(service.now() - startedAt))
  })

  test('with throttle a new client respects what others have used', async () => {
    const { another, key, rejected } = await limitedClient({ perMinute: 5 }, { throttle: true })
    for (let used = 0; used < 5; used++) await service.request('GET', '/v1/store/inventory', { key })
    await another().inventory.get()
    assert.equal(rejected(), 0)
  })

  test('with throttle errors and lost responses are counted', async () => {
    const { another, statuses, rejected } = await limitedClient({ perMinute: 10 }, { throttle: true })
    let count = 0
    const store = another({
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        if (url.endsWith('/limits')) return response
        statuses.push(response.status)
        if (++count % 3 === 0) throw new TypeError('lost')
        return response
      },
    })
    await times(30, () => store.orders.get(999_999).catch(() => {}))
    assert.equal(rejected(), 0)
    assert.ok(statuses.length >= 40)
  })

  test('a wait that is too long is an error, and nothing is sent until it ends', async () => {
    for (const throttle of [false, true]) {
      const { store, statuses } = await limitedClient({ perDay: 3 }, { throttle })
      const results = await Promise.allSettled(Array.from({ length: 30 }, () => store.inventory.get()))
      const failed = results.filter(({ status }) => status === 'rejected')
      assert.equal(failed.length, 27)
      for (const { reason } of failed as PromiseRejectedResult[]) {
        assert.ok(reason instanceof RateLimitError)
        assert.equal(reason.code, 'rate_limit_exceeded')
        assert.ok((reason.retryAfterMs ?? 0) > 86_000_000)
      }
      const sent = statuses.length
      assert.ok(throttle ? sent === 3 : sent <= 3 + 8, String(sent))
      for (const { status } of await Promise.allSettled(
        Array.from({ length: 200 }, () => store.inventory.get()),
      ))
        assert.equal(status, 'rejected')
      assert.equal(statuses.length, sent)
      service.advance(86_401_000)
      await store.inventory.get()
    }
  })

  test('hundreds of requests at the same time do not cause a ban', async () => {
    const { store, id } = await limitedClient({ perMinute: 5 }, { maxWaitMs: 0, maxConcurrent: 50 })
    await Promise.allSettled(Array.from({ length: 500 }, () => store.inventory.get()))
    assert.equal((await clientOf(service).keys.limits(id)).bannedUntil, null)
  })

  test('a banned client stops sending', async () => {
    const { store, key, statuses } = await limitedClient({ perMinute: 1 })
    for (let rejected = 0; rejected <= 100; rejected++)
      await service.request('GET', '/v1/store/inventory', { key })
    const isBanned = (error: RateLimitError) => error.code === 'key_banned'
    for (let call = 0; call < 20; call++) await assert.rejects(store.inventory.get(), isBanned)
    assert.deepEqual(statuses, [429])
  })

  test('a signal ends the wait for the limit', async () => {
    const { key } = await limitedClient({ perMinute: 1 })
    // With the clock of this machine: it waits for a minute.
    const store = clientOf(service, { apiKey: key })
    await store.inventory.get()
    const controller = new AbortController()
    const call = store.inventory.get({ signal: controller.signal })
    await assert.rejects(store.inventory.get({ signal: AbortSignal.timeout(200) }), /TimeoutError|abort/i)
    controller.abort(new Error('enough'))
    await assert.rejects(call, /enough/)
  })
})
