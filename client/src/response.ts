import { PetstoreError, RateLimitError } from './errors.ts'
import { parseJson } from './json.ts'
import { rateLimitWindows } from './scheduler.ts'
import type { Error as ErrorBody, ErrorCode } from './schema.ts'

/** The pause after a 429 that does not say how long to wait. */
const unknownRetryAfterMs = 60_000

export const isRetryableStatus = (status: number): boolean =>
  status === 408 || status === 429 || status >= 500

/** The object or array of a successful response. */
export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text()
  if (response.status === 204) return undefined
  let data: unknown
  try {
    data = parseJson(text)
  } catch (error) {
    // Incomplete JSON is treated as a lost connection.
    if (/\bjson\b/i.test(response.headers.get('content-type') ?? '')) throw error
  }
  if (typeof data !== 'object' || data === null) throw unexpectedResponse(response)
  return data
}

/** The body of a successful response that is not JSON. */
export async function readBlob(response: Response, types: readonly string[]): Promise<Blob> {
  const blob = await response.blob()
  if (!types.some((type) => blob.type.startsWith(type))) throw unexpectedResponse(response)
  return blob
}

export async function readList(response: Response): Promise<unknown> {
  const data = await readJson(response)
  if (!Array.isArray(data)) throw unexpectedResponse(response)
  return data
}

export const unexpectedResponse = ({ status, headers }: Response): PetstoreError =>
  new PetstoreError(
    'unexpected_response',
    `The response with the status ${status} is not one of the API. Check baseUrl.`,
    { status, requestId: headers.get('x-request-id') ?? undefined },
  )

export async function errorOf(response: Response): Promise<PetstoreError> {
  const { status, headers } = response
  const text = await response.text().catch((error: unknown) => {
    // If the request is repeated anyway, the status and the headers are enough.
    if (isRetryableStatus(status)) return ''
    throw error
  })
  // The client follows no redirects: a POST would become a GET.
  if (status < 400) return unexpectedResponse(response)
  let body: { [Name in keyof ErrorBody]?: unknown } = {}
  try {
    body = Object(JSON.parse(text))
  } catch {
    // Not JSON, for example from a proxy.
  }
  const code = typeof body.code === 'string' ? (body.code as ErrorCode) : 'unexpected_response'
  const ErrorClass = status === 429 ? RateLimitError : PetstoreError
  return new ErrorClass(
    code,
    typeof body.message === 'string'
      ? body.message
      : `The response has the status ${status} and no description.`,
    {
      status,
      details: Array.isArray(body.details) ? body.details : undefined,
      requestId: headers.get('x-request-id') ?? undefined,
      retryAfterMs:
        retryAfterMs(headers.get('retry-after')) ??
        (status === 429 && code !== 'too_many_streams' ? windowEndMs(headers) : undefined),
    },
  )
}

/** Seconds or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return ms >= 0 ? ms : undefined
}

/** The time until the windows without requests left have ended. */
function windowEndMs(headers: Headers): number {
  const full = rateLimitWindows(headers).filter(({ left }) => left === 0)
  return full.length === 0 ? unknownRetryAfterMs : Math.max(...full.map(({ endsInMs }) => endsInMs))
}
