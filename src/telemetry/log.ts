import { setTimeout as pause } from 'node:timers/promises'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type { Finished } from '../http/api.ts'

export type Log = Logger

const bufferBytes = 4096
const flushMs = 200
/** Beyond this, lines that nobody takes are dropped: a log that stalls must not take the memory with it. */
const waitingBytesMax = 16 * 1024 * 1024
const lastFlushMaxMs = 1_000

export type OpenLog = {
  readonly log: Log
  /** Writes what is left, as far as somebody takes it, and closes. */
  close(): Promise<void>
  /** Gives up what is left, so that the process can end at once. */
  abandon(): void
}

/** JSON lines on standard error, so that standard output stays free for what a person or a script reads. Never waits for the disk. */
export function createLog(level: string, stream?: DestinationStream): OpenLog {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  if (stream) return { log: pino(options, stream), close: async () => {}, abandon() {} }
  const sink = destination({
    fd: 2,
    sync: false,
    minLength: bufferBytes,
    maxLength: waitingBytesMax,
    periodicFlush: flushMs,
  })
  return {
    log: pino(options, sink),
    abandon: () => sink.destroy(),
    async close() {
      const flushed = new Promise<void>((resolve) => sink.flush(() => resolve()))
      await Promise.race([flushed, pause(lastFlushMaxMs)])
      // Otherwise the end of the process would wait for a reader that may never come.
      sink.destroy()
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
