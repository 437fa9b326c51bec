import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createReadiness, databasePingMaxMs, databasePingMs } from '../../src/pages/readiness.ts'

/** A database whose pings the test resolves, and a clock that the test moves. */
function watched(checks: (() => boolean)[] = []) {
  const pings: PromiseWithResolvers<void>[] = []
  const timers: { ms: number; run: () => void }[] = []
  const state = { now: 0, pings, timers }
  const isReady = createReadiness({
    checks,
    ping: () => {
      const ping = Promise.withResolvers<void>()
      pings.push(ping)
      return ping.promise
    },
    now: () => state.now,
    startTimer: (run, ms) => {
      const timer = { ms, run }
      timers.push(timer)
      return () => void timers.splice(timers.indexOf(timer), 1)
    },
  })
  return Object.assign(state, { isReady })
}

describe('readiness pings the database at most once a second', () => {
  test('for any number of requests, which share one ping and its result', async () => {
    const watch = watched()
    const first = Array.from({ length: 1_000 }, () => watch.isReady())
    assert.equal(watch.pings.length, 1)
    watch.pings[0]?.resolve()
    assert.deepEqual(new Set(await Promise.all(first)), new Set([true]))
    watch.now += databasePingMs - 1
    assert.equal(await watch.isReady(), true)
    assert.equal(watch.pings.length, 1)
    watch.now += 1
    const next = [watch.isReady(), watch.isReady()]
    assert.equal(watch.pings.length, 2)
    watch.pings[1]?.reject(new Error('gone'))
    assert.deepEqual(await Promise.all(next), [false, false])
    assert.equal(await watch.isReady(), false)
    assert.equal(watch.pings.length, 2)
    assert.equal(watch.timers.length, 0, 'no timer is left behind')
  })

  test('with at most one ping in progress', async () => {
    const watch = watched()
    const waiting = watch.isReady()
    assert.deepEqual(
      watch.timers.map(({ ms }) => ms),
      [databasePingMaxMs],
    )
    watch.now += databasePingMaxMs
    watch.timers[0]?.run()
    assert.equal(await waiting, false, 'it responds within the timeout of a ping')
    assert.equal(await watch.isReady(), false, 'and at once as long as that ping is under way')
    assert.equal(watch.pings.length, 1)
    watch.pings[0]?.resolve()
    await new Promise(setImmediate)
    const next = watch.isReady()
    assert.equal(watch.pings.length, 2)
    watch.pings[1]?.resolve()
    assert.equal(await next, true)
  })

  test('a ping that throws synchronously has failed', async () => {
    const isReady = createReadiness({
      checks: [],
      ping: () => {
        throw new Error('closed')
      },
    })
    assert.equal(await isReady(), false)
  })
})

describe('a failed check is seen immediately', () => {
  test('without a ping', async () => {
    let isStopping = false
    const watch = watched([() => true, () => !isStopping])
    isStopping = true
    assert.equal(await watch.isReady(), false)
    assert.equal(watch.pings.length, 0)
  })

  test('also while a ping is under way, and while a good result is shared', async () => {
    let isStopping = false
    const watch = watched([() => !isStopping])
    const waiting = watch.isReady()
    isStopping = true
    watch.pings[0]?.resolve()
    assert.equal(await waiting, false)
    isStopping = false
    assert.equal(await watch.isReady(), true)
    isStopping = true
    assert.equal(await watch.isReady(), false)
  })
})
