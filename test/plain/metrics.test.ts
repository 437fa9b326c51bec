import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RequestLog } from '../../src/api/authentication.ts'
import { apiErrors } from '../../src/api/errors.ts'
import { connectionCloseReasons } from '../../src/server/server.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { metricText } from '../../src/telemetry/prometheus.ts'
import { linuxMetrics, parsePrometheus } from '../support/prometheus.ts'

const stats = {
  writesWaiting: 3,
  connectionsBusy: 2,
  connectionsAwaited: 1,
  replicasUsable: 1,
  logLinesLost: 4,
}
const latencyBuckets = ['0.001', '0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5']

/** Type and labels of each metric. Those of a release stay as they are. */
const released: Readonly<Record<string, readonly [type: string, ...labels: string[]]>> = {
  petstore_request_duration_seconds: ['histogram', 'le', 'operation', 'status'],
  petstore_refusals_total: ['counter', 'code'],
  petstore_key_bans_total: ['counter'],
  petstore_deprecated_requests_total: ['counter', 'key_id', 'operation'],
  petstore_webhook_attempts_total: ['counter', 'result'],
  petstore_connections_closed_total: ['counter', 'reason'],
  petstore_requests_shed_total: ['counter'],
  petstore_writes_waiting: ['gauge'],
  petstore_database_connections_busy: ['gauge'],
  petstore_database_connections_awaited: ['gauge'],
  petstore_read_replicas_usable: ['gauge'],
  petstore_log_lines_lost_total: ['counter'],
  process_cpu_user_seconds_total: ['counter'],
  process_cpu_system_seconds_total: ['counter'],
  process_cpu_seconds_total: ['counter'],
  process_start_time_seconds: ['gauge'],
  process_resident_memory_bytes: ['gauge'],
  process_virtual_memory_bytes: ['gauge'],
  process_heap_bytes: ['gauge'],
  process_open_fds: ['gauge'],
  process_max_fds: ['gauge'],
  nodejs_eventloop_lag_min_seconds: ['gauge'],
  nodejs_eventloop_lag_max_seconds: ['gauge'],
  nodejs_eventloop_lag_mean_seconds: ['gauge'],
  nodejs_eventloop_lag_stddev_seconds: ['gauge'],
  nodejs_eventloop_lag_p50_seconds: ['gauge'],
  nodejs_eventloop_lag_p90_seconds: ['gauge'],
  nodejs_eventloop_lag_p99_seconds: ['gauge'],
  nodejs_heap_size_total_bytes: ['gauge'],
  nodejs_heap_size_used_bytes: ['gauge'],
  nodejs_external_memory_bytes: ['gauge'],
}

async function renderedMetrics() {
  const metrics = new Metrics(() => stats)
  const request = { operation: { id: 'getPet', deprecation: {} }, status: 404, code: 'pet_not_found' }
  for (const seconds of [0.0005, 0.003, 60])
    metrics.countRequest({ ...request, principal: { keyId: 7 }, seconds } as RequestLog)
  metrics.attempts.increment('failed')
  metrics.closedConnections.increment('idle')
  return parsePrometheus(await metrics.render())
}

describe('/metrics', () => {
  test('has the names, types and labels of the releases', async () => {
    const families = await renderedMetrics()
    const isExpected = (name: string) => process.platform === 'linux' || !linuxMetrics.includes(name)
    const described = [...families].map(([name, { type, samples }]) => {
      const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)))
      return [name, [type, ...[...labels].sort()]]
    })
    assert.deepEqual(
      Object.fromEntries(described),
      Object.fromEntries(Object.entries(released).filter(([name]) => isExpected(name))),
    )
  })

  test('has the figures', async () => {
    const families = await renderedMetrics()
    const figure = (family: string, name: string, labels: Record<string, string>) =>
      families
        .get(family)
        ?.samples.find(
          (sample) =>
            sample.name === name &&
            Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
        )?.value
    const latency = 'petstore_request_duration_seconds'
    const labels = { operation: 'getPet', status: '404' }
    const bounds = [...latencyBuckets, '1', '2.5', '5', '10', '+Inf']
    const counts = bounds.map((le) => figure(latency, `${latency}_bucket`, { ...labels, le }))
    assert.deepEqual(counts, [1, 1, ...Array(11).fill(2), 3])
    assert.equal(figure(latency, `${latency}_sum`, labels), 60.0035)
    assert.equal(figure('petstore_refusals_total', 'petstore_refusals_total', { code: 'pet_not_found' }), 3)
    const counted = { petstore_key_bans_total: 0, petstore_writes_waiting: 3 }
    for (const [name, value] of Object.entries(counted)) assert.equal(figure(name, name, {}), value, name)
    assert.ok(Number(figure('process_resident_memory_bytes', 'process_resident_memory_bytes', {})) > 1e7)
    const start = Number(figure('process_start_time_seconds', 'process_start_time_seconds', {}))
    assert.equal(start, Math.round(performance.timeOrigin / 1000))
  })

  test('has counters of known events from 0 on: Prometheus sees no increase in the first sample', async () => {
    const families = parsePrometheus(await new Metrics(() => stats).render())
    const zeros = (name: string, label: string) =>
      families.get(name)?.samples.flatMap(({ labels, value }) => (value === 0 ? labels[label] : []))
    assert.deepEqual(zeros('petstore_refusals_total', 'code'), Object.keys(apiErrors))
    assert.deepEqual(zeros('petstore_webhook_attempts_total', 'result'), ['delivered', 'failed'])
    assert.deepEqual(zeros('petstore_connections_closed_total', 'reason'), [...connectionCloseReasons])
  })

  test('limits the number of keys that have a label', async () => {
    const metrics = new Metrics(() => stats)
    for (let keyId = 1; keyId <= 1_002; keyId++)
      metrics.countRequest({
        operation: { id: 'getPet', deprecation: {} },
        status: 200,
        principal: { keyId },
        seconds: 0,
      } as RequestLog)
    const family = parsePrometheus(await metrics.render()).get('petstore_deprecated_requests_total')
    assert.equal(family?.samples.length, 1_001)
    assert.equal(family?.samples.find(({ labels }) => labels.key_id === 'other')?.value, 2)
  })
})

describe('the text of a metric', () => {
  test('keeps every character of labels and help', () => {
    const hostile = 'a"b\\c\nd{e},=# \\n'
    const text = metricText('gauge', 'x', `y\\z\n${hostile}`, [[{ first: hostile, second: '' }, 1]])
    const family = parsePrometheus(text).get('x')
    assert.deepEqual(family?.samples, [{ name: 'x', labels: { first: hostile, second: '' }, value: 1 }])
    assert.equal(text.split('\n').length, 4)
  })

  test('writes every number', () => {
    const numbers = [0, -1, 0.1, 1e-7, 1e21, 2 ** 53, Infinity, -Infinity, Number.NaN]
    const text = metricText(
      'gauge',
      'x',
      'y',
      numbers.map((value, index) => [{ index }, value] as const),
    )
    assert.deepEqual(
      parsePrometheus(text)
        .get('x')
        ?.samples.map(({ value }) => value),
      numbers,
    )
  })

  test('is rejected by the parser of this test if it is not valid', () => {
    const head = '# HELP x y\n# TYPE x gauge\n'
    const wrong = ['x 1', `${head}x{a="1",} 1\n`, `${head}x{a="\n"} 1\n`, `${head}x 1 \n`, `${head}y 1\n`]
    for (const text of [...wrong, `${head}x 1\nx 1\n`, `${head}${head}`, `${head}x Infinity\n`, 'x 1\n'])
      assert.throws(() => parsePrometheus(text), text)
  })
})
