import type { Registry } from 'prom-client'
import type { RequestLog } from '../api/pipeline.ts'
import { LatencyHistogram } from './latencyHistogram.ts'
import type { CounterSource, GaugeSource } from './registry.ts'

/** Keys with a label value of their own. Further keys share the value "other". */
const labelledKeysMax = 1_000

type MetricsText = { readonly text: string; readonly contentType: string }

/**
 * Counts events in memory. prom-client renders them, and is loaded with the first request for the metrics: it takes 60 ms
 * to load and 17 MB.
 */
export class Metrics {
  readonly #gauges: readonly GaugeSource[]
  readonly #latency = new LatencyHistogram()
  readonly #errors = new Map<string, number>()
  readonly #attempts = new Map<string, number>()
  readonly #deprecatedUses = new Map<string, Map<number | string, number>>()
  readonly #labelledKeys = new Set<number>()
  readonly #closedConnections = new Map<string, number>()
  #bans = 0
  #registry: Promise<Registry> | undefined
  #rendering: Promise<MetricsText> | undefined

  constructor(gauges: readonly GaugeSource[] = []) {
    this.#gauges = gauges
  }

  countRequest({ operation, status, code, principal, seconds }: RequestLog): void {
    this.#latency.observe(operation?.id ?? 'none', status, seconds)
    if (code !== undefined) increment(this.#errors, code)
    if (operation?.deprecation) increment(this.#usesOf(operation.id), this.#keyLabel(principal?.keyId))
  }

  countBan(): void {
    this.#bans++
  }

  countClosedConnection(reason: string): void {
    increment(this.#closedConnections, reason)
  }

  countAttempt(isDelivered: boolean): void {
    increment(this.#attempts, isDelivered ? 'delivered' : 'failed')
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
    return createRegistry(this.#counters(), this.#gauges)
  }

  #counters(): CounterSource[] {
    const uses = this.#deprecatedUses
    return [
      {
        name: 'petstore_refusals_total',
        help: 'Requests answered with an error, by its code.',
        labels: ['code'],
        counts: () => byLabel(this.#errors),
      },
      {
        name: 'petstore_key_bans_total',
        help: 'Bans of API keys.',
        labels: [],
        counts: () => [[[], this.#bans]],
      },
      {
        name: 'petstore_deprecated_requests_total',
        help: 'Uses of deprecated operations, by operation and key.',
        labels: ['operation', 'key_id'],
        *counts() {
          for (const [operation, byKey] of uses)
            for (const [key, count] of byKey) yield [[operation, key], count] as const
        },
      },
      {
        name: 'petstore_webhook_attempts_total',
        help: 'Attempts to deliver a message to a webhook, by how they ended.',
        labels: ['result'],
        counts: () => byLabel(this.#attempts),
      },
      {
        name: 'petstore_connections_closed_total',
        help: 'Connections closed to stay within a bound, by reason: address_limit, connection_limit, unfinished, idle.',
        labels: ['reason'],
        counts: () => byLabel(this.#closedConnections),
      },
    ]
  }

  #usesOf(operation: string): Map<number | string, number> {
    let byKey = this.#deprecatedUses.get(operation)
    if (!byKey) {
      byKey = new Map()
      this.#deprecatedUses.set(operation, byKey)
    }
    return byKey
  }

  #keyLabel(keyId: number | undefined): number | string {
    if (keyId === undefined) return 'none'
    if (this.#labelledKeys.size < labelledKeysMax) this.#labelledKeys.add(keyId)
    return this.#labelledKeys.has(keyId) ? keyId : 'other'
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

const byLabel = (counts: ReadonlyMap<string, number>) =>
  [...counts].map(([value, count]) => [[value], count] as const)
