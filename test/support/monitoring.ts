import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

type Rule = { alert: string; expr: string; annotations: { runbook: string } }
type AlertTest = { alertname: string; exp_alerts: unknown[] }
type Panel = { title: string; targets?: { expr: string }[] }
type Query = { title: string; expr: string }

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
export const prometheusFolder = fileOf('deploy/prometheus')
const read = (path: string) => readFileSync(fileOf(path), 'utf8')
const groups: { rules: Rule[] }[] = parse(read('deploy/prometheus/rules.yaml')).groups
const ruleTests: { alert_rule_test: AlertTest[] }[] = parse(read('deploy/prometheus/rules.test.yaml')).tests
const dashboard: { panels: Panel[]; templating: { list: { name: string; allValue?: string }[] } } =
  JSON.parse(read('deploy/grafana/petstore.json'))

/** The alerts in deploy/prometheus/rules.yaml. */
export const alerts: readonly Rule[] = groups.flatMap(({ rules }) => rules)

/** What the tests of the rules expect, in order. */
export const alertTests: readonly AlertTest[] = ruleTests.flatMap((one) => one.alert_rule_test)

/** The queries of the dashboard, as Grafana sends them if all instances are selected. */
export function dashboardQueries(rateInterval: string): Query[] {
  const values = dashboard.templating.list.flatMap(({ name, allValue }) =>
    allValue === undefined ? [] : [[`$${name}`, allValue] as const],
  )
  const filled = (expr: string) =>
    [...values, ['$__rate_interval', rateInterval] as const].reduce(
      (text, [name, value]) => text.replaceAll(name, value),
      expr,
    )
  return dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr: filled(expr) })),
  )
}

/** The selectors of metrics in a query, such as `up{job="petstore"}`. */
export const selectorsIn = (expr: string): string[] =>
  [...expr.matchAll(/\b(?:up|(?:petstore|process|nodejs)_\w+)\b(?:\{[^}]*\})?/g)].map(
    ([selector]) => selector,
  )

/** The name of a metric as /metrics describes it: parts of a histogram have a suffix. */
export const metricIn = (selector: string): string =>
  selector.replace(/\{.*/, '').replace(/_(?:bucket|sum|count)$/, '')
