import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type PetstoreOptions, RateLimitError } from '../../client/src/index.ts'
import { instantClock, sendError, sendJson, startScriptedServer } from '../support/scriptedServer.ts'

const bounded = { timeout: 30_000 }

describe('the wait after a 429', () => {
  /** How long a client waits for a request that the service rejects once, if `random()` is this. */
  async function waitMs(
    t: Parameters<typeof startScriptedServer>[0],
    retryAfter: string,
    random: number,
    options: Partial<PetstoreOptions> = {},
    code = 'rate_limit_exceeded',
  ): Promise<number> {
    const { storeWith, requests } = await startScriptedServer(t, (_request, response) => {
      if (requests.length > 1) return sendJson(response, 200, {})
      sendError(response, 429, code, { 'retry-after': retryAfter })
    })
    const clock = { ...instantClock(), random: () => random }
    await storeWith(options, clock).inventory.get()
    return clock.now()
  }

  test('ends at a random time, never before the one that the service names', async (t) => {
    for (const [retryAfter, longestMs] of [
      ['1', 2_000],
      ['5', 6_000],
      ['60', 66_000],
      ['100', 110_000],
    ] as const) {
      assert.equal(await waitMs(t, retryAfter, 0), Number(retryAfter) * 1000)
      assert.equal(await waitMs(t, retryAfter, 1), longestMs)
      assert.equal(await waitMs(t, retryAfter, 0.5), (Number(retryAfter) * 1000 + longestMs) / 2)
    }
    assert.equal(await waitMs(t, '5', 0, {}, 'too_many_streams'), 5_000)
    assert.equal(await waitMs(t, '5', 1, {}, 'too_many_streams'), 6_000)
  })

  test('is not longer than maxWaitMs because of the random time', async (t) => {
    assert.equal(await waitMs(t, '60', 1, { maxWaitMs: 61_000 }), 61_000)
    assert.equal(await waitMs(t, '60', 1, { maxWaitMs: 60_000 }), 60_000)
    await assert.rejects(waitMs(t, '60', 1, { maxWaitMs: 59_999 }), (error: RateLimitError) => {
      assert.ok(error instanceof RateLimitError)
      return error.retryAfterMs === 60_000
    })
  })

  test('has one random time for all requests that are rejected together', bounded, async (t) => {
    const count = 8
    const { storeWith, requests } = await startScriptedServer(t, (_request, response) => {
      if (requests.length > count) return sendJson(response, 200, {})
      sendError(response, 429, 'rate_limit_exceeded', { 'retry-after': '60' })
    })
    // The largest of several random times would be about the same in every process.
    const randomTimes = [0.5]
    const random = () => randomTimes.shift() ?? 1
    const sleeps: number[] = []
    const allSleep = Promise.withResolvers<void>()
    const sleep = (ms: number) => {
      if (sleeps.push(ms) === count) allSleep.resolve()
      return allSleep.promise
    }
    const now = () => (sleeps.length < count ? 0 : 100_000)
    const store = storeWith({ maxConcurrent: count }, { random, sleep, now })
    await Promise.all(Array.from({ length: count }, () => store.inventory.get()))
    assert.deepEqual(new Set(sleeps), new Set([63_000]))
  })
})
