import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type { Finished } from '../http/api.ts'

export type Log = Logger

const bufferBytes = 4096
const flushMs = 200

/** JSON lines on standard error, so that standard output stays free for what a person or a script reads. Never waits for the disk. */
export function createLog(level: string, stream?: DestinationStream): { log: Log; flush(): void } {
  const sink = stream ?? destination({ fd: 2, sync: false, minLength: bufferBytes, periodicFlush: flushMs })
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink)
  return {
    log,
    flush() {
      if ('flushSync' in sink && typeof sink.flushSync === 'function') sink.flushSync()
    },
  }
}

/** One line a request: never a query, a header or a body, for that is where secrets and personal data travel. */
export function logRequest(log: Log, finished: Finished, hideSecrets: (text: string) => string): void {
  const { requestId, method, path, operation, caller, address, status, code, seconds, fault } = finished
  const line = {
    requestId: hideSecrets(requestId),
    method,
    path: hideSecrets(path),
    operation: operation?.id,
    status,
    code,
    keyId: caller?.keyId,
    address,
    ms: Math.round(seconds * 100_000) / 100,
  }
  if (fault === undefined) log.info(line, 'request')
  else log.error({ ...line, err: fault }, 'request')
}
