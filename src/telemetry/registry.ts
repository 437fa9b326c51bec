import { setTimeout as delay } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { EventCounter } from './eventCounter.ts'

/** A value that is read when the metrics are requested. */
export type GaugeSource = { readonly name: string; readonly help: string; value(): number }

const firstSamplesMs = 50

/** A prom-client registry of these counters and gauges and of the metrics of the process. */
export async function createRegistry(
  counters: readonly EventCounter[],
  gauges: readonly GaugeSource[],
): Promise<Registry> {
  const registry = new Registry()
  const registers = [registry]
  const { user, system } = process.cpuUsage()
  collectDefaultMetrics({ register: registry })
  // Processor time before the registry was created.
  for (const [kind, micros] of Object.entries({ user_: user, system_: system, '': user + system }))
    (registry.getSingleMetric(`process_cpu_${kind}seconds_total`) as Counter | undefined)?.inc(micros / 1e6)
  // The delay of the event loop is sampled: without a sample there is nothing to show.
  await delay(firstSamplesMs)
  for (const counter of counters) {
    new Counter({
      name: counter.name,
      help: counter.help,
      labelNames: counter.labels,
      registers,
      collect() {
        this.reset()
        for (const [labels, count] of counter.counts()) this.inc(labels, count)
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
