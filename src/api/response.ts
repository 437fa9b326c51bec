import { matchesIfNoneMatch } from './etag.ts'
import type { Deprecation, Operation, OperationResult } from './operation.ts'
import type { ApiRequest } from './request.ts'
import type { StreamBody } from './streamBody.ts'

export type HeaderFields = Readonly<Record<string, string>>

/** Header names and values in turn. */
export type HeaderBlock = readonly string[]

/** A response before the headers of its caller are known. Cached responses are shared between callers. */
export type PreparedResponse = {
  readonly status: number
  readonly headers: HeaderBlock
  readonly body?: string | Uint8Array | undefined
  /** Every character of the body is one byte, which Node writes faster. */
  readonly isAscii?: boolean | undefined
  /** In place of `body`. */
  readonly stream?: StreamBody | undefined
}

/** With the headers of its caller: request id, rate limit and CORS. No other response has the same array, so a server can add to it. */
export type ApiResponse = PreparedResponse & { readonly headers: string[] }

const json = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Origin',
}
const { 'Content-Type': _, ...empty } = json
const stream = {
  ...json,
  'Content-Type': 'text/event-stream; charset=utf-8',
  // A proxy that buffers responses would hold the stream back.
  'X-Accel-Buffering': 'no',
}

/** `common`: headers of all responses of the operation. */
export function prepareResponse(
  { status, headers = {}, json: text, bytes: binary, stream: events }: OperationResult,
  common: HeaderFields = {},
): PreparedResponse {
  const body = text ?? binary
  const kind = text === undefined ? (events ? stream : empty) : json
  const fields: Record<string, string> = { ...kind, ...common, ...headers }
  if (common.Link !== undefined && headers.Link !== undefined) fields.Link = `${headers.Link}, ${common.Link}`
  if (status === 401) fields['WWW-Authenticate'] = 'Bearer'
  const bytes = body === undefined ? 0 : Buffer.byteLength(body)
  if (body !== undefined) fields['Content-Length'] = String(bytes)
  return { status, headers: headerBlock(fields), body, isAscii: bytes === body?.length, stream: events }
}

const rowHeaders = new WeakMap<HeaderFields, HeaderBlock>()

/** The response to a read of one cached row. The headers before the ETag are the same for all rows. */
export function rowResponse(row: { etag: string; json: string }, common: HeaderFields): PreparedResponse {
  let shared = rowHeaders.get(common)
  if (!shared) {
    shared = headerBlock({ ...json, ...common })
    rowHeaders.set(common, shared)
  }
  const { etag, json: body } = row
  const bytes = Buffer.byteLength(body)
  const headers = [...shared, 'ETag', etag, 'Content-Length', String(bytes)]
  return { status: 200, headers, body, isAscii: bytes === body.length }
}

export function headerBlock(fields: HeaderFields): string[] {
  const block: string[] = []
  for (const name in fields) block.push(name, fields[name] as string)
  return block
}

export function headerValue(block: HeaderBlock, name: string): string | undefined {
  for (let index = 0; index < block.length; index += 2) if (block[index] === name) return block[index + 1]
  return undefined
}

const contentHeaders = new Set(['Content-Type', 'Content-Length', 'Content-Encoding'])

/**
 * Evaluates If-None-Match: 304 if the client has the current representation, and the operation declares it. A HEAD request
 * gets no stream.
 */
export function conditionalResponse(
  request: ApiRequest,
  response: PreparedResponse,
  operation?: Operation,
): PreparedResponse {
  const { method } = request
  const ifNoneMatch = request.header('if-none-match')
  const { status, headers, stream: events } = response
  if (events && method === 'HEAD') {
    events.cancel()
    return { status, headers }
  }
  if (operation && !(304 in operation.responses)) return response
  if (ifNoneMatch === undefined || status !== 200 || (method !== 'GET' && method !== 'HEAD')) return response
  const etag = headerValue(headers, 'ETag')
  if (etag === undefined || !matchesIfNoneMatch(ifNoneMatch, etag)) return response
  return {
    status: 304,
    headers: headers.filter((_, index) => !contentHeaders.has(headers[index - (index % 2)] as string)),
  }
}

/** Headers of all responses of an operation. */
export const operationHeaders = ({ stability, deprecation }: Operation, publicUrl: string | undefined) => ({
  ...(stability && stability !== 'stable' && { 'X-Stability': stability }),
  ...(deprecation && deprecationHeaders(deprecation, publicUrl)),
})

const deprecationHeaders = ({ sinceMs, sunsetMs, guide, successor }: Deprecation, publicUrl = '') => ({
  Deprecation: `@${sinceMs / 1000}`,
  Sunset: new Date(sunsetMs).toUTCString(),
  Link: `<${publicUrl}${guide}>; rel="deprecation"; type="text/html", <${publicUrl}${successor}>; rel="successor-version"`,
})
