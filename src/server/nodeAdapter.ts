import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ApiRequest } from '../api/request.ts'
import type { ApiResponse } from '../api/response.ts'
import { systemClock } from '../clock.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { Api } from '../pages/app.ts'
import { lingeringClose } from './lingeringClose.ts'
import { sendStream } from './nodeStream.ts'
import { bodyErrorEvent } from './protocolErrors.ts'

/** The API straight on Node's own requests and answers: making a Request and a Response would cost as much as the rest. */

export const keepAliveSeconds = 65

const plainTarget = /^\/v1\/[\w/~-]*(?:\?[\w.~=&%:,+-]*)?$/
const probeTarget = /^\/(?:healthz|readyz)$/
const plainHost = /^[\w.:[\]-]+$/

/**
 * Whether a request needs nothing that the Fetch standard does: an address that is what it looks like, and no stream
 * over HTTP/1.0, which has no chunks. All others go the long way, so that there is one place that knows about odd
 * addresses.
 */
export function isPlain({ method, url = '', headers, httpVersion }: IncomingMessage): boolean {
  return (
    isPlainTarget(method, url) &&
    plainHost.test(headers.host ?? '') &&
    (httpVersion === '1.1' || headers.accept === undefined || !/event-stream/i.test(headers.accept))
  )
}

export const isPlainTarget = (method: string | undefined, target: string): boolean =>
  plainTarget.test(target) || (probeTarget.test(target) && (method === 'GET' || method === 'HEAD'))

export function serveDirectly(
  direct: Api,
  message: IncomingMessage,
  response: ServerResponse,
): MaybePromise<void> {
  const incoming = new NodeIncoming(message, response)
  return chain(direct(incoming), (answered) => {
    // The client may send the body or not: what comes next on this connection cannot be understood.
    if (incoming.isContinueAwaited) response.setHeader('Connection', 'close')
    send(answered, response)
  })
}

/** As Node decides it. */
export const expectsContinue = ({ headers: { expect }, httpVersion }: IncomingMessage): boolean =>
  expect !== undefined && httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(expect)

class NodeIncoming implements ApiRequest {
  readonly #message: IncomingMessage
  readonly #headers: IncomingHttpHeaders
  readonly method: string
  readonly target: string
  readonly #response: ServerResponse
  #isContinued = false

  constructor(message: IncomingMessage, response: ServerResponse) {
    this.#message = message
    this.#response = response
    this.#headers = message.headers
    this.method = message.method as string
    this.target = message.url as string
  }

  get remoteAddress(): string {
    return this.#message.socket.remoteAddress ?? ''
  }

  /** Whether the client waits for 100 before it sends the body. */
  get isContinueAwaited(): boolean {
    return this.#headers.expect !== undefined && !this.#isContinued && expectsContinue(this.#message)
  }

  header(name: string): string | undefined {
    const value = this.#headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  async body(bytesMax: number): Promise<Uint8Array | undefined> {
    const length = this.#headers['content-length']
    if (length === undefined && this.#headers['transfer-encoding'] === undefined) return new Uint8Array()
    if (Number(length ?? 0) > bytesMax) return undefined
    if (this.isContinueAwaited) {
      this.#response.writeContinue()
      this.#isContinued = true
    }
    return collect(this.#message, bytesMax)
  }
}

/** Where Node keeps the head of an answer until it is sent. */
type Head = { _header?: string | null }

function send(
  { status, letterhead, said, body, isAscii, stream }: ApiResponse,
  response: ServerResponse,
): void {
  if (stream) {
    sayKeptAlive(response)
    const headers = { ...letterhead.headers, ...said.headers, 'Transfer-Encoding': 'chunked' }
    response.writeHead(status, headers)
    return void sendStream(stream, response)
  }
  if (body !== undefined && isUsual(status, response)) {
    // What Node would write, put together at once: looking at one header after the other takes it longer than all else.
    ;(response as Head)._header =
      `${status === 200 ? ok : created}${letterhead.text}${said.lines}${lastLines()}`
  } else {
    const { Connection: connection, ...headers } = letterhead.headers
    if (connection !== undefined) response.setHeader('Connection', connection)
    sayKeptAlive(response)
    response.writeHead(status, { ...headers, ...said.headers })
    if (body !== undefined && closesBeforeRequestEnd(response, response.getHeader('Connection'))) {
      response.write(body)
      lingeringClose(response.req.socket)
      return
    }
  }
  // A text of ASCII alone is sent as it is, in one piece with its headers.
  response.end(body, isAscii ? 'latin1' : 'utf8')
}

/** Whether the connection is to be closed while the client may still be sending the request. */
export const closesBeforeRequestEnd = (response: ServerResponse, connection: unknown): boolean =>
  connection === 'close' && response.socket !== null && !response.req.complete

const keepAlive = `timeout=${keepAliveSeconds}`
const keptAlive = `Connection: keep-alive\r\nKeep-Alive: ${keepAlive}\r\n\r\n`
const ok = 'HTTP/1.1 200 OK\r\n'
const created = 'HTTP/1.1 201 Created\r\n'

/** Node itself is told of no time, and so would say none. To HTTP/1.0 it may yet decide to close. */
export function sayKeptAlive(response: ServerResponse): void {
  const { shouldKeepAlive, req } = response
  if (shouldKeepAlive && req.httpVersion === '1.1' && !response.hasHeader('Connection'))
    response.setHeader('Keep-Alive', keepAlive)
}

/** An answer about whose head Node has nothing to decide. */
const isUsual = (status: number, response: ServerResponse): boolean =>
  (status === 200 || status === 201) &&
  response.req.method !== 'HEAD' &&
  response.shouldKeepAlive &&
  (response as Head)._header === null &&
  !response.hasHeader('Connection')

let shownSecond = 0
let shownLines = ''

/** Those at the end of a head, which change with the second. */
function lastLines(): string {
  const second = Math.trunc(systemClock() / 1000)
  if (second !== shownSecond) {
    shownSecond = second
    shownLines = `Date: ${new Date(second * 1000).toUTCString()}\r\n${keptAlive}`
  }
  return shownLines
}

/** Reads no further than it takes to know that there is too much. */
function collect(message: IncomingMessage, bytesMax: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let isWhole = false
    const take = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) {
        message.off('data', take)
        message.pause()
        resolve(undefined)
      } else chunks.push(chunk)
    }
    message.on('data', take)
    message.on('end', () => {
      isWhole = true
      resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    })
    message.on('error', reject)
    message.once(bodyErrorEvent, reject)
    message.on('close', () => {
      if (!isWhole) reject(new Error('The body broke off.'))
    })
  })
}
