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

let apiKey: string | undefined
let onUnauthorized: (error: RequestError) => void = () => {}

/** The key of all requests. It is sent as a header and nowhere else. */
export function setKey(key: string | undefined): void {
  apiKey = key
}

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
  return (await send(id, (options ?? {}) as CallOptions<Id>)).data
}

/** The same, with the ETag and the cursor of the next page. */
export async function send<Id extends OperationId>(
  id: Id,
  options: CallOptions<Id>,
): Promise<Result<Operations[Id]['response']>> {
  const [method, path] = operations[id]
  const { params, query, body, signal, ifMatch, keepalive } = options
  const headers: Record<string, string> = { ...authorization(), Accept: 'application/json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (ifMatch !== undefined) headers['If-Match'] = ifMatch
  // A repetition by the browser or a proxy does not repeat the change.
  if (method === 'POST') headers['Idempotency-Key'] = crypto.randomUUID()
  const response = await fetchOrFail(`${basePath}${fillPath(path, params)}${queryString(query)}`, {
    method,
    headers,
    cache: 'no-store',
    credentials: 'omit',
    keepalive: keepalive ?? false,
    signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    ...(body !== undefined && { body: toJson(body) }),
  })
  if (!response.ok) throw await failure(response)
  const text = await response.text()
  return {
    data: (text === '' ? undefined : parseJson(text)) as Operations[Id]['response'],
    etag: response.headers.get('etag') ?? undefined,
    nextCursor: nextCursor(response.headers.get('link')),
  }
}

export async function fetchOrFail(url: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch (error) {
    if (isAbort(error)) throw error
    throw new RequestError('network_error', 'The service cannot be reached. Check your connection.')
  }
  learnTime(response.headers.get('date'))
  return response
}

/** The error of a response that is not ok. */
export async function failure(response: Response): Promise<RequestError> {
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
  if (response.status === 401) onUnauthorized(error)
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
