import { setTimeout as pause } from 'node:timers/promises'
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

const firstSamplesMs = 50

/** What is counted elsewhere, with the figures of the runtime, as Prometheus reads it. */
export async function openRegistry(
  counters: readonly Counted[],
  gauges: readonly GaugeOf[],
): Promise<Registry> {
  const registry = new Registry()
  const registers = [registry]
  const { user, system } = process.cpuUsage()
  collectDefaultMetrics({ register: registry })
  // What was used before anybody asked.
  for (const [kind, micros] of Object.entries({ user_: user, system_: system, '': user + system }))
    (registry.getSingleMetric(`process_cpu_${kind}seconds_total`) as Counter | undefined)?.inc(micros / 1e6)
  // The delays of the event loop are sampled: without a sample there would be none to show.
  await pause(firstSamplesMs)
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
