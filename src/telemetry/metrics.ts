import type { Registry } from 'prom-client'
import type { RequestLog } from '../api/pipeline.ts'
import { EventCounter } from './eventCounter.ts'
import { LatencyHistogram } from './latencyHistogram.ts'
import type { GaugeSource } from './registry.ts'

/** Keys with a separate label value. Further keys share the value "other". */
const labelledKeysMax = 1_000

type MetricsText = { readonly text: string; readonly contentType: string }

/**
 * Counts events in memory. prom-client renders them, and is loaded with the first request for the metrics: it takes 60 ms
 * to load and 17 MB.
 */
export class Metrics {
  readonly #gauges: readonly GaugeSource[]
  readonly #latency = new LatencyHistogram()
  readonly #labelledKeys = new Set<number>()
  readonly #counters = {
    errors: new EventCounter('petstore_refusals_total', 'Requests that ended with an error, by its code.', [
      'code',
    ]),
    bans: new EventCounter('petstore_key_bans_total', 'Bans of API keys.', []),
    deprecatedUses: new EventCounter(
      'petstore_deprecated_requests_total',
      'Uses of deprecated operations, by operation and key.',
      ['operation', 'key_id'],
    ),
    attempts: new EventCounter(
      'petstore_webhook_attempts_total',
      'Attempts to deliver a message to a webhook, by how they ended.',
      ['result'],
    ),
    closedConnections: new EventCounter(
      'petstore_connections_closed_total',
      'Connections closed to stay within a bound, by reason: address_limit, connection_limit, unfinished, idle.',
      ['reason'],
    ),
  }
  #registry: Promise<Registry> | undefined
  #rendering: Promise<MetricsText> | undefined

  constructor(gauges: readonly GaugeSource[] = []) {
    this.#gauges = gauges
  }

  countRequest({ operation, status, code, principal, seconds }: RequestLog): void {
    this.#latency.observe(operation?.id ?? 'none', status, seconds)
    if (code !== undefined) this.#counters.errors.increment(code)
    if (operation?.deprecation)
      this.#counters.deprecatedUses.increment(operation.id, this.#keyLabel(principal?.keyId))
  }

  countBan(): void {
    this.#counters.bans.increment()
  }

  countClosedConnection(reason: string): void {
    this.#counters.closedConnections.increment(reason)
  }

  countAttempt(isDelivered: boolean): void {
    this.#counters.attempts.increment(isDelivered ? 'delivered' : 'failed')
  }

  /** In the text format of Prometheus. Concurrent requests share one rendering. */
  render(): Promise<MetricsText> {
    this.#rendering ??= this.#render().finally(() => {
      this.#rendering = undefined
    })
    return this.#rendering
  }

  async #render(): Promise<MetricsText> {
    this.#registry ??= this.#loadRegistry().catch((error: unknown) => {
      // The next request tries again.
      this.#registry = undefined
      throw error
    })
    const registry = await this.#registry
    return {
      text: `${await registry.metrics()}\n${this.#latency.text()}`,
      contentType: registry.contentType,
    }
  }

  async #loadRegistry(): Promise<Registry> {
    const { createRegistry } = await import('./registry.ts')
    return createRegistry(Object.values(this.#counters), this.#gauges)
  }

  #keyLabel(keyId: number | undefined): string {
    if (keyId === undefined) return 'none'
    if (this.#labelledKeys.size < labelledKeysMax) this.#labelledKeys.add(keyId)
    return this.#labelledKeys.has(keyId) ? String(keyId) : 'other'
  }
}
