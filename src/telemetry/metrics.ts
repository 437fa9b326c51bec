import type { RequestLog } from '../api/authentication.ts'
import type { DatabaseStats } from '../database/database.ts'
import { measureProcess } from './processMetrics.ts'
import { metricText } from './prometheus.ts'
import { DurationHistogram, EventCounter } from './series.ts'

/** Keys with a separate label value. Further keys share the value "other". */
const labelledKeysMax = 1_000

const gauges: Record<keyof DatabaseStats, readonly [name: string, help: string]> = {
  writesWaiting: ['petstore_writes_waiting', 'Writes that wait for their commit.'],
  connectionsBusy: ['petstore_database_connections_busy', 'Connections to PostgreSQL in use.'],
  connectionsAwaited: [
    'petstore_database_connections_awaited',
    'Requests that wait for a connection to PostgreSQL.',
  ],
  replicasUsable: [
    'petstore_read_replicas_usable',
    '1 if the read replica can be used, 0 if it is left out or not configured.',
  ],
}

/** Counts events in memory and shows them to Prometheus. */
export class Metrics {
  readonly bans = new EventCounter('petstore_key_bans_total', 'Bans of API keys.', [])
  readonly attempts = new EventCounter(
    'petstore_webhook_attempts_total',
    'Attempts to deliver a message to a webhook, by how they ended.',
    ['result'],
  )
  readonly closedConnections = new EventCounter(
    'petstore_connections_closed_total',
    'Connections closed to stay within a bound, by reason: address_limit, connection_limit, unfinished, idle.',
    ['reason'],
  )
  readonly #errors = new EventCounter(
    'petstore_refusals_total',
    'Requests that ended with an error, by its code.',
    ['code'],
  )
  readonly #deprecatedUses = new EventCounter(
    'petstore_deprecated_requests_total',
    'Uses of deprecated operations, by operation and key.',
    ['operation', 'key_id'],
  )
  readonly #latency = new DurationHistogram(
    'petstore_request_duration_seconds',
    'Time to respond to a request of the API, by operation and status.',
    ['operation', 'status'],
  )
  readonly #labelledKeys = new Set<number>()
  readonly #databaseStats: () => DatabaseStats
  #processText: (() => Promise<string>) | undefined
  #rendering: Promise<string> | undefined

  constructor(databaseStats: () => DatabaseStats) {
    this.#databaseStats = databaseStats
  }

  countRequest({ operation, status, code, principal, seconds }: RequestLog): void {
    this.#latency.observe(seconds, operation?.id ?? 'none', status)
    if (code !== undefined) this.#errors.increment(code)
    if (operation?.deprecation) this.#deprecatedUses.increment(operation.id, this.#keyLabel(principal?.keyId))
  }

  /** In the text format of Prometheus. Concurrent requests share one rendering. */
  render(): Promise<string> {
    this.#rendering ??= this.#render().finally(() => {
      this.#rendering = undefined
    })
    return this.#rendering
  }

  async #render(): Promise<string> {
    // From the first request on: a service whose metrics are never read does not sample its event loop.
    this.#processText ??= measureProcess()
    const processText = await this.#processText()
    const counters = [this.#errors, this.bans, this.#deprecatedUses, this.attempts, this.closedConnections]
    const stats = this.#databaseStats()
    const gaugeTexts = Object.entries(gauges).map(([stat, [name, help]]) =>
      metricText('gauge', name, help, [[{}, stats[stat as keyof DatabaseStats]]]),
    )
    return [processText, ...[...counters, this.#latency].map((metric) => metric.text()), ...gaugeTexts].join(
      '',
    )
  }

  #keyLabel(keyId: number | undefined): string {
    if (keyId === undefined) return 'none'
    if (this.#labelledKeys.size < labelledKeysMax) this.#labelledKeys.add(keyId)
    return this.#labelledKeys.has(keyId) ? String(keyId) : 'other'
  }
}
