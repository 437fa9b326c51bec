import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureProcess } from '../../src/telemetry/processMetrics.ts'

test('no figure of the event loop is NaN if it was blocked since the start', async () => {
  const text = measureProcess()()
  const blockedUntil = performance.now() + 200
  while (performance.now() < blockedUntil);
  assert.doesNotMatch(await text, /NaN/)
})
