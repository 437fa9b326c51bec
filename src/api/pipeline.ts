import type { BlockList } from 'node:net'
import { chain, type MaybePromise } from '../maybePromise.ts'
import {
  type Authenticator,
  type AuthorizedRequest,
  type AuthResult,
  authorize,
  type RequestLog,
  type RequestState,
} from './authentication.ts'
import { clientAddress } from './clientAddress.ts'
import { allowKnownOrigin, corsHeaders, optionsResponse, restrictOrigin } from './cors.ts'
import { ApiError, apiErrors, protocolError, toApiError } from './errors.ts'
import { type ExecuteOptions, Executor } from './executor.ts'
import { appliedPreference } from './input.ts'
import { type Method, type Operation, respond } from './operation.ts'
import { PageRunner, type PageRunnerOptions } from './pageRunner.ts'
import { type ApiRequest, isChange, newRequestId, parseRequestId } from './request.ts'
import {
  type ApiResponse,
  conditionalResponse,
  type HeaderFields,
  headerBlock,
  operationHeaders,
  type PreparedResponse,
  prepareResponse,
} from './response.ts'
import { isApiPath, methodNotAllowed, type Route, Router, type WebPage } from './router.ts'

export type PipelineOptions = ExecuteOptions &
  PageRunnerOptions & {
    readonly pages: readonly WebPage[]
    readonly trustedProxies: BlockList
    onFinished(finished: RequestLog): void
    /** Called instead of `onFinished` for a request that is rejected because there are too many. */
    onShed(address: string): void
  }

const publicHeaders = corsHeaders('*')
const noHeaders: HeaderFields = {}
const errorPageHeaders = { 'Cache-Control': 'no-store' }
const noParams: Route['params'] = {}
const overload = protocolError('overloaded')
/** Made once: rejecting a request must take much less time than serving it. */
const overloadResponse = prepareResponse(respond(overload.status, overload.body, overload.headers))

/** The steps that every request goes through, in order. */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #router: Router
  readonly #executor: Executor
  readonly #pages: PageRunner
  readonly #commonHeaders: ReadonlyMap<Operation, HeaderFields>
  /** Writes that wait for a batch, before the database knows of them. */
  readonly writesWaiting = () => this.#executor.waiting

  constructor(options: PipelineOptions) {
    const { operations, pages, publicUrl } = options
    this.#options = options
    this.#router = new Router(operations, pages)
    this.#executor = new Executor(options)
    this.#pages = new PageRunner(options)
    this.#commonHeaders = new Map(operations.map((one) => [one, operationHeaders(one, publicUrl)]))
  }

  /** Nothing is awaited that is available: the response to a cached read is there without a promise. */
  handle(request: ApiRequest): MaybePromise<ApiResponse> {
    const state = this.#receive(request) // request id, client address, route
    const isUnreadable = request.problem !== undefined && request.problem !== 'overloaded'
    return isUnreadable || isApiPath(state) ? this.#serveApi(state) : this.#servePage(state)
  }

  #serveApi(state: RequestState): MaybePromise<ApiResponse> {
    let served: MaybePromise<PreparedResponse>
    try {
      served = this.#runSteps(state)
    } catch (thrown) {
      return this.#finish(state, failure(state, thrown))
    }
    if (!(served instanceof Promise)) return this.#finish(state, served)
    return served
      .catch((thrown: unknown) => failure(state, thrown))
      .then((response) => this.#finish(state, response))
  }

  #runSteps(state: RequestState): MaybePromise<PreparedResponse> {
    const { authenticator } = this.#options
    const { problem, method } = state.request
    const isOverload = problem === 'overloaded'
    if (problem && !isOverload) throw protocolError(problem) // 400, 408, 413, 431
    return chain(allowKnownOrigin(state.origin, authenticator), (cors) => {
      state.extraHeaders = cors
      if (method === 'OPTIONS') return optionsResponse(state.request, state.route, cors) // 404
      if (isOverload) return overloadResponse // 503
      // Counted for the rate limit.
      return chain(authenticate(state, authenticator), (auth) => this.#runOperation(state, auth))
    })
  }

  #runOperation(state: RequestState, auth: AuthResult): MaybePromise<PreparedResponse> {
    const { request } = state
    state.rateLimitHeaders = auth.rateLimitHeaders
    state.principal = auth.principal
    state.databaseVersion = auth.databaseVersion
    state.extraHeaders = restrictOrigin(state.extraHeaders, state.origin, auth)
    if (auth.error) throw auth.error // 401, 403, 429
    const operation = selectOperation(state) // 404, 405, 410
    authorize(state.origin, auth.principal, operation) // 403
    const preference = appliedPreference(request, operation)
    if (preference) state.extraHeaders = { ...state.extraHeaders, ...preference }
    return this.#executor.execute(state as AuthorizedRequest) // 400, 409, 412 and others
  }

  #finish(state: RequestState, prepared: PreparedResponse): ApiResponse {
    const { requestId, extraHeaders, address, operation } = state
    const response = conditionalResponse(state.request, prepared, operation) // 304, HEAD
    if (prepared === overloadResponse) this.#options.onShed(address)
    else this.#report(state, response.status)
    const rates = state.rateLimitHeaders ?? this.#options.authenticator.rateLimitHeadersFor(address)
    const headers = [...response.headers, ...rates, 'X-Request-Id', requestId]
    if (extraHeaders) headers.push(...headerBlock(extraHeaders))
    const { status, body, isAscii, stream } = response
    return { status, headers, body, isAscii, stream }
  }

  /** Logged and counted only if the page has an id, if it fails with a 5xx, or if it requires a key and rejects the request. */
  async #servePage(state: RequestState): Promise<ApiResponse> {
    const { request, page, requestId } = state
    let prepared: PreparedResponse
    try {
      prepared = await this.#pages.run(state) // 404, 405, 429, 503
    } catch (thrown) {
      const json = failure(state, thrown, errorPageHeaders)
      prepared = (await this.#pages.renderError(state, toApiError(thrown))) ?? json
    }
    const response = conditionalResponse(request, prepared)
    const isRejected = state.code !== undefined
    if (isRejected && request.problem) this.#options.onShed(state.address)
    else if (page?.id !== undefined || state.error !== undefined || (isRejected && page?.requiresKey))
      this.#report(state, response.status)
    const cors = page?.isPublic ? publicHeaders : noHeaders
    return { ...response, headers: [...response.headers, 'X-Request-Id', requestId, ...headerBlock(cors)] }
  }

  #receive(request: ApiRequest): RequestState {
    const startedAt = performance.now()
    const { method, target } = request
    const { trustedProxies, clock } = this.#options
    const given = parseRequestId(request.header('x-request-id'))
    const end = target.indexOf('?')
    const path = end === -1 ? target : target.slice(0, end)
    const route = this.#router.find(path)
    const operation = route?.operations.get((method === 'HEAD' ? 'GET' : method) as Method)
    return {
      request,
      method,
      startedAt,
      requestId: given ?? newRequestId(),
      isRequestIdGenerated: given === undefined,
      address: clientAddress(request.remoteAddress, request.header('x-forwarded-for'), trustedProxies),
      origin: request.header('origin'),
      path,
      route,
      params: route?.params ?? noParams,
      page: route?.page,
      operation,
      common: (operation && this.#commonHeaders.get(operation)) ?? noHeaders,
      now: clock(),
      extraHeaders: undefined,
      rateLimitHeaders: undefined,
      principal: undefined,
      databaseVersion: undefined,
      status: 0,
      code: undefined,
      seconds: 0,
      error: undefined,
    }
  }

  #report(state: RequestState, status: number): void {
    state.status = status
    state.seconds = (performance.now() - state.startedAt) / 1000
    this.#options.onFinished(state)
  }
}

const authenticate = ({ request, address, origin, operation }: RequestState, authenticator: Authenticator) =>
  authenticator.authenticate({
    authorization: request.header('authorization'),
    address,
    origin,
    isChange: isChange(request.method),
    rateLimitExempt: operation?.rateLimitExempt ?? false,
  })

function selectOperation({ route, operation, now }: RequestState): Operation {
  if (!route) throw new ApiError(apiErrors.not_found)
  if (!operation) throw methodNotAllowed(route)
  const { deprecation } = operation
  if (deprecation && now >= deprecation.sunsetMs)
    throw new ApiError(apiErrors.operation_removed, deprecation.message)
  return operation
}

/** The error response, and its code for the log. */
function failure(state: RequestState, thrown: unknown, common = state.common): PreparedResponse {
  const { status, body, headers, code } = toApiError(thrown)
  state.code = code
  if (status >= 500) state.error = thrown
  return prepareResponse(respond(status, body, headers), common)
}
