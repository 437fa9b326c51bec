import { randomUUID } from 'node:crypto'
import type { BlockList } from 'node:net'
import type { Kysely } from 'kysely'
import type * as z from 'zod'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { clientAddress } from './address.ts'
import { parseBody, readBody } from './body.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { deprecationHeaders } from './deprecation.ts'
import type { Door } from './door.ts'
import { ApiError, toApiError } from './errors.ts'
import { matchesAny } from './etag.ts'
import { eraseFromKeptAnswers, type IdempotentAnswers, idempotencyKey } from './idempotency.ts'
import { type Answer, answer, type Caller, type Input, type Method, type Operation } from './operation.ts'
import { readQuery } from './query.ts'
import { allowedMethods, type Route, RouteTable } from './routeTable.ts'
import { refuseUnknownFields, validate } from './validation.ts'

export const basePath = '/v1'

export type Finished = {
  readonly requestId: string
  readonly method: string
  readonly path: string
  readonly operation: Operation | undefined
  readonly caller: Caller | undefined
  readonly address: string
  readonly status: number
  readonly code: string | undefined
  readonly seconds: number
  /** What was thrown, where the answer is a 5xx. */
  readonly fault: unknown
}

export type ApiOptions = {
  readonly operations: readonly Operation[]
  readonly door: Door
  readonly database: Database
  readonly idempotentAnswers: IdempotentAnswers
  readonly clock: Clock
  readonly trustedProxies: BlockList
  readonly publicUrl: string | undefined
  onFinished(finished: Finished): void
}

type AnyInput = Input<z.ZodObject, z.ZodObject, z.ZodObject>

/** What is known of one request on its way. */
type Exchange = {
  readonly request: Request
  readonly method: string
  readonly path: string
  readonly route: Route | undefined
  readonly operation: Operation | undefined
  readonly address: string
  readonly now: number
  /** Set by the steps, sent with whatever answer there is. */
  readonly headers: Record<string, string>
  caller: Caller | undefined
}

export function createApi(options: ApiOptions) {
  const { door, database, idempotentAnswers, clock, publicUrl } = options
  const table = new RouteTable(options.operations)

  /** The pipeline: every request under the base path goes through these steps, in this order. */
  async function serve(exchange: Exchange): Promise<Answer> {
    if (exchange.method === 'OPTIONS') return describeOptions(exchange)
    await admit(exchange) // 401, 429
    const operation = chooseOperation(exchange) // 404, 405, 410
    const caller = authorize(exchange, operation) // 403
    return operation.write
      ? await change(exchange, operation, caller)
      : await look(exchange, operation, caller) // 400 and on
  }

  async function handle(request: Request, remoteAddress: string): Promise<Response> {
    const startedAt = performance.now()
    const exchange = begin(request, remoteAddress)
    let result: Answer
    let code: string | undefined
    let fault: unknown
    try {
      await allowOrigin(exchange)
      result = await serve(exchange)
      result = notModified(exchange, result)
    } catch (thrown) {
      const error = toApiError(thrown)
      if (error.status >= 500) fault = thrown
      code = error.code
      result = answer(error.status, error.body, error.headers)
    }
    const { method, path, operation, caller, address } = exchange
    // Where nobody was admitted, the address's windows are the ones that apply.
    if (!('X-RateLimit-Limit' in exchange.headers)) Object.assign(exchange.headers, door.headersFor(address))
    const requestId = exchange.headers['X-Request-Id'] as string
    const seconds = (performance.now() - startedAt) / 1000
    const { status } = result
    options.onFinished({ requestId, method, path, operation, caller, address, status, code, seconds, fault })
    return respond(exchange, result)
  }

  function begin(request: Request, remoteAddress: string): Exchange {
    const path = pathOf(request.url)
    const route = table.find(path.slice(basePath.length))
    const method = request.method
    const operation = route?.operations.get((method === 'HEAD' ? 'GET' : method) as Method)
    const address = clientAddress(
      remoteAddress,
      request.headers.get('x-forwarded-for'),
      options.trustedProxies,
    )
    const headers: Record<string, string> = {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': 'private, no-cache',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': requestIdOf(request.headers.get('x-request-id')),
      Vary: 'Origin',
    }
    if (operation?.stability && operation.stability !== 'stable') headers['X-Stability'] = operation.stability
    if (operation?.deprecation) Object.assign(headers, deprecationHeaders(operation.deprecation, publicUrl))
    return { request, method, path, route, operation, address, now: clock(), headers, caller: undefined }
  }

  /** Until the key is known, an origin that any key is locked to may read what is answered, refusals included. */
  async function allowOrigin({ request, headers }: Exchange) {
    const origin = request.headers.get('origin')
    if (origin !== null && (await door.isKnownOrigin(origin))) Object.assign(headers, corsHeaders(origin))
  }

  function describeOptions({ route, headers }: Exchange): Answer {
    if (!route) throw new ApiError('not_found')
    const allowed = allowedMethods(route)
    const isAllowedOrigin = 'Access-Control-Allow-Origin' in headers
    return { status: 204, headers: { Allow: allowed, ...(isAllowedOrigin ? preflightHeaders(allowed) : {}) } }
  }

  async function admit(exchange: Exchange) {
    const { request, address, operation, headers } = exchange
    const authorization = request.headers.get('authorization') ?? undefined
    const admission = await door.admit({ authorization, address, isFree: operation?.isFree ?? false })
    Object.assign(headers, admission.headers)
    exchange.caller = admission.caller
    if (admission.caller && !isHome(request, admission.caller)) {
      delete headers['Access-Control-Allow-Origin']
      delete headers['Access-Control-Expose-Headers']
    }
    if (admission.refusal) throw admission.refusal
  }

  function chooseOperation({ route, operation, now }: Exchange): Operation {
    if (!route) throw new ApiError('not_found')
    if (!operation)
      throw new ApiError('method_not_allowed', undefined, { headers: { Allow: allowedMethods(route) } })
    const { deprecation } = operation
    if (deprecation && now >= deprecation.sunsetMs)
      throw new ApiError('operation_removed', deprecation.message)
    return operation
  }

  function authorize({ request, caller }: Exchange, operation: Operation): Caller {
    if (!caller) throw new ApiError('missing_api_key')
    if (caller.origins.length > 0 && !isHome(request, caller)) throw new ApiError('origin_not_allowed')
    if (operation.scope !== undefined && !caller.scopes.has(operation.scope)) {
      throw new ApiError(
        'insufficient_scope',
        `This API key lacks the scope "${operation.scope}": ask the operator for it.`,
      )
    }
    return caller
  }

  async function look(exchange: Exchange, operation: Operation, caller: Caller): Promise<Answer> {
    if (!operation.read) throw new Error(`${operation.id} neither reads nor writes.`)
    return operation.read(readInput(exchange, operation), contextOf(exchange, caller, clock))
  }

  async function change(exchange: Exchange, operation: Operation, admitted: Caller): Promise<Answer> {
    const { request, method, path, now } = exchange
    const admittedAt = performance.now()
    const bytes = await readBody(request)
    const current = await door.recall(admitted, performance.now() - admittedAt)
    if (!current) throw new ApiError('invalid_api_key', 'This API key ended while the request was coming in.')
    const caller = authorize({ ...exchange, caller: current }, operation)
    const key =
      method === 'POST' ? idempotencyKey(request.headers.get('idempotency-key') ?? undefined) : undefined
    const actions: (() => void)[] = []
    const context = {
      ...contextOf(exchange, caller, clock),
      afterCommit: (action: () => void) => void actions.push(action),
    }
    const run = async (trx: Kysely<Tables>, input: AnyInput) =>
      operation.write?.(input, {
        ...context,
        trx,
        eraseFromKeptAnswers: (concern, erase) => eraseFromKeptAnswers(trx, concern, erase),
      }) as Promise<Answer>
    let result: Answer
    if (key === undefined) {
      // Bad input is refused before it costs a place in the queue of writes.
      const input = readInput(exchange, operation, bytes)
      result = await database.write((trx) => run(trx, input))
    } else {
      const attempt = { key, caller, method, path, bytes, isSecret: operation.hasSecretAnswer ?? false, now }
      result = await idempotentAnswers.once(attempt, (trx) => run(trx, readInput(exchange, operation, bytes)))
    }
    for (const action of actions) action()
    return result
  }

  function readInput(exchange: Exchange, operation: Operation, bytes?: Uint8Array): AnyInput {
    const { request, route, headers } = exchange
    const input: { params: unknown; query: unknown; body: unknown } = { params: {}, query: {}, body: {} }
    if (operation.params) {
      const parsed = operation.params.safeParse(route?.params)
      if (!parsed.success) throw new ApiError(operation.notFound ?? 'not_found')
      input.params = parsed.data
    }
    if (operation.query) input.query = readQuery(operation.query, request.url)
    if (operation.body && bytes && !(operation.isBodyOptional && bytes.length === 0)) {
      const body = parseBody(request, bytes)
      // Asked first: a field that seems to be missing may be there under a misspelt name.
      if (/(?:^|[,;\s])handling\s*=\s*"?strict\b(?!-)/i.test(request.headers.get('prefer') ?? '')) {
        refuseUnknownFields(operation.body, body)
        headers['Preference-Applied'] = 'handling=strict'
      }
      input.body = validate(operation.body, body, 'body')
    }
    return input as AnyInput
  }

  return handle
}

function contextOf({ request, now, address }: Exchange, caller: Caller, clock: Clock) {
  return { now, clock, caller, address, header: (name: string) => request.headers.get(name) ?? undefined }
}

/** Whether a request comes from one of the origins that its key is locked to. */
function isHome(request: Request, caller: Caller): boolean {
  const origin = request.headers.get('origin')
  return origin !== null && caller.origins.includes(origin)
}

function notModified({ request, method }: Exchange, result: Answer): Answer {
  const etag = result.headers?.ETag
  const known = request.headers.get('if-none-match')
  if (etag === undefined || known === null || result.status !== 200) return result
  if ((method !== 'GET' && method !== 'HEAD') || !matchesAny(known, etag)) return result
  return { status: 304, ...(result.headers && { headers: result.headers }) }
}

function respond(exchange: Exchange, { status, json, stream, headers }: Answer): Response {
  const all = { ...exchange.headers, ...headers }
  const links = [headers?.Link, exchange.headers.Link].filter((link) => link !== undefined)
  if (links.length > 0) all.Link = links.join(', ')
  if (status === 401) all['WWW-Authenticate'] = 'Bearer'
  if (stream) {
    // HEAD asks for the headers alone; nobody would ever read the stream.
    if (exchange.method === 'HEAD') void stream.cancel()
    return new Response(stream, {
      status,
      // Proxies that collect answers before they pass them on would hold a stream back.
      headers: { ...all, 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
    })
  }
  if (json === undefined) {
    const { 'Content-Type': _none, ...bare } = all
    return new Response(null, { status, headers: bare })
  }
  return new Response(json, { status, headers: all })
}

const requestIdOf = (given: string | null) =>
  given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID()

/** The path alone. Cut by hand, for the URL is well formed by now and parsing it again would cost. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}
