import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInProgressMax } from '../../src/inProgress.ts'

type Options = Parameters<typeof createInProgressMax>[0]

const noWaiters = { read: 0, write: 0 }
const maxima = (behindMs: number, subjectWaiters = 0, addressWaiters = noWaiters, inProgressMax = 100) => {
  const options = {
    database: { subjectWaiters: () => subjectWaiters },
    limiter: { addressWaiters },
    indexer: { behindMs },
    inProgressMax,
  } as unknown as Options
  const max = createInProgressMax(options)
  return [max('read'), max('write')]
}

test('the more the search index is behind, the fewer changes can be in progress, but never none', () => {
  assert.deepEqual(maxima(0), [100, 100])
  assert.deepEqual(maxima(750), [100, 75])
  assert.deepEqual(maxima(1_000), [100, 67])
  assert.deepEqual(maxima(2_000), [100, 33])
  assert.deepEqual(maxima(2_250), [100, 25])
  for (const behindMs of [2_999, 3_000, 60_000]) assert.deepEqual(maxima(behindMs), [100, 2])
  assert.deepEqual(maxima(60_000, 0, noWaiters, 1), [1, 1])
  assert.deepEqual(maxima(-1_000), [100, 100], 'a clock was set back')
})

test('if writes run one after another, the index does not limit them', () => {
  const options = { database: {}, limiter: {}, indexer: { behindMs: 60_000 } } as Options
  assert.equal(createInProgressMax(options)('write'), 100)
})

test('requests that wait for others with the same subject or address do not count, up to a bound', () => {
  assert.deepEqual(maxima(0, 30), [100, 130])
  assert.deepEqual(maxima(0, 30, { read: 20, write: 0 }), [120, 130])
  assert.deepEqual(maxima(0, 30, { read: 0, write: 20 }), [100, 150])
  assert.deepEqual(maxima(0, 9_000, { read: 9_000, write: 9_000 }), [1_100, 2_100])
  assert.deepEqual(maxima(1_000, 0, { read: 9_000, write: 20 }), [1_100, 87])
})
