import type { ConnectionCloseReason } from '../server/server.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/** Each reason is logged at most this often, so an attack cannot fill the log. */
const logIntervalMs = 60_000

/** Counts connections that are closed to stay within a bound, and logs each reason at a limited rate. */
export function createCloseReporter(log: Log, metrics: Metrics) {
  const logged = new Map<ConnectionCloseReason, { at: number; unlogged: number }>()
  return (reason: ConnectionCloseReason, address: string): void => {
    metrics.closedConnections.increment(reason)
    const now = performance.now()
    const last = logged.get(reason)
    if (last && now - last.at < logIntervalMs) {
      last.unlogged++
      return
    }
    log.warn({ reason, address, count: 1 + (last?.unlogged ?? 0) }, 'connection closed')
    logged.set(reason, { at: now, unlogged: 0 })
  }
}
