import type { ConnectionCloseReason } from '../server/server.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/** How often at the most one reason is logged: an attack must not fill the log. */
const logIntervalMs = 60_000

/** Counts the connections that are closed to stay within a bound, and logs them rarely. */
export function closedConnections(log: Log, metrics: Metrics) {
  const logged = new Map<ConnectionCloseReason, { at: number; unlogged: number }>()
  return (reason: ConnectionCloseReason, address: string): void => {
    metrics.countClosedConnection(reason)
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
