import { setTimeout as delay } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { DatabaseStats } from '../database/database.ts'
import type { EventCounter } from './eventCounter.ts'

const gauges: Record<keyof DatabaseStats, { name: string; help: string }> = {
  writesWaiting: { name: 'petstore_writes_waiting', help: 'Writes that wait for their commit.' },
  connectionsBusy: { name: 'petstore_database_connections_busy', help: 'Connections to PostgreSQL in use.' },
  connectionsAwaited: {
    name: 'petstore_database_connections_awaited',
    help: 'Requests that wait for a connection to PostgreSQL.',
  },
  replicasUsable: {
    name: 'petstore_read_replicas_usable',
    help: '1 if the read replica can be used, 0 if it is left out or not configured.',
  },
}

const firstSamplesMs = 50

/** A prom-client registry of these counters and of the metrics of the database and the process. */
export async function createRegistry(
  counters: readonly EventCounter[],
  databaseStats: () => DatabaseStats,
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
      ...counter.options,
      registers,
      collect() {
        this.reset()
        for (const [labels, count] of counter.counts()) this.inc(labels, count)
      },
    })
  }
  for (const [stat, options] of Object.entries(gauges)) {
    new Gauge({
      ...options,
      registers,
      collect() {
        this.set(databaseStats()[stat as keyof DatabaseStats])
      },
    })
  }
  return registry
}
