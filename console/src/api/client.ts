import { learnTime, now } from './clock.ts'
import { isAbort, RequestError } from './errors.ts'
import { parseJson, toJson } from './json.ts'
import { type Operations, operations, type Schemas } from './schema.ts'

export type OperationId = keyof Operations

type Optional<Name extends string, Value> = Value extends undefined
  ? { [Key in Name]?: undefined }
  : Partial<Value> extends Value
    ? { [Key in Name]?: Value }
    : { [Key in Name]: Value }

export type CallOptions<Id extends OperationId> = Optional<'params', Operations[Id]['params']> &
  Optional<'query', Operations[Id]['query']> &
  Optional<'body', Operations[Id]['body']> & {
    signal?: AbortSignal
    /** The request fails with `precondition_failed` if the resource has another ETag by now. */
    ifMatch?: string | undefined
    /** The form that sends the POST request. Without it, every call is a new request. */
    submission?: Submission
    /** The browser sends the request even if the page is being closed. */
    keepalive?: boolean
  }

export type Result<T> = {
  data: T
  etag: string | undefined
  /** The cursor of the next page. Undefined on the last page. */
  nextCursor: string | undefined
}

const basePath = '/v1'
const timeoutMs = 20_000

/**
 * The Idempotency-Key of a form. If the response was lost, sending the same request again does not repeat the change. A
 * response that was received ends it: otherwise an error would be replayed.
 */
export class Submission {
  #request: string | undefined
  #key = ''

  keyFor(request: string): string {
    if (request !== this.#request) this.#key = crypto.randomUUID()
    this.#request = request
    return this.#key
  }

  settle(): void {
    this.#request = undefined
  }
}

let apiKey: string | undefined
/** Grows at sign-out. */
let sessionNumber = 0
let onUnauthorized: (error: RequestError) => void = () => {}

/** The key of all requests. It is sent as a header and nowhere else. */
export function setApiKey(key: string | undefined): void {
  apiKey = key
  if (key === undefined) sessionNumber++
}

export const currentApiKey = (): string | undefined => apiKey

/** Called when the API rejects the key itself. */
export function handleUnauthorized(handler: (error: RequestError) => void): void {
  onUnauthorized = handler
}

export const authorization = (): Record<string, string> =>
  apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }

/** Calls an operation of the API and returns its body. Throws a RequestError. */
export async function call<Id extends OperationId>(
  id: Id,
  ...[options]: Partial<CallOptions<Id>> extends CallOptions<Id> ? [CallOptions<Id>?] : [CallOptions<Id>]
): Promise<Operations[Id]['response']> {
  return (await callWithHeaders(id, (options ?? {}) as CallOptions<Id>)).data
}

/** The same, with the ETag and the cursor of the next page. */
export async function callWithHeaders<Id extends OperationId>(
  id: Id,
  options: CallOptions<Id>,
): Promise<Result<Operations[Id]['response']>> {
  const [method, path] = operations[id]
  const { params, query, body, signal, ifMatch, keepalive, submission = new Submission() } = options
  const url = `${basePath}${fillPath(path, params)}${queryString(query)}`
  const text = body === undefined ? undefined : toJson(body)
  const key = apiKey
  const session = sessionNumber
  const headers: Record<string, string> = { ...authorization(), Accept: 'application/json' }
  if (text !== undefined) headers['Content-Type'] = 'application/json'
  if (ifMatch !== undefined) headers['If-Match'] = ifMatch
  if (method === 'POST') headers['Idempotency-Key'] = submission.keyFor(`${url} ${text}`)
  const response = await fetchOrFail(url, {
    method,
    headers,
    cache: 'no-store',
    credentials: 'omit',
    keepalive: keepalive ?? false,
    signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    ...(text !== undefined && { body: text }),
  })
  if (!response.ok) {
    const error = await failure(response, key)
    if (!isOutcomeUnknown(error)) submission.settle()
    throw error
  }
  const received = await orNetworkError(response.text())
  submission.settle()
  // The next session must not see what this one has loaded.
  if (session !== sessionNumber) throw new DOMException('The session has ended.', 'AbortError')
  return {
    data: parseBody(received) as Operations[Id]['response'],
    etag: response.headers.get('etag') ?? undefined,
    nextCursor: nextCursor(response.headers.get('link')),
  }
}

/** A proxy, or the sign-in page of a network, can replace a response. */
function parseBody(text: string): unknown {
  try {
    return text === '' ? undefined : parseJson(text)
  } catch {
    throw new RequestError(
      'internal_error',
      'The response is not from the service. A proxy or the network may have replaced it.',
    )
  }
}

/** The same request may still run, or may have failed after its change. */
const isOutcomeUnknown = ({ status, code }: RequestError): boolean =>
  status >= 500 || code === 'idempotency_in_progress'

export async function fetchOrFail(url: string, init: RequestInit): Promise<Response> {
  const response = await orNetworkError(fetch(url, init))
  learnTime(response.headers.get('date'))
  return response
}

/** The connection can end before the headers and before the end of the body. */
async function orNetworkError<T>(received: Promise<T>): Promise<T> {
  try {
    return await received
  } catch (error) {
    if (isAbort(error)) throw error
    throw new RequestError('network_error', 'The service cannot be reached. Check your connection.')
  }
}

/** The error of a response that is not ok, to a request with this key. */
export async function failure(response: Response, key: string | undefined): Promise<RequestError> {
  const body = (await response.json().catch(() => undefined)) as Partial<Schemas['Error']> | undefined
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const error = new RequestError(
    body?.code ?? 'internal_error',
    body?.message ?? `The service responded with status ${response.status}.`,
    {
      status: response.status,
      details: body?.details ?? [],
      requestId: response.headers.get('x-request-id') ?? undefined,
      retryAt: Number.isNaN(seconds) ? undefined : now() + seconds * 1000,
    },
  )
  // A late response to a request with an earlier secret says nothing about the current one.
  if (response.status === 401 && key === apiKey) onUnauthorized(error)
  return error
}

const fillPath = (path: string, params: Record<string, unknown> | undefined): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params?.[name])))

function queryString(query: Record<string, unknown> | undefined): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {}))
    for (const item of [value].flat())
      if (item !== undefined && item !== '') search.append(name, String(item))
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}

function nextCursor(link: string | null): string | undefined {
  const url = /<([^>]*)>; rel="next"/.exec(link ?? '')?.[1]
  return url === undefined
    ? undefined
    : (new URL(url, location.origin).searchParams.get('cursor') ?? undefined)
}
