import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { SharedRun } from '../../src/database/sharedRun.ts'

/** Runs that end when the test says so. Two at the same time fail the test. */
function heldRuns() {
  const runs: PromiseWithResolvers<number>[] = []
  let running = 0
  const shared = new SharedRun(async () => {
    assert.equal(++running, 1)
    const run = Promise.withResolvers<number>()
    runs.push(run)
    return run.promise.finally(() => running--)
  })
  return { shared, runs }
}

test('calls during a run share the next one, which starts after it', async () => {
  const { shared, runs } = heldRuns()
  const first = shared.run()
  await nextIteration()
  const later = [shared.run(), shared.run(), shared.run()]
  await nextIteration()
  assert.equal(runs.length, 1)
  runs[0]?.resolve(1)
  assert.equal(await first, 1)
  await nextIteration()
  assert.equal(runs.length, 2)
  runs[1]?.resolve(2)
  assert.deepEqual(await Promise.all(later), [2, 2, 2])
})

test('a call between the end of a run and the start of the next one does not run next to it', async () => {
  const { shared, runs } = heldRuns()
  const first = shared.run()
  await nextIteration()
  const next = shared.run()
  const between = first.then(() => shared.run())
  runs[0]?.resolve(1)
  await nextIteration()
  assert.equal(runs.length, 2)
  runs[1]?.resolve(2)
  assert.equal(await next, 2)
  await nextIteration()
  runs[2]?.resolve(3)
  assert.ok((await between) >= 2)
})

test('a run that fails rejects its callers alone', async () => {
  const { shared, runs } = heldRuns()
  const failing = [shared.run(), shared.run()]
  await nextIteration()
  const next = shared.run()
  runs[0]?.reject(new Error('failed'))
  for (const call of failing) await assert.rejects(call, /failed/)
  await nextIteration()
  runs[1]?.resolve(2)
  assert.equal(await next, 2)
})

test('the end of the runs includes the one that waits, also if it fails', async () => {
  const { shared, runs } = heldRuns()
  await shared.ended()
  const calls = [shared.run()]
  await nextIteration()
  calls.push(shared.run())
  let hasEnded = false
  const ended = shared.ended().then(() => {
    hasEnded = true
  })
  runs[0]?.resolve(1)
  await nextIteration()
  assert.ok(!hasEnded)
  runs[1]?.reject(new Error('failed'))
  await ended
  assert.deepEqual(
    (await Promise.allSettled(calls)).map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
})
