import type { ConnectionCloseReason } from '../server/server.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/** The shortest times between two lines, so that an attack cannot fill the log. */
const closeLogIntervalMs = 60_000
const shedLogIntervalMs = 10_000

/** Logs a warning at once, and those that follow together at a limited rate. `count` is their number. */
function limitedWarning(log: Log, message: string, intervalMs: number) {
  let count = 0
  let latest: Readonly<Record<string, string>> = {}
  let timer: NodeJS.Timeout | undefined
  const write = (): void => {
    timer = undefined
    if (count === 0) return
    log.warn({ ...latest, count }, message)
    count = 0
    timer = setTimeout(write, intervalMs).unref()
  }
  return (fields: Readonly<Record<string, string>>): void => {
    count++
    latest = fields
    if (!timer) write()
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
