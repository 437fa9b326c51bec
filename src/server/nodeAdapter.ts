import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ApiRequest, BodyError, type BodyLimits, type RequestProblem } from '../api/request.ts'
import { type ApiResponse, headerValue } from '../api/response.ts'
import type { StreamBody } from '../api/streamBody.ts'
import { arrivingInTime } from './bodyTimer.ts'
import { lingeringClose } from './lingeringClose.ts'

const validHost = /^[^\s/?#@\\]*$/
/** What a waiting request takes that has no large headers and no large body, measured. */
const bytesPerRequest = 4_096
/** What a header takes in addition to its characters, measured. */
const bytesPerHeader = 100
/** Node buffers about this much of a body that is not read. */
const bufferedBodyMax = 64 * 1024
/** With a host: a URL parser would take the first segment of the path of `http:///x/y` as one. */
const absoluteForm = /^https?:\/\/[^/?\\]/i
/** A fragment, or a path with the segment "." or "..". */
const ambiguousTarget = /#|^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i

export class NodeRequest implements ApiRequest {
  readonly #message: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  readonly target: string
  readonly #hasBody: boolean
  problem: RequestProblem | undefined
  #isContinued = false
  #rejectBody: ((error: BodyError) => void) | undefined
  /** Whether the service waits for the body. */
  isBodyAwaited = false
  /** Whether the body is arriving, within a time of its own. */
  isBodyTimed = false

  constructor(message: IncomingMessage, response: ServerResponse) {
    this.#message = message
    this.response = response
    this.method = message.method as string
    const target = originForm(message.url as string)
    this.target = target ?? ''
    const { 'content-length': length, 'transfer-encoding': encoding } = message.headers
    this.#hasBody = length !== undefined || encoding !== undefined
    if (target === undefined || !hasValidHost(message)) this.problem = 'invalid_target'
  }

  get remoteAddress(): string {
    return this.#message.socket.remoteAddress ?? ''
  }

  /** Whether all of it has arrived. Node knows that of a request without a body only when it has parsed what follows. */
  get isComplete(): boolean {
    return this.#message.complete || !this.#hasBody
  }

  /** The memory that it takes while it waits, in multiples of that of a small request. */
  get weight(): number {
    const { url = '', rawHeaders, headers } = this.#message
    const headerBytes = rawHeaders.reduce((sum, text) => sum + text.length + bytesPerHeader / 2, 0)
    // A body of unknown length is a part of what is read at once: reading pauses until the request is served.
    const bodyBytes = Math.min(Number(headers['content-length'] ?? 0), bufferedBodyMax)
    return 1 + Math.floor((url.length + headerBytes + bodyBytes) / bytesPerRequest)
  }

  get isDisconnected(): boolean {
    return this.response.destroyed
  }

  /** Whether the client waits for 100 before it sends the body. */
  get isContinueAwaited(): boolean {
    const { headers, httpVersion } = this.#message
    if (headers.expect === undefined || this.#isContinued || httpVersion !== '1.1') return false
    return /(?:^|\W)100-continue(?:$|\W)/i.test(headers.expect)
  }

  header(name: string): string | undefined {
    const value = this.#message.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  /** The rest of the request cannot be read. */
  fail(problem: RequestProblem): void {
    this.problem = problem
    this.#rejectBody?.(new BodyError(problem))
  }

  async body({ bytesMax, time }: BodyLimits): Promise<Uint8Array | undefined> {
    if (!this.#hasBody) return new Uint8Array()
    if (this.problem) throw new BodyError(this.problem)
    if (this.isContinueAwaited) {
      this.response.writeContinue()
      this.#isContinued = true
    }
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>()
    this.#rejectBody = reject
    const receivedBytes = collect(this.#message, bytesMax, resolve, reject)
    this.isBodyAwaited = true
    this.isBodyTimed = time !== undefined
    try {
      return await (time ? arrivingInTime(promise, time, receivedBytes) : promise)
    } finally {
      this.isBodyAwaited = false
      this.isBodyTimed = false
    }
  }
}

/** Reads no further than the limit. Returns the bytes so far. By events, because async iteration takes 3 % of the time of a create. */
function collect(
  message: IncomingMessage,
  bytesMax: number,
  resolve: (body: Uint8Array | undefined) => void,
  reject: (error: Error) => void,
): () => number {
  const chunks: Buffer[] = []
  let bytes = 0
  // It emits no more events, so the promise would never settle.
  if (message.destroyed) reject(new Error('The connection was closed before the body was read.'))
  const add = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= bytesMax) return void chunks.push(chunk)
    message.off('data', add)
    message.pause()
    resolve(undefined)
  }
  message.on('data', add)
  message.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
  message.on('error', reject)
  message.on('close', () => {
    if (!message.readableEnded) reject(new Error('The body ended early.'))
  })
  return () => bytes
}

/**
 * Path and query of a request target in origin or absolute form (RFC 9112, 3.2). Targets with dot segments or a fragment are
 * rejected: a proxy may resolve them differently, so its rules for a path would not apply.
 */
function originForm(target: string): string | undefined {
  if (ambiguousTarget.test(target)) return undefined
  if (target.startsWith('/')) return target
  // A URL parser reads a backslash as a slash; in a request target it is an ordinary character.
  const url = absoluteForm.test(target) ? URL.parse(target.replaceAll('\\', '%5C')) : null
  return url ? url.pathname + url.search : undefined
}

/** HTTP/1.0 has no Host header. */
const hasValidHost = ({ headers: { host }, httpVersion }: IncomingMessage): boolean =>
  host === undefined ? httpVersion === '1.0' : validHost.test(host)

type PipelinedConnection = {
  /** Whether the client may have sent something that has not been read. */
  readonly mayHaveUnread: boolean
  resumeForStream(): void
}

/** `isLast`: the connection is closed after this response. Returns whether it is kept. */
export function writeResponse(
  request: NodeRequest,
  { status, headers, body, isAscii, stream }: ApiResponse,
  isLast: boolean,
  connection: PipelinedConnection | undefined,
): boolean {
  const { response, isComplete } = request
  const { httpVersion } = response.req
  const saysClose = status >= 400 && headerValue(headers, 'Connection') === 'close'
  // With an unread body the start of the next request cannot be found.
  const mustClose = isLast || request.isContinueAwaited || (request.problem !== undefined && !isComplete)
  const isClosing = saysClose || mustClose
  const isKeptAlive =
    !isClosing && httpVersion === '1.1' && !/\bclose\b/i.test(request.header('connection') ?? '')
  if (isKeptAlive) headers.push('Keep-Alive', 'timeout=65')
  else if (mustClose && !saysClose) headers.push('Connection', 'close')
  if (stream && httpVersion === '1.1') headers.push('Transfer-Encoding', 'chunked')
  response.writeHead(status, headers)
  if (stream) {
    connection?.resumeForStream()
    writeStream(stream, response)
  } else if ((isComplete && !connection?.mayHaveUnread) || response.socket === null || !isClosing)
    response.end(body, isAscii ? 'latin1' : 'utf8')
  else {
    // Also if the response has no body.
    response.flushHeaders()
    if (body !== undefined) response.write(body)
    lingeringClose(response.socket)
  }
  return isKeptAlive
}

/** Closes the connection of a client that does not read the response. A response that is sent already needs no timer. */
export function closeIfStalled(response: ServerResponse, stalledMs: number): void {
  const { socket } = response.req
  if (socket.writableLength === 0 && response.writableEnded) return
  socket.setTimeout(stalledMs)
  response.once('close', () => socket.setTimeout(0))
}

/**
 * Writes a stream as the body of a response. Chunks go to the socket with the frame that all streams share:
 * `response.write` would frame each one again, which takes 24 µs instead of 8.
 */
function writeStream(stream: StreamBody, response: ServerResponse): void {
  const { socket, httpVersion } = response.req
  if (socket.destroyed) return void stream.cancel()
  const isChunked = httpVersion === '1.1'
  socket.cork()
  response.flushHeaders()
  const { onDrain, onClose } = stream.start({
    write: ({ framed, bytes }) => socket.write(isChunked ? framed : bytes),
    end({ framed, bytes }) {
      socket.write(isChunked ? framed : bytes)
      response.end()
    },
  })
  socket.uncork()
  // A stream ends when the client closes its side of the connection. A paused socket does not report that.
  const leave = () => socket.destroySoon()
  if (socket.readableEnded || socket.isPaused()) leave()
  socket.once('end', leave)
  socket.on('drain', onDrain)
  response.once('close', () => {
    socket.off('end', leave)
    socket.off('drain', onDrain)
    onClose()
  })
}
