import type { ConnectionCloseReason } from '../server/server.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { Repeats } from './repeats.ts'

const closeLogIntervalMs = 60_000
const shedLogIntervalMs = 10_000

/** Logs the first warning of a subject at once, and those that follow together. `count` is their number. */
function limitedWarning(log: Log, message: string, intervalMs: number) {
  const write = (fields: object | undefined, count: number) => log.warn({ ...fields, count }, message)
  const repeats = new Repeats<object>(intervalMs, write)
  return (subject: string, fields: object): void => {
    if (repeats.isFirst(subject, fields)) write(fields, 1)
  }
}

/** Counts connections that are closed to stay within a bound, and logs each reason at a limited rate. */
export function createCloseReporter(log: Log, metrics: Metrics) {
  const warn = limitedWarning(log, 'connection closed', closeLogIntervalMs)
  return (reason: ConnectionCloseReason, address: string): void => {
    metrics.closedConnections.increment(reason)
    warn(reason, { reason, address })
  }
}

/** Counts requests that are rejected because there are too many, and logs them at a limited rate. */
export function createShedReporter(log: Log, metrics: Metrics) {
  const warn = limitedWarning(log, 'overloaded: requests rejected', shedLogIntervalMs)
  return (address: string): void => {
    metrics.shedRequests.increment()
    warn('all', { address })
  }
}
