import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Finished } from '../http/api.ts'

/** Keys that have a line of their own; what comes after them is counted together. */
const keysLabelledMax = 1_000
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A figure that is read when somebody asks for it. */
export type GaugeOf = { readonly name: string; readonly help: string; value(): number }

export class Metrics {
  readonly #registry = new Registry()
  readonly #labelledKeys = new Set<number>()
  readonly #seconds: Histogram
  readonly #series = new Map<string, Histogram.Internal<string>>()
  readonly #refusals: Counter
  readonly #bans: Counter
  readonly #deprecated: Counter
  readonly #attempts: Counter

  constructor(gauges: readonly GaugeOf[] = []) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
    this.#seconds = new Histogram({
      name: 'petstore_request_duration_seconds',
      help: 'Time to answer a request of the API, by operation and status.',
      labelNames: ['operation', 'status'],
      buckets: secondsBuckets,
      registers,
    })
    this.#refusals = new Counter({
      name: 'petstore_refusals_total',
      help: 'Requests answered with an error, by its code.',
      labelNames: ['code'],
      registers,
    })
    this.#bans = new Counter({ name: 'petstore_key_bans_total', help: 'Bans of API keys.', registers })
    this.#deprecated = new Counter({
      name: 'petstore_deprecated_requests_total',
      help: 'Uses of deprecated operations, by operation and key.',
      labelNames: ['operation', 'key_id'],
      registers,
    })
    this.#attempts = new Counter({
      name: 'petstore_webhook_attempts_total',
      help: 'Attempts to deliver a message to a webhook, by how they ended.',
      labelNames: ['result'],
      registers,
    })
    for (const { name, help, value } of gauges) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(value())
        },
      })
    }
  }

  countRequest({ operation, status, code, caller, seconds }: Finished): void {
    this.#secondsOf(operation?.id ?? 'none', status).observe(seconds)
    if (code !== undefined) this.#refusals.inc({ code })
    if (operation?.deprecation) {
      this.#deprecated.inc({
        operation: operation.id,
        key_id: caller ? this.#keyLabel(caller.keyId) : 'none',
      })
    }
  }

  countBan(): void {
    this.#bans.inc()
  }

  countAttempt(isDelivered: boolean): void {
    this.#attempts.inc({ result: isDelivered ? 'delivered' : 'failed' })
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Found by a map of ours: putting labels together costs more than counting. */
  #secondsOf(operation: string, status: number) {
    const name = `${operation} ${status}`
    let series = this.#series.get(name)
    if (!series) {
      series = this.#seconds.labels({ operation, status })
      this.#series.set(name, series)
    }
    return series
  }

  #keyLabel(keyId: number): string {
    if (this.#labelledKeys.size < keysLabelledMax) this.#labelledKeys.add(keyId)
    return this.#labelledKeys.has(keyId) ? String(keyId) : 'other'
  }
}
