import type { ConnectionCloseReason } from '../server/server.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/** The shortest times between two lines, so that an attack cannot fill the log. */
const closeLogIntervalMs = 60_000
const shedLogIntervalMs = 10_000

/** Logs a warning at a limited rate. `count` is the number of calls since the last line. */
function limitedWarning(log: Log, message: string, intervalMs: number) {
  let loggedAt = Number.NEGATIVE_INFINITY
  let count = 0
  return (fields: Readonly<Record<string, string>>): void => {
    count++
    const now = performance.now()
    if (now - loggedAt < intervalMs) return
    log.warn({ ...fields, count }, message)
    loggedAt = now
    count = 0
  }
}

/** Counts connections that are closed to stay within a bound, and logs each reason at a limited rate. */
export function createCloseReporter(log: Log, metrics: Metrics) {
  const warnings = new Map<ConnectionCloseReason, ReturnType<typeof limitedWarning>>()
  return (reason: ConnectionCloseReason, address: string): void => {
    metrics.closedConnections.increment(reason)
    const warn = warnings.get(reason) ?? limitedWarning(log, 'connection closed', closeLogIntervalMs)
    warnings.set(reason, warn)
    warn({ reason, address })
  }
}

/** Counts requests that are rejected because there are too many, and logs them at a limited rate. */
export function createShedReporter(log: Log, metrics: Metrics) {
  const warn = limitedWarning(log, 'overloaded: requests rejected', shedLogIntervalMs)
  return (address: string): void => {
    metrics.shedRequests.increment()
    warn({ address })
  }
}
