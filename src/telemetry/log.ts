import { setTimeout as delay } from 'node:timers/promises'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type { RequestLog } from '../api/authentication.ts'
import { systemClock, timestamp } from '../clock.ts'
import { loggedError } from './loggedError.ts'
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
export function createLog({ level, redact, format = 'json', stream }: LogOptions) {
  let areRequestsHidden = false
  const { write, ...output } = stream ? unbuffered(stream) : bufferedStandardError()
  const writeReadable = (json: string) => {
    const line = JSON.parse(json)
    const isHidden = areRequestsHidden && line.msg === requestMessage && line.level < errorLevel
    if (!isHidden) write(readableLine(line, stream === undefined))
  }
  return {
    ...output,
    log: logTo({ write: format === 'json' ? write : writeReadable }, level, redact),
    /** From now on, a readable log has no lines of requests, except of those that fail. */
    hideRequests() {
      areRequestsHidden = true
    },
  }
}

const unbuffered = (stream: DestinationStream) => ({
  write: (line: string): void => stream.write(line),
  flush: async () => {},
  close: async () => {},
  abandon() {},
})

function logTo(stream: DestinationStream, level: string, redact: LogOptions['redact']): Log {
  const serializers = { err: loggedError }
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, stream)
  return Object.assign(logger, {
    request(request: RequestLog) {
      const { error } = request
      if (error !== undefined) logger.error({ ...requestFields(request, redact), err: error }, requestMessage)
      // pino would take longer for this line; see docs/performance.md.
      else if (logger.isLevelEnabled('info')) stream.write(requestLine(request, redact))
    },
  })
}

/** Collects lines as bytes and passes them on together: pino's own buffer of strings takes 10 % of the time of a read. */
function bufferedStandardError() {
  const sink = destination({
    fd: 2,
    sync: false,
    contentMode: 'buffer',
    // With 0, `flush` calls back before the lines are written.
    minLength: 1,
    maxWrite: 2 * bufferBytes,
    maxLength: bufferedBytesMax,
  })
  let buffer = Buffer.allocUnsafe(bufferBytes)
  let used = 0
  const passOn = () => {
    if (used === 0) return
    // The types of pino's destination only know strings.
    sink.write(buffer.subarray(0, used) as unknown as string)
    buffer = Buffer.allocUnsafe(bufferBytes)
    used = 0
  }
  /** Writes the lines so far, for a bounded time. */
  const flush = async () => {
    passOn()
    const flushed = new Promise<void>((resolve) => sink.flush(() => resolve()))
    await Promise.race([flushed, delay(lastFlushMaxMs)])
  }
  return {
    write(line: string): void {
      // A UTF-16 code unit takes at most three bytes.
      if (used + 3 * line.length > bufferBytes) passOn()
      if (3 * line.length > bufferBytes) return void sink.write(Buffer.from(line) as unknown as string)
      if (used === 0) setTimeout(passOn, flushMs)
      used += buffer.write(line, used)
    },
    flush,
    /** Writes the remaining lines, for a bounded time, and closes. */
    async close() {
      await flush()
      // Otherwise the process would wait for a reader that may never read.
      sink.destroy()
    },
    /** Drops the remaining lines, so the process can exit immediately. */
    abandon: () => sink.destroy(),
  }
}

function requestFields(request: RequestLog, redact: LogOptions['redact']) {
  const { requestId, method, path, operation, page, principal, address, status, code } = request
  return {
    requestId: request.isRequestIdGenerated ? requestId : redactLong(requestId, redact),
    method,
    path: redactLong(path, redact),
    operation: operation?.id ?? page?.id,
    status,
    code,
    keyId: principal?.keyId,
    address,
    ms: Math.round(request.seconds * 100_000) / 100,
  }
}

/** Built by hand, because it is written for every request. Path and address come from the client. */
function requestLine(request: RequestLog, redact: LogOptions['redact']): string {
  const fields = requestFields(request, redact)
  const { requestId, method, path, operation, status, code, keyId, address, ms } = fields
  const known = `${operation === undefined ? '' : `,"operation":"${operation}"`},"status":${status}${code === undefined ? '' : `,"code":"${code}"`}${keyId === undefined ? '' : `,"keyId":${keyId}`}`
  return `{"level":30,"time":"${timeNow()}","requestId":"${requestId}","method":"${method}","path":${JSON.stringify(path)}${known},"address":${JSON.stringify(address)},"ms":${ms},"msg":"${requestMessage}"}\n`
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
