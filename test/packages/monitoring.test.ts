/**
 * The files for Prometheus and Grafana, with the programs of Debian's package "prometheus". Each rule and each query of the
 * dashboard runs in a Prometheus that scrapes a service under load.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parse } from 'yaml'
import { eventually } from '../support/eventually.ts'
import { alerts, dashboardQueries, prometheusFolder, selectorsIn } from '../support/monitoring.ts'
import { isPrometheusInstalled, type Prometheus, prometheusFor } from '../support/prometheusServer.ts'
import { amplePlan } from '../support/responses.ts'
import { folderFor, SuiteCleanup } from '../support/servers.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { loopbackAllowed, registerWebhook, startWebhookReceiver } from '../support/webhookReceiver.ts'

const isRequired = process.env.PETSTORE_TEST_REQUIRE_PROMETHEUS === 'true'
const isPossible = isRequired || (isPrometheusInstalled && process.platform === 'linux')
const skip = !isPossible && 'Prometheus is not installed, or the system has not all metrics.'
const guide = readFileSync(new URL('../../docs/guides/running.md', import.meta.url), 'utf8')

const promtool = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: prometheusFolder, encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}${stderr}`)
}

describe('promtool', { skip }, () => {
  test('accepts the rules', () => promtool('check', 'rules', 'rules.yaml'))
  test('passes the tests of the rules', () => promtool('test', 'rules', 'rules.test.yaml'))
})

/** Requests that every counter counts, until `stop`. */
async function startLoad(service: TestService, cleanup: SuiteCleanup): Promise<() => Promise<void>> {
  const { key } = await service.makeKey({ ...amplePlan, scopes: ['pets:read', 'pets:write'] })
  const { key: limited } = await service.makeKey({ plan: 'free' })
  const [working, failing] = [await startWebhookReceiver(), await startWebhookReceiver()]
  failing.reply = 500
  for (const receiver of [working, failing]) {
    cleanup.after(() => receiver.stop())
    await registerWebhook(service, receiver.url)
  }
  const failure = { body: Buffer.from('fail'), headers: { 'content-type': 'image/png' } }
  const { json: pet } = await service.request('POST', '/v1/pets', {
    key,
    body: { name: 'Milo', categoryId: 3 },
  })
  let isOver = false
  const keepCalling = async () => {
    while (!isOver) {
      await service.request('POST', '/v1/pets', { key, body: { name: 'Luna', categoryId: 3 } })
      await service.request('GET', '/v1/pets', { key })
      await service.request('GET', `/v1/pets/${pet.id}`, { key })
      await service.request('GET', '/v1/pets')
      await service.request('GET', '/v1/pets', { key: limited })
      await service.request('POST', `/v1/test/pets/${pet.id}/pictures`, { key, ...failure })
    }
  }
  const calling = keepCalling()
  return async () => {
    isOver = true
    await calling
  }
}

/** The configuration of the guide, for this service, with short intervals. */
async function configFor(service: TestService, folder: string) {
  const [, block = ''] = /^```yaml\n(scrape_configs:[\s\S]*?)^```$/m.exec(guide) ?? []
  const { scrape_configs: scrapes } = parse(block)
  assert.equal(scrapes.length, 1)
  const { key } = await service.makeKey({ name: 'Prometheus', plan: 'business', scopes: ['metrics:read'] })
  const credentials = join(folder, 'petstore-key')
  writeFileSync(credentials, key, { mode: 0o600 })
  scrapes[0].scrape_interval = '1s'
  scrapes[0].authorization.credentials_file = credentials
  scrapes[0].static_configs[0].targets = [new URL(service.base).host]
  return {
    global: { evaluation_interval: '1s' },
    rule_files: [join(prometheusFolder, 'rules.yaml')],
    scrape_configs: scrapes,
  }
}

describe('in a Prometheus that scrapes a service', { skip }, () => {
  const cleanup = new SuiteCleanup()
  let prometheus: Prometheus
  before(async () => {
    const service = await startTestService(
      { ...loopbackAllowed, PETSTORE_BAN_AFTER_REFUSALS: '5' },
      { startAt: 'now', additional: new URL('../support/additionalOperations.ts', import.meta.url) },
    )
    cleanup.after(() => service.stop())
    prometheus = await prometheusFor(cleanup, await configFor(service, folderFor(cleanup)))
    await eventually('the first scrape', async () => (await prometheus.query('up == 1')).length > 0)
    cleanup.after(await startLoad(service, cleanup))
  })
  after(() => cleanup.end())

  const hasFigures = (expr: string) =>
    eventually(`a figure of ${expr}`, async () =>
      (await prometheus.query(expr)).some(({ value }) => !Number.isNaN(Number(value[1]))),
    )

  test('each query of the dashboard has data', async () => {
    const queries = dashboardQueries('10s')
    assert.ok(queries.length > 20)
    for (const { expr } of queries) await hasFigures(expr)
  })

  test('each metric that an alert selects has data', async () => {
    for (const { expr } of alerts) for (const selector of selectorsIn(expr)) await hasFigures(selector)
  })

  test('each alert is evaluated without an error, and those that the load raises fire', async () => {
    type Evaluated = { name: string; health: string; state: string; lastError?: string }
    const rules = await eventually('all rules are evaluated', async () => {
      const { groups } = (await prometheus.get('rules')) as { groups: { rules: Evaluated[] }[] }
      const found = groups.flatMap((group) => group.rules)
      return found.every(({ health }) => health !== 'unknown') && found
    })
    for (const { name, health, lastError } of rules) assert.equal(health, 'ok', `${name}: ${lastError}`)
    assert.equal(rules.length, alerts.length)
    for (const name of ['PetstoreInternalErrors', 'PetstoreKeyBanned', 'PetstoreDeprecatedUse'])
      await eventually(`${name} fires`, async () => {
        const { alerts: found } = (await prometheus.get('alerts')) as {
          alerts: { labels: { alertname: string }; state: string }[]
        }
        return found.some(({ labels, state }) => labels.alertname === name && state === 'firing')
      })
  })
})
