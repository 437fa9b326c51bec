import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { Batcher } from '../../src/database/batcher.ts'
import { DatabaseUnavailableError } from '../../src/database/database.ts'

/** Batches that end when the test says so. A result is twice its request. */
function heldBatches(bounds: ConstructorParameters<typeof Batcher>[1]) {
  const batches: { readonly requests: readonly number[]; end(): void; fail(error: Error): void }[] = []
  const batcher = new Batcher<number, number>((requests) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>()
    batches.push({ requests, end: () => resolve(requests.map((n) => 2 * n)), fail: reject })
    return promise
  }, bounds)
  const requests = () => batches.map((batch) => batch.requests)
  return { batcher, batches, requests }
}

test('requests that arrive while the batches of their key run form the next one', async () => {
  const { batcher, batches, requests } = heldBatches({ batchesMax: 1 })
  const results = [1, 2].map((n) => batcher.add(n))
  await nextIteration()
  results.push(...[3, 4].map((n) => batcher.add(n)))
  await nextIteration()
  assert.deepEqual(requests(), [[1, 2]])
  assert.equal(batcher.waiting, 2)
  batches[0]?.end()
  await nextIteration()
  await nextIteration()
  batches[1]?.end()
  assert.deepEqual(await Promise.all(results), [2, 4, 6, 8])
  assert.deepEqual(requests(), [
    [1, 2],
    [3, 4],
  ])
  assert.equal(batcher.waiting, 0)
})

test('keys do not wait for each other, and no batch has two of them', async () => {
  const { batcher, batches, requests } = heldBatches({ batchesMax: 1 })
  const results = [batcher.add(1, 'a'), batcher.add(2, 'b'), batcher.add(3, 'a')]
  await nextIteration()
  assert.deepEqual(requests(), [[1, 3], [2]])
  for (const batch of batches) batch.end()
  assert.deepEqual(await Promise.all(results), [2, 4, 6])
})

test('the requests that wait are bounded in number, of all keys together', async () => {
  const { batcher, batches } = heldBatches({ batchesMax: 1, batchMax: 2, waitingMax: 3 })
  const results = [batcher.add(1, 'a'), batcher.add(2, 'a'), batcher.add(3, 'b')]
  await assert.rejects(batcher.add(4, 'c'), DatabaseUnavailableError)
  await nextIteration()
  // Those that run do not wait any more.
  results.push(batcher.add(5, 'a'))
  for (let turn = 0; turn < 4; turn++) {
    for (const batch of batches) batch.end()
    await nextIteration()
  }
  assert.deepEqual(await Promise.all(results), [2, 4, 6, 10])
})

test('a request that waits for too long is rejected, and is not run', async () => {
  const { batcher, requests } = heldBatches({ waitMaxMs: 0 })
  await assert.rejects(batcher.add(1), /waited too long/)
  assert.deepEqual(requests(), [])
  assert.equal(batcher.waiting, 0)
})

test('a batch that fails rejects its requests alone', async () => {
  const { batcher, batches } = heldBatches({ batchesMax: 1 })
  const failing = batcher.add(1)
  await nextIteration()
  const next = batcher.add(2)
  batches[0]?.fail(new Error('failed'))
  await assert.rejects(failing, /failed/)
  await nextIteration()
  await nextIteration()
  batches[1]?.end()
  assert.equal(await next, 4)
})
