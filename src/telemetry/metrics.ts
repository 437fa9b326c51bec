import type { Registry } from 'prom-client'
import type { RequestLog } from '../api/pipeline.ts'
import { LatencyHistogram } from './latencyHistogram.ts'
import type { Counted, GaugeOf } from './registry.ts'

/** Keys that have a line of their own; what comes after them is counted together. */
const keysLabelledMax = 1_000

type MetricsText = { readonly text: string; readonly contentType: string }

/** Counts by hand, since many a request is in it; the library that writes them out is loaded when somebody asks. */
export class Metrics {
  readonly #gauges: readonly GaugeOf[]
  readonly #durations = new LatencyHistogram()
  readonly #refusals = new Map<string, number>()
  readonly #attempts = new Map<string, number>()
  readonly #uses = new Map<string, Map<number | string, number>>()
  readonly #labelledKeys = new Set<number>()
  readonly #closedConnections = new Map<string, number>()
  #bans = 0
  #registry: Promise<Registry> | undefined
  #answering: Promise<MetricsText> | undefined

  constructor(gauges: readonly GaugeOf[] = []) {
    this.#gauges = gauges
  }

  countRequest({ operation, status, code, principal: caller, seconds }: RequestLog): void {
    this.#durations.observe(operation?.id ?? 'none', status, seconds)
    if (code !== undefined) countOne(this.#refusals, code)
    if (operation?.deprecation) countOne(this.#usesOf(operation.id), this.#keyLabel(caller?.keyId))
  }

  countBan(): void {
    this.#bans++
  }

  countClosedConnection(reason: string): void {
    countOne(this.#closedConnections, reason)
  }

  countAttempt(isDelivered: boolean): void {
    countOne(this.#attempts, isDelivered ? 'delivered' : 'failed')
  }

  /** In the text format of Prometheus. Requests that come while it is being written share it. */
  answer(): Promise<MetricsText> {
    this.#answering ??= this.#write().finally(() => {
      this.#answering = undefined
    })
    return this.#answering
  }

  async #write(): Promise<MetricsText> {
    this.#registry ??= this.#open().catch((error: unknown) => {
      // What failed is not kept: the next one tries anew.
      this.#registry = undefined
      throw error
    })
    const registry = await this.#registry
    return {
      text: `${await registry.metrics()}\n${this.#durations.text()}`,
      contentType: registry.contentType,
    }
  }

  async #open(): Promise<Registry> {
    const { openRegistry } = await import('./registry.ts')
    return openRegistry(this.#counters(), this.#gauges)
  }

  #counters(): Counted[] {
    const uses = this.#uses
    return [
      {
        name: 'petstore_refusals_total',
        help: 'Requests answered with an error, by its code.',
        labels: ['code'],
        counts: () => byOne(this.#refusals),
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
        counts: () => byOne(this.#attempts),
      },
      {
        name: 'petstore_connections_closed_total',
        help: 'Connections closed to stay within a bound, by reason: address_limit, connection_limit, unfinished, idle.',
        labels: ['reason'],
        counts: () => byOne(this.#closedConnections),
      },
    ]
  }

  #usesOf(operation: string): Map<number | string, number> {
    let byKey = this.#uses.get(operation)
    if (!byKey) {
      byKey = new Map()
      this.#uses.set(operation, byKey)
    }
    return byKey
  }

  #keyLabel(keyId: number | undefined): number | string {
    if (keyId === undefined) return 'none'
    if (this.#labelledKeys.size < keysLabelledMax) this.#labelledKeys.add(keyId)
    return this.#labelledKeys.has(keyId) ? keyId : 'other'
  }
}

function countOne<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

const byOne = (counts: ReadonlyMap<string, number>) =>
  [...counts].map(([value, count]) => [[value], count] as const)
