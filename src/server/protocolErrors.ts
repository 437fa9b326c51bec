import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiRequest, RequestProblem } from '../api/request.ts'
import type { ApiResponse } from '../api/response.ts'
import { systemClock } from '../clock.ts'
import { http } from '../nodeHttp.ts'

/** Each takes about 100 bytes of memory in addition to its characters. */
const headersMax = 100
const problems: Readonly<Record<string, RequestProblem>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'chunk_extensions_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'timeout',
}

/** By the error code of Node's parser and of its request timers. */
export const toRequestProblem = (code: string | undefined): RequestProblem =>
  problems[code ?? ''] ?? 'invalid_http'

/**
 * Whether `chunked` is the only transfer coding. Node accepts others before it, and lets requests of HTTP/1.0 have it. A
 * proxy may see a different end of such a request, which allows request smuggling (RFC 9112, 6.1).
 */
export const hasUnambiguousLength = (transferEncoding: string | undefined, httpVersion = '1.1'): boolean =>
  transferEncoding === undefined || (httpVersion === '1.1' && transferEncoding.toLowerCase() === 'chunked')

/** What makes the headers of a request unacceptable that Node accepts. */
export function headerProblem({
  rawHeaders,
  headers,
  httpVersion,
}: IncomingMessage): RequestProblem | undefined {
  if (rawHeaders.length > 2 * headersMax) return 'headers_too_large'
  return hasUnambiguousLength(headers['transfer-encoding'], httpVersion) ? undefined : 'invalid_http'
}

/** Stands for bytes that could not be parsed as a request. */
export const unreadableRequest = ({ remoteAddress = '' }: Socket, problem: RequestProblem): ApiRequest => ({
  method: '',
  target: '',
  remoteAddress,
  problem,
  header: () => undefined,
  body: async () => new Uint8Array(),
})

/** Node has no response object for what it could not parse, so this response is written to the socket. */
export function writeToSocket(socket: Socket, { status, headers, body }: ApiResponse): void {
  const all = [...headers, 'Date', new Date(systemClock()).toUTCString()]
  let head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n`
  for (let index = 0; index < all.length; index += 2) head += `${all[index]}: ${all[index + 1]}\r\n`
  socket.write(`${head}\r\n`)
  if (body !== undefined) socket.write(body)
}
