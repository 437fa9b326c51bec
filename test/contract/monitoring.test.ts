import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { errorCatalogue } from '../support/errorCatalogue.ts'
import { alerts, alertTests, dashboardQueries, metricIn, selectorsIn } from '../support/monitoring.ts'
import { linuxMetrics, parsePrometheus } from '../support/prometheus.ts'
import { assertSameNames } from '../support/sameNames.ts'
import { startTestService } from '../support/service.ts'

const runbook = readFileSync(new URL('../../docs/guides/runbook.md', import.meta.url), 'utf8')
const sectionOf = (alert: string) => runbook.split(`\n### ${alert}\n`)[1]?.split(/\n##/)[0] ?? ''
const namesOf = (queries: readonly { expr: string }[]) =>
  new Set(queries.flatMap(({ expr }) => selectorsIn(expr).map(metricIn)))

async function servedMetrics(): Promise<string[]> {
  const stats = {
    writesWaiting: 0,
    connectionsBusy: 0,
    connectionsAwaited: 0,
    replicasUsable: 0,
    logLinesLost: 0,
  }
  const rendered = parsePrometheus(await new Metrics(() => stats).render())
  return [...new Set([...rendered.keys(), ...linuxMetrics])]
}

describe('the runbook', () => {
  test('has a section for each alert', () => {
    const sections = [...runbook.matchAll(/^### (Petstore\w+)$/gm)].map(([, name = '']) => name)
    const names = alerts.map(({ alert }) => alert)
    assertSameNames('The sections of the runbook', sections, names)
  })

  test('lists all metrics', async () => {
    const [, listed = ''] = runbook.split('\n## Metrics\n')
    const names = [...listed.matchAll(/`((?:petstore|process|nodejs)_\w+)`/g)].map(([, name = '']) => name)
    assertSameNames('The metrics of the runbook', names, await servedMetrics())
  })
})

describe('the alert', () => {
  for (const { alert, annotations } of alerts) {
    test(`${alert} has symptom, meaning, what to do, and a test in which it fires and one in which it does not`, () => {
      for (const part of ['Symptom', 'Meaning', 'What to do'])
        assert.equal(sectionOf(alert).split(`\n**${part}.**`).length, 2, part)
      assert.equal(annotations.runbook, `/guides/runbook#${alert.toLowerCase()}`)
      const tests = alertTests.filter(({ alertname }) => alertname === alert)
      assert.ok(tests.some(({ exp_alerts }) => exp_alerts.length > 0))
      assert.ok(tests.some(({ exp_alerts }) => exp_alerts.length === 0))
    })
  }
})

test('rules and dashboard use only metrics that the service has', async () => {
  const served = new Set(['up', ...(await servedMetrics())])
  const used = namesOf([...alerts, ...dashboardQueries('1m')])
  assert.deepEqual([...used].filter((name) => !served.has(name)).sort(), [])
})

test('the dashboard shows every metric of the service itself', async () => {
  const own = (await servedMetrics()).filter((name) => name.startsWith('petstore_'))
  const shown = namesOf(dashboardQueries('1m'))
  assert.deepEqual(
    own.filter((name) => !shown.has(name)),
    [],
  )
})

test('the service shows every error code from its start on, also those of features', async (t) => {
  const service = await startTestService()
  t.after(() => service.stop())
  const { text } = await service.request('GET', '/metrics', { key: service.operatorKey })
  const { samples = [] } = parsePrometheus(text).get('petstore_refusals_total') ?? {}
  assertSameNames(
    'The codes of petstore_refusals_total',
    samples.map(({ labels }) => labels.code ?? ''),
    errorCatalogue.keys(),
  )
})
