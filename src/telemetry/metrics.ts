import type { Registry } from 'prom-client'
import type { RequestLog } from '../api/pipeline.ts'
import type { DatabaseStats } from '../database/database.ts'
import { EventCounter } from './eventCounter.ts'
import { LatencyHistogram } from './latencyHistogram.ts'

/** Keys with a separate label value. Further keys share the value "other". */
const labelledKeysMax = 1_000

/**
 * Counts events in memory. prom-client renders them, and is loaded with the first request for the metrics: it takes 60 ms
 * to load and 17 MB.
 */
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
  readonly #latency = new LatencyHistogram()
  readonly #labelledKeys = new Set<number>()
  readonly #databaseStats: () => DatabaseStats
  #registry: Registry | undefined
  #rendering: Promise<string> | undefined

  constructor(databaseStats: () => DatabaseStats) {
    this.#databaseStats = databaseStats
  }

  countRequest({ operation, page, status, code, principal, seconds }: RequestLog): void {
    this.#latency.observe(operation?.id ?? page?.id ?? 'none', status, seconds)
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
    const { createRegistry } = await import('./registry.ts')
    const counters = [this.#errors, this.bans, this.#deprecatedUses, this.attempts, this.closedConnections]
    this.#registry ??= await createRegistry(counters, this.#databaseStats)
    return `${await this.#registry.metrics()}\n${this.#latency.text()}`
  }

  #keyLabel(keyId: number | undefined): string {
    if (keyId === undefined) return 'none'
    if (this.#labelledKeys.size < labelledKeysMax) this.#labelledKeys.add(keyId)
    return this.#labelledKeys.has(keyId) ? String(keyId) : 'other'
  }
}
