import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/** A figure that is read when somebody asks for it. */
export type GaugeOf = { readonly name: string; readonly help: string; value(): number }

/** What was counted under each of the values that a label has, or of several. */
export type Counted = {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  counts(): Iterable<readonly [values: readonly (string | number)[], count: number]>
}

/** What is counted elsewhere, with the figures of the runtime, as Prometheus reads it. */
export function openRegistry(counters: readonly Counted[], gauges: readonly GaugeOf[]): Registry {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const { name, help, labels, counts } of counters) {
    new Counter({
      name,
      help,
      labelNames: labels,
      registers,
      collect() {
        this.reset()
        for (const [values, count] of counts())
          this.inc(Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ''])), count)
      },
    })
  }
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
  return registry
}
