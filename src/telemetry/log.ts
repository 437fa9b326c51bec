import { setTimeout as pause } from 'node:timers/promises'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type { RequestLog } from '../api/pipeline.ts'
import { systemClock, timestamp } from '../clock.ts'

export type Log = Logger

const bufferBytes = 64 * 1024
const flushMs = 200
/** Beyond this, lines that nobody takes are dropped: a log that stalls must not take the memory with it. */
const waitingBytesMax = 16 * 1024 * 1024
const lastFlushMaxMs = 1_000

type OpenLog = {
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
    contentMode: 'buffer',
    maxWrite: 2 * bufferBytes,
    maxLength: waitingBytesMax,
  })
  const gathered = gatherFor(sink)
  return {
    log: pino(options, gathered),
    abandon: () => sink.destroy(),
    async close() {
      gathered.flush()
      const flushed = new Promise<void>((resolve) => sink.flush(() => resolve()))
      await Promise.race([flushed, pause(lastFlushMaxMs)])
      // Otherwise the end of the process would wait for a reader that may never come.
      sink.destroy()
    },
  }
}

/** Hands on many lines together, as bytes: texts would be kept, joined and measured again and again. */
function gatherFor(sink: DestinationStream) {
  let buffer = Buffer.allocUnsafe(bufferBytes)
  let used = 0
  const flush = () => {
    if (used === 0) return
    // Its types know of texts alone.
    sink.write(buffer.subarray(0, used) as unknown as string)
    buffer = Buffer.allocUnsafe(bufferBytes)
    used = 0
  }
  return {
    write(line: string) {
      // No character takes more than three bytes.
      if (used + 3 * line.length > bufferBytes) flush()
      if (3 * line.length > bufferBytes) return void sink.write(Buffer.from(line) as unknown as string)
      if (used === 0) setTimeout(flush, flushMs)
      used += buffer.write(line, used)
    },
    flush,
  }
}

/** One line a request: never a query, a header or a body, for that is where secrets and personal data travel. */
export function logRequest(log: Log, finished: RequestLog, hideSecrets: (text: string) => string): void {
  const { error: fault } = finished
  // Put together by hand, for there is one with every request, and written as pino writes.
  if (fault === undefined) {
    if (log.isLevelEnabled('info')) streamOf(log).write(requestLine(finished, hideSecrets))
    return
  }
  const { requestId, method, path, operation, principal: caller, address, status, code, seconds } = finished
  const line = {
    requestId: hideSecrets(requestId),
    method,
    path: hideSecrets(path),
    operation: operation?.id,
    status,
    code,
    keyId: caller?.keyId,
    address,
    ms: rounded(seconds),
  }
  log.error({ ...line, err: fault }, 'request')
}

const streamOf = (log: Log) =>
  (log as unknown as Record<symbol, unknown>)[pino.symbols.streamSym] as DestinationStream

function requestLine(finished: RequestLog, hideSecrets: (text: string) => string): string {
  const { requestId, isRequestIdGenerated: isOwnRequestId, method, path, seconds } = finished
  const id = isOwnRequestId ? requestId : hidden(requestId, hideSecrets)
  const outcome = outcomeOf(finished)
  return `{"level":30,"time":"${timeNow()}","requestId":"${id}","method":"${method}","path":${JSON.stringify(hidden(path, hideSecrets))}${outcome}${shownMilliseconds(seconds)},"msg":"request"}\n`
}

let shownOf: Pick<RequestLog, 'operation' | 'principal' | 'address' | 'status' | 'code'> | undefined
let shownOutcome = ''

/** The middle of a line, which is often that of the line before. */
function outcomeOf(finished: RequestLog): string {
  const { operation, principal: caller, address, status, code } = finished
  if (
    shownOf?.operation === operation &&
    shownOf?.principal?.keyId === caller?.keyId &&
    shownOf?.address === address &&
    shownOf.status === status &&
    shownOf.code === code
  )
    return shownOutcome
  shownOf = { operation, principal: caller, address, status, code }
  shownOutcome = `${operation === undefined ? '' : `,"operation":"${operation.id}"`},"status":${status}${
    code === undefined ? '' : `,"code":"${code}"`
  }${caller === undefined ? '' : `,"keyId":${caller.keyId}`},"address":${JSON.stringify(address)},"ms":`
  return shownOutcome
}

const rounded = (seconds: number) => Math.round(seconds * 100_000) / 100

/** The same as a text: of two whole numbers, for that of a fraction takes much longer to find. */
function shownMilliseconds(seconds: number): string {
  const hundredths = Math.round(seconds * 100_000)
  const rest = hundredths % 100
  return `${(hundredths - rest) / 100}.${rest < 10 ? '0' : ''}${rest}`
}

/** No secret of ours is as short as this. */
const secretLengthMin = 20

const hidden = (text: string, hideSecrets: (text: string) => string): string =>
  text.length < secretLengthMin ? text : hideSecrets(text)

let shownMs = 0
let shownTime = ''
let shownSecond = ''

/** Of the many requests of one second the first writes it out, and of those of one millisecond the first its end. */
function timeNow(): string {
  const now = systemClock()
  if (now === shownMs) return shownTime
  const ms = now % 1000
  if (shownSecond === '' || now - ms !== shownMs - (shownMs % 1000)) shownSecond = timestamp(now).slice(0, -4)
  shownMs = now
  shownTime = `${shownSecond}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`
  return shownTime
}
