import assert from 'node:assert/strict'
import { test } from 'node:test'
import { laneOf } from '../../src/server/lanes.ts'

const lane = (method: string, target: string) => laneOf({ method, target } as Parameters<typeof laneOf>[0])

test('probes are recognized by their path, also with a query', () => {
  for (const path of ['/healthz', '/readyz', '/metrics'])
    for (const query of ['', '?', '?verbose', '?a=/v1/pets?b'])
      assert.equal(lane('GET', `${path}${query}`), 'probe', query)
  assert.equal(lane('GET', '/v1/pets?path=/healthz'), 'read')
  assert.equal(lane('GET', ''), 'read')
  assert.equal(lane('POST', '/healthz'), 'write')
})
