import type { BlockList } from 'node:net'
import type { Kysely } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { Authenticator, AuthResult } from './authentication.ts'
import { readBody } from './body.ts'
import { createCachedRead, type RowCacheOptions } from './cachedRead.ts'
import { ApiCallerHeaders } from './callerHeaders.ts'
import { clientAddress } from './clientAddress.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { ApiError, toApiError } from './errors.ts'
import { eraseFromIdempotencyRecords, type IdempotencyRecords, idempotencyKey } from './idempotency.ts'
import { type AnyInput, readInput } from './input.ts'
import { type Method, type Operation, type OperationResult, type Principal, respond } from './operation.ts'
import type { ApiRequest } from './request.ts'
import {
  givenRequestId,
  headersOf,
  isHome,
  newRequestId,
  type RequestContext,
  type RequestLog,
} from './requestContext.ts'
import {
  type ApiResponse,
  notModified,
  type PreparedResponse,
  plainTemplate,
  ResponseTemplate,
  withoutStream,
} from './response.ts'
import { allowedMethods, Router } from './router.ts'

const basePath = '/v1'

type ApiOptions = {
  readonly operations: readonly Operation[]
  readonly door: Authenticator
  readonly database: Database
  readonly idempotentAnswers: IdempotencyRecords
  readonly clock: Clock
  readonly trustedProxies: BlockList
  readonly publicUrl: string | undefined
  /** Nothing where nobody can tell which rows have changed. */
  readonly keptRows: RowCacheOptions | undefined
  onFinished(finished: RequestLog): void
}

export function createApi(options: ApiOptions) {
  const { door, database, idempotentAnswers, clock, publicUrl } = options
  const table = new Router(options.operations)
  const look = createCachedRead({
    clock,
    keptRows: options.keptRows,
    currentVersion: () => database.version(),
  })
  const stationeries = new Map(
    options.operations.map((operation) => [operation, new ResponseTemplate(headersOf(operation, publicUrl))]),
  )

  /** The pipeline: every request under the base path goes through these steps, in this order. */
  function serve(exchange: RequestContext): MaybePromise<PreparedResponse> {
    if (exchange.method === 'OPTIONS') return describeOptions(exchange)
    const admission = admit(exchange) // 401, 403 for the origin, 429
    return chain(admission, () => work(exchange))
  }

  function work(exchange: RequestContext): MaybePromise<PreparedResponse> {
    const operation = chooseOperation(exchange) // 404, 405, 410
    const caller = authorize(exchange.request, exchange.principal, operation) // 403
    return operation.write ? change(exchange, operation, caller) : look(exchange, operation, caller) // 400 and on
  }

  function handle(incoming: ApiRequest): MaybePromise<ApiResponse> {
    const exchange = begin(incoming)
    let served: MaybePromise<PreparedResponse>
    try {
      served =
        incoming.header('origin') === undefined
          ? serve(exchange)
          : allowOrigin(exchange).then(() => serve(exchange))
    } catch (thrown) {
      return refuse(exchange, thrown)
    }
    if (!(served instanceof Promise)) return finish(exchange, served)
    return served.then(
      (found) => finish(exchange, found),
      (thrown: unknown) => refuse(exchange, thrown),
    )
  }

  function refuse(exchange: RequestContext, thrown: unknown): ApiResponse {
    const error = toApiError(thrown)
    const fault = error.status >= 500 ? thrown : undefined
    const { status, body, headers } = error
    return finish(exchange, exchange.template.prepare(respond(status, body, headers)), error.code, fault)
  }

  function finish(
    exchange: RequestContext,
    found: PreparedResponse,
    code?: string,
    fault?: unknown,
  ): ApiResponse {
    const {
      request: incoming,
      requestId,
      isRequestIdGenerated: isOwnRequestId,
      method,
      path,
      operation,
      principal: caller,
      address,
      corsHeaders: more,
      startedAt,
    } = exchange
    const result = notModified(
      method,
      incoming.header('if-none-match'),
      method === 'HEAD' && found.stream ? withoutStream(found) : found,
    )
    // Where nobody was admitted, the address's windows are the ones that apply.
    const said = new ApiCallerHeaders(
      exchange.rateLimitHeaders ?? door.rateLimitHeadersFor(address),
      requestId,
      more,
    )
    const seconds = (performance.now() - startedAt) / 1000
    const { status, letterhead, body, stream, isAscii = false } = result
    options.onFinished({
      requestId,
      isRequestIdGenerated: isOwnRequestId,
      method,
      path,
      operation,
      principal: caller,
      address,
      status,
      code,
      seconds,
      error: fault,
    })
    return { status, letterhead, said, body, isAscii, stream }
  }

  function begin(incoming: ApiRequest): RequestContext {
    const startedAt = performance.now()
    const { method, target } = incoming
    const givenId = givenRequestId(incoming.header('x-request-id'))
    const requestId = givenId ?? newRequestId()
    const end = target.indexOf('?')
    const path = end === -1 ? target : target.slice(0, end)
    const route = table.find(path.slice(basePath.length))
    const operation = route?.operations.get((method === 'HEAD' ? 'GET' : method) as Method)
    const forwarded = incoming.header('x-forwarded-for')
    const address = clientAddress(incoming.remoteAddress, forwarded, options.trustedProxies)
    return {
      request: incoming,
      startedAt,
      requestId,
      isRequestIdGenerated: givenId === undefined,
      method,
      path,
      route,
      operation,
      address,
      now: clock(),
      template: (operation && stationeries.get(operation)) ?? plainTemplate,
      corsHeaders: undefined,
      rateLimitHeaders: undefined,
      principal: undefined,
      storeVersion: undefined,
    }
  }

  /** Until the key is known, an origin that any key is locked to may read what is answered, refusals included. */
  async function allowOrigin(exchange: RequestContext) {
    const origin = exchange.request.header('origin')
    if (origin !== undefined && (await door.isKnownOrigin(origin))) exchange.corsHeaders = corsHeaders(origin)
  }

  function describeOptions({
    request: incoming,
    route,
    corsHeaders: more,
  }: RequestContext): PreparedResponse {
    const isPreflight = more !== undefined && incoming.header('access-control-request-method') !== undefined
    // A preflight that failed would hide the 404 of the request itself from the page.
    if (!route && !isPreflight) throw new ApiError('not_found')
    return plainTemplate.prepare({
      status: 204,
      headers: { ...(route && { Allow: allowedMethods(route) }), ...(more && preflightHeaders) },
    })
  }

  function admit(exchange: RequestContext): MaybePromise<void> {
    const { request: incoming, address, operation } = exchange
    const authorization = incoming.header('authorization')
    const origin = incoming.header('origin')
    const admission = door.authenticate({
      authorization,
      address,
      origin,
      rateLimitExempt: operation?.rateLimitExempt ?? false,
    })
    return chain(admission, (given) => enter(exchange, given))
  }

  function enter(
    exchange: RequestContext,
    { principal: caller, error: refusal, rateLimitHeaders: rates, storeVersion }: AuthResult,
  ): void {
    exchange.rateLimitHeaders = rates
    exchange.principal = caller
    exchange.storeVersion = storeVersion
    // Until now it says which origin may read the answer, and nothing else.
    if (caller && exchange.corsHeaders && !isHome(exchange.request, caller)) exchange.corsHeaders = undefined
    if (refusal) throw refusal
  }

  function chooseOperation({ route, operation, now }: RequestContext): Operation {
    if (!route) throw new ApiError('not_found')
    if (!operation)
      throw new ApiError('method_not_allowed', undefined, { headers: { Allow: allowedMethods(route) } })
    const { deprecation } = operation
    if (deprecation && now >= deprecation.sunsetMs)
      throw new ApiError('operation_removed', deprecation.message)
    return operation
  }

  function authorize(incoming: ApiRequest, caller: Principal | undefined, operation: Operation): Principal {
    if (!caller) throw new ApiError('missing_api_key')
    if (caller.origins.length > 0 && !isHome(incoming, caller)) throw new ApiError('origin_not_allowed')
    if (operation.scope !== undefined && !caller.scopes.has(operation.scope)) {
      throw new ApiError(
        'insufficient_scope',
        `This API key lacks the scope "${operation.scope}": ask the operator for it.`,
      )
    }
    return caller
  }

  async function change(
    exchange: RequestContext,
    operation: Operation,
    admitted: Principal,
  ): Promise<PreparedResponse> {
    const { request: incoming, method, path, address, now } = exchange
    const admittedAt = performance.now()
    const bytes = await readBody(incoming)
    const current = await door.reauthenticate(admitted, performance.now() - admittedAt)
    if (!current) throw new ApiError('invalid_api_key', 'This API key ended while the request was coming in.')
    // The key can have become publishable, or lost a scope, while the body was coming in.
    const caller = current === admitted ? admitted : authorize(incoming, current, operation)
    const key = method === 'POST' ? idempotencyKey(incoming.header('idempotency-key')) : undefined
    let actions: (() => void)[] = []
    const run = (trx: Kysely<Tables>, input: AnyInput) => {
      // What failed together with others may be run again.
      actions = []
      return operation.write?.(input, {
        now,
        clock,
        principal: caller,
        address,
        header: (name) => incoming.header(name),
        trx,
        eraseFromIdempotencyRecords: (concern, erase) => eraseFromIdempotencyRecords(trx, concern, erase),
        afterCommit: (action) => void actions.push(action),
      }) as Promise<OperationResult>
    }
    const onDurable = () => {
      for (const action of actions) action()
    }
    let result: OperationResult
    if (key === undefined) {
      // Bad input is refused before it costs a place in the queue of writes.
      const input = readInput(exchange, operation, bytes)
      result = await database.write((trx) => run(trx, input), onDurable)
    } else {
      const attempt = {
        key,
        caller,
        method,
        path,
        bytes,
        isSecret: operation.hasSecretResponse ?? false,
        now,
      }
      const once = (trx: Kysely<Tables>) => run(trx, readInput(exchange, operation, bytes))
      result = await idempotentAnswers.once(attempt, once, onDurable)
    }
    return exchange.template.prepare(result)
  }

  return handle
}
