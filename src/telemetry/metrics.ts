import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Finished } from '../http/exchange.ts'
import { Durations } from './durations.ts'

/** Keys that have a line of their own; what comes after them is counted together. */
const keysLabelledMax = 1_000

/** A figure that is read when somebody asks for it. */
export type GaugeOf = { readonly name: string; readonly help: string; value(): number }

export class Metrics {
  readonly #registry = new Registry()
  readonly #durations = new Durations()
  readonly #uses = new Map<string, Map<number | undefined, Counter.Internal>>()
  readonly #labelledKeys = new Set<number>()
  readonly #refusals: Counter
  readonly #bans: Counter
  readonly #deprecated: Counter
  readonly #attempts: Counter

  constructor(gauges: readonly GaugeOf[] = []) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
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
    this.#durations.observe(operation?.id ?? 'none', status, seconds)
    if (code !== undefined) this.#refusals.inc({ code })
    if (operation?.deprecation) this.#usesOf(operation.id, caller?.keyId).inc()
  }

  countBan(): void {
    this.#bans.inc()
  }

  countAttempt(isDelivered: boolean): void {
    this.#attempts.inc({ result: isDelivered ? 'delivered' : 'failed' })
  }

  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${this.#durations.text()}`
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Found by a map of ours: putting labels together costs more than counting. */
  #usesOf(operation: string, keyId: number | undefined): Counter.Internal {
    let byKey = this.#uses.get(operation)
    if (!byKey) {
      byKey = new Map()
      this.#uses.set(operation, byKey)
    }
    const known = byKey.get(keyId)
    if (known) return known
    const key_id = keyId === undefined ? 'none' : this.#keyLabel(keyId)
    const uses = this.#deprecated.labels({ operation, key_id })
    if (byKey.size <= keysLabelledMax) byKey.set(keyId, uses)
    return uses
  }

  #keyLabel(keyId: number): string {
    if (this.#labelledKeys.size < keysLabelledMax) this.#labelledKeys.add(keyId)
    return this.#labelledKeys.has(keyId) ? String(keyId) : 'other'
  }
}
