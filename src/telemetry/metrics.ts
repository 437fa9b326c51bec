import type { RequestLog } from '../api/authentication.ts'
import { apiErrors } from '../api/errors.ts'
import type { DatabaseStats } from '../database/database.ts'
import { connectionCloseReasons } from '../server/server.ts'
import { measureProcess } from './processMetrics.ts'
import { DurationHistogram, EventCounter, metricText } from './prometheus.ts'

/** Keys with a separate label value. Further keys share the value "other". */
const labelledKeysMax = 1_000

const help = {
  petstore_refusals_total: 'Requests that ended with an error, by its code.',
  petstore_key_bans_total: 'Bans of API keys.',
  petstore_deprecated_requests_total: 'Uses of deprecated operations, by operation and key.',
  petstore_webhook_attempts_total: 'Attempts to deliver a message to a webhook, by how they ended.',
  petstore_connections_closed_total: `Connections closed to stay within a bound, by reason: ${connectionCloseReasons.join(', ')}.`,
  petstore_requests_shed_total:
    'Requests rejected early because there were too many. They are in no other metric.',
  petstore_request_duration_seconds: 'Time to respond to a request of the API, by operation and status.',
  petstore_writes_waiting: 'Writes that wait for their commit.',
  petstore_database_connections_busy: 'Connections to PostgreSQL in use.',
  petstore_database_connections_awaited: 'Requests that wait for a connection to PostgreSQL.',
  petstore_log_lines_lost_total: 'Lines of the log that could not be written.',
  petstore_read_replicas_usable: '1 if the read replica can be used, 0 if it is left out or not configured.',
}
type MetricName = keyof typeof help

type Stats = DatabaseStats & { readonly logLinesLost: number }

/** Counts events in memory and shows them to Prometheus. */
export class Metrics {
  readonly bans = new EventCounter('petstore_key_bans_total')
  readonly attempts = new EventCounter('petstore_webhook_attempts_total', 'result').startAtZero([
    'delivered',
    'failed',
  ])
  readonly closedConnections = new EventCounter('petstore_connections_closed_total', 'reason').startAtZero(
    connectionCloseReasons,
  )
  readonly shedRequests = new EventCounter('petstore_requests_shed_total')
  readonly errors = new EventCounter('petstore_refusals_total', 'code').startAtZero(Object.keys(apiErrors))
  readonly #deprecatedUses = new EventCounter('petstore_deprecated_requests_total', 'operation', 'key_id')
  readonly #latency = new DurationHistogram('petstore_request_duration_seconds', 'operation', 'status')
  readonly #labelledKeys = new Set<number>()
  readonly #stats: () => Stats
  #processText: (() => Promise<string>) | undefined

  constructor(stats: () => Stats) {
    this.#stats = stats
  }

  countRequest({ operation, page, status, code, principal, seconds }: RequestLog): void {
    this.#latency.observe(seconds, operation?.id ?? page?.id ?? 'none', status)
    if (code !== undefined) this.errors.increment(code)
    if (operation?.deprecation) this.#deprecatedUses.increment(operation.id, this.#keyLabel(principal?.keyId))
  }

  /** In the text format of Prometheus. */
  async render(): Promise<string> {
    // From the first request on: a service whose metrics are never read does not sample its event loop.
    this.#processText ??= measureProcess()
    const processText = await this.#processText()
    const events = [this.errors, this.bans, this.#deprecatedUses, this.attempts]
    const metrics = [...events, this.closedConnections, this.shedRequests, this.#latency]
    const texts = metrics.map((metric) => metric.text(help[metric.name as MetricName]))
    return [processText, ...texts, ...statsTexts(this.#stats())].join('')
  }

  #keyLabel(keyId: number | undefined): number | string {
    if (keyId === undefined) return 'none'
    if (this.#labelledKeys.size < labelledKeysMax) this.#labelledKeys.add(keyId)
    return this.#labelledKeys.has(keyId) ? keyId : 'other'
  }
}

function statsTexts(stats: Stats): string[] {
  const metrics: ['gauge' | 'counter', MetricName, number][] = [
    ['gauge', 'petstore_writes_waiting', stats.writesWaiting],
    ['gauge', 'petstore_database_connections_busy', stats.connectionsBusy],
    ['gauge', 'petstore_database_connections_awaited', stats.connectionsAwaited],
    ['gauge', 'petstore_read_replicas_usable', stats.replicasUsable],
    ['counter', 'petstore_log_lines_lost_total', stats.logLinesLost],
  ]
  return metrics.map(([type, name, value]) => metricText(type, name, help[name], [[{}, value]]))
}
