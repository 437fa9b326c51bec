import { setTimeout as delay } from 'node:timers/promises'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type { RequestLog } from '../api/authentication.ts'
import { systemClock, timestamp } from '../clock.ts'
import { readableLine, requestMessage } from './readableLog.ts'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & {
  /** Writes one line per request, without query, headers and body: they may contain secrets and personal data. */
  request(request: RequestLog): void
}

const bufferBytes = 64 * 1024
const flushMs = 200
/** Lines beyond this are dropped, so a stalled reader of the log cannot exhaust the memory. */
const bufferedBytesMax = 16 * 1024 * 1024
const lastFlushMaxMs = 1_000
const errorLevel = 50

type OpenLog = {
  readonly log: Log
  /** Writes the lines so far, for a bounded time. */
  flush(): Promise<void>
  /** From now on, a readable log has no lines of requests, except of those that fail. */
  hideRequests(): void
  /** Writes the remaining lines, for a bounded time, and closes. */
  close(): Promise<void>
  /** Drops the remaining lines, so the process can exit immediately. */
  abandon(): void
}

type LogOptions = {
  readonly level: string
  /** Removes secrets from a text. */
  redact(text: string): string
  /** JSON, or text for people. */
  readonly format?: 'json' | 'text'
  /** Where the lines go, instead of standard error. */
  readonly stream?: DestinationStream
}

/** Lines on standard error, which leaves standard output to people and scripts. Writing never blocks. */
export function createLog({ level, redact, format = 'json', stream }: LogOptions): OpenLog {
  let areRequestsHidden = false
  const hideRequests = () => {
    areRequestsHidden = true
  }
  const lines = (target: DestinationStream) =>
    format === 'json' ? target : readableStream(target, stream === undefined, () => areRequestsHidden)
  if (stream) {
    const log = logTo(lines(stream), level, redact)
    return { log, hideRequests, flush: async () => {}, close: async () => {}, abandon() {} }
  }
  const sink = destination({
    fd: 2,
    sync: false,
    contentMode: 'buffer',
    maxWrite: 2 * bufferBytes,
    maxLength: bufferedBytesMax,
  })
  const buffered = bufferedSink(sink)
  const flush = async () => {
    buffered.flush()
    const flushed = new Promise<void>((resolve) => sink.flush(() => resolve()))
    await Promise.race([flushed, delay(lastFlushMaxMs)])
  }
  return {
    log: logTo(lines(buffered), level, redact),
    hideRequests,
    flush,
    abandon: () => sink.destroy(),
    async close() {
      await flush()
      // Otherwise the process would wait for a reader that may never read.
      sink.destroy()
    },
  }
}

function logTo(stream: DestinationStream, level: string, redact: LogOptions['redact']): Log {
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
  return Object.assign(logger, {
    request(request: RequestLog) {
      const { error } = request
      if (error !== undefined) logger.error({ ...requestFields(request, redact), err: error }, 'request')
      // pino would take 20 % of the time of a read for this line; see docs/performance.md.
      else if (logger.isLevelEnabled('info')) stream.write(requestLine(request, redact))
    },
  })
}

/** Rewrites lines of JSON for people. */
const readableStream = (
  target: DestinationStream,
  isColoured: boolean,
  areRequestsHidden: () => boolean,
): DestinationStream => ({
  write(json: string) {
    const line = JSON.parse(json)
    const isHidden = line.msg === requestMessage && line.level < errorLevel && areRequestsHidden()
    if (!isHidden) target.write(readableLine(line, isColoured))
  },
})

/** Collects lines as bytes and passes them on together: pino's own buffer of strings takes 10 % of the time of a read. */
function bufferedSink(sink: DestinationStream) {
  let buffer = Buffer.allocUnsafe(bufferBytes)
  let used = 0
  const flush = () => {
    if (used === 0) return
    // The types of pino's destination only know strings.
    sink.write(buffer.subarray(0, used) as unknown as string)
    buffer = Buffer.allocUnsafe(bufferBytes)
    used = 0
  }
  return {
    write(line: string) {
      // A UTF-16 code unit takes at most three bytes.
      if (used + 3 * line.length > bufferBytes) flush()
      if (3 * line.length > bufferBytes) return void sink.write(Buffer.from(line) as unknown as string)
      if (used === 0) setTimeout(flush, flushMs)
      used += buffer.write(line, used)
    },
    flush,
  }
}

function requestFields(request: RequestLog, redact: LogOptions['redact']) {
  const { requestId, isRequestIdGenerated, method, path, operation, principal, address, status, code } =
    request
  return {
    requestId: isRequestIdGenerated ? requestId : redactLong(requestId, redact),
    method,
    path: redactLong(path, redact),
    operation: operation?.id,
    status,
    code,
    keyId: principal?.keyId,
    address,
    ms: Math.round(request.seconds * 100_000) / 100,
  }
}

/** Built by hand, because it is written for every request. Path and address come from the client. */
function requestLine(request: RequestLog, redact: LogOptions['redact']): string {
  const { requestId, method, path, operation, status, code, keyId, address, ms } = requestFields(
    request,
    redact,
  )
  const known = `${operation === undefined ? '' : `,"operation":"${operation}"`},"status":${status}${code === undefined ? '' : `,"code":"${code}"`}${keyId === undefined ? '' : `,"keyId":${keyId}`}`
  return `{"level":30,"time":"${timeNow()}","requestId":"${requestId}","method":"${method}","path":${JSON.stringify(path)}${known},"address":${JSON.stringify(address)},"ms":${ms},"msg":"request"}\n`
}

/** Every secret is longer than this. */
const secretLengthMin = 20

const redactLong = (text: string, redact: LogOptions['redact']): string =>
  text.length < secretLengthMin ? text : redact(text)

let lastMs = 0
let lastTime = ''

/** Requests within one millisecond share the text. */
function timeNow(): string {
  const now = systemClock()
  if (now !== lastMs) {
    lastMs = now
    lastTime = timestamp(now)
  }
  return lastTime
}

/** For work that no request waits for. */
export const logFailure =
  (log: Log) =>
  (error: unknown): void =>
    log.error({ err: error }, 'background work failed')
