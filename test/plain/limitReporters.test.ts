import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createShedReporter } from '../../src/telemetry/limitReporters.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'

test('all rejected requests are in the log, in one line for each ten seconds', ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const counts: number[] = []
  const log = { warn: ({ count }: { count: number }) => counts.push(count) } as unknown as Log
  const stats = {
    writesWaiting: 0,
    connectionsBusy: 0,
    connectionsAwaited: 0,
    replicasUsable: 0,
    logLinesLost: 0,
  }
  const reject = createShedReporter(log, new Metrics(() => stats))
  for (let n = 0; n < 5; n++) reject('127.0.0.1')
  assert.deepEqual(counts, [1])
  mock.timers.tick(10_000)
  assert.deepEqual(counts, [1, 4], 'also if no other follows')
  reject('127.0.0.1')
  mock.timers.tick(10_000)
  assert.deepEqual(counts, [1, 4, 1])
  mock.timers.tick(10_000)
  reject('127.0.0.1')
  assert.deepEqual(counts, [1, 4, 1, 1], 'the first one after a while is logged at once')
})
