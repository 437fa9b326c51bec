import { type DestinationStream, type Logger, pino } from 'pino'
import type { RequestLog } from '../api/authentication.ts'
import { addressGroup } from '../api/clientAddress.ts'
import { systemClock, timestamp } from '../clock.ts'
import { loggedError } from './loggedError.ts'
import { readableLine, requestMessage } from './readableLog.ts'
import { Repeats } from './repeats.ts'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & {
  /**
   * Writes one line per request, without query, headers and body: they may contain secrets and personal data. Rejections that
   * repeat are counted, so that strangers cannot fill the log.
   */
  request(request: RequestLog): void
  /** Writes the numbers of rejections that were counted. */
  flushRejections(): void
  /** How many lines could not be written. */
  linesLost(): number
}

const rejectionIntervalMs = 10_000
/** No valid key, too many requests, and what cannot be served at the moment, such as changes while the disk is full. */
const rejectionStatuses = new Set([401, 429, 503])
const warnLevel = 40
const errorLevel = 50

type LogOptions = {
  readonly level: string
  /** Removes secrets from a text. */
  redact(text: string): string
  /** JSON, or text for people. */
  readonly format?: LogFormat
  readonly stream: LogStream
}
type LogStream = DestinationStream & { readonly linesLost?: number }
type LogFormat = 'json' | 'text'

export function createLog({ level, redact, format = 'json', stream }: LogOptions) {
  let areRequestsHidden = false
  const writeReadable = (json: string) => {
    const line = JSON.parse(json)
    const isHidden = areRequestsHidden && line.msg === requestMessage && line.level < errorLevel
    if (!isHidden) stream.write(readableLine(line))
  }
  return {
    log: Object.assign(logTo(format === 'json' ? stream : { write: writeReadable }, level, redact), {
      linesLost: () => stream.linesLost ?? 0,
    }),
    /** From now on, a readable log has no lines of requests, except of those that fail. */
    hideRequests() {
      areRequestsHidden = true
    },
  }
}

/** The line that says how many lines could not be written. */
export function lossLine(count: number, format: LogFormat): string {
  const line = { level: warnLevel, time: timeNow(), count, msg: 'log lines lost' }
  return format === 'json' ? `${JSON.stringify(line)}\n` : readableLine(line)
}

function logTo(stream: DestinationStream, level: string, redact: LogOptions['redact']) {
  const serializers = { err: loggedError }
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, stream)
  const rejections = new Repeats<object>(rejectionIntervalMs, (latest, count) =>
    logger.warn({ ...latest, count }, 'requests rejected'),
  )
  /** Whether a caller has had the same rejection a moment ago. */
  const isRepeated = ({ status, code, page, principal, address }: RequestLog): boolean => {
    // Invalid HTTP and preflight requests are rejected without a limit.
    const isBeforeAuthentication = status >= 400 && page === undefined && principal === undefined
    if (!rejectionStatuses.has(status) && !isBeforeAuthentication) return false
    const keyId = principal?.keyId
    const subject = `${code} ${keyId ?? addressGroup(address)}`
    return !rejections.isFirst(subject, { status, code, keyId, address })
  }
  return Object.assign(logger, {
    flushRejections: () => rejections.flush(),
    request(request: RequestLog) {
      // Preflight requests need no key and have no limit.
      const isPreflight = request.method === 'OPTIONS' && request.status < 400
      if (isPreflight || isRepeated(request)) return
      const { error } = request
      if (error !== undefined) logger.error({ ...requestFields(request, redact), err: error }, requestMessage)
      // pino would take longer for this line; see docs/performance.md.
      else if (logger.isLevelEnabled('info')) stream.write(requestLine(request, redact))
    },
  })
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
