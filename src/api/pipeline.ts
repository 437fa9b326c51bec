import type { BlockList } from 'node:net'
import { type Authenticator, type AuthResult, authorize } from './authentication.ts'
import { clientAddress } from './clientAddress.ts'
import { allowKnownOrigin, corsHeaders, optionsResponse, preflightHeaders, restrictOrigin } from './cors.ts'
import { rejectRemoved } from './deprecation.ts'
import { ApiError, apiErrors, protocolError, toApiError } from './errors.ts'
import { type ExecuteOptions, Executor } from './executor.ts'
import { appliedPreference } from './input.ts'
import { type Method, type Operation, type Principal, respond } from './operation.ts'
import { type ApiRequest, newRequestId, parseRequestId } from './request.ts'
import {
  type ApiResponse,
  conditionalResponse,
  type HeaderFields,
  headerBlock,
  operationHeaders,
  type PreparedResponse,
  prepareResponse,
  rateLimitHeaderBlock,
} from './response.ts'
import { allowedMethods, basePath, type PageAllowance, type Route, Router, type WebPage } from './router.ts'

export type PipelineOptions = ExecuteOptions & {
  readonly pages: readonly WebPage[]
  readonly trustedProxies: BlockList
  /** Takes one request from the page allowance of the address; returns the error if none is left. */
  admitToPages(address: string, allowance: PageAllowance | undefined): ApiError | undefined
  onFinished(finished: RequestLog): void
}

/** What is known of a request when it arrives. */
type Received = {
  readonly request: ApiRequest
  readonly method: string
  readonly startedAt: number
  readonly requestId: string
  /** False if the client sent it. */
  readonly isRequestIdGenerated: boolean
  readonly address: string
  readonly path: string
  readonly route: Route | undefined
  readonly operation: Operation | undefined
  /** Headers of all responses of the operation. */
  readonly common: HeaderFields
  readonly now: number
}

/** What is logged and counted of a request when its response is ready. */
export type RequestLog = Pick<
  Received,
  'requestId' | 'isRequestIdGenerated' | 'method' | 'path' | 'operation' | 'address'
> & {
  /** The page at the path, which is not one of the API. */
  readonly page: WebPage | undefined
  readonly principal: Principal | undefined
  readonly status: number
  /** The error code, if the response is an error. */
  readonly code: string | undefined
  readonly seconds: number
  /** What was thrown, if the status is 5xx. */
  readonly error: unknown
}

type Outcome = {
  readonly response: PreparedResponse
  readonly code?: string
  /** What was thrown, if the status is 5xx. */
  readonly fault?: unknown
}

const nothingHere =
  'This path does not exist. The API is under /v1, its reference at /docs, guides at /guides.'
const publicHeaders = corsHeaders('*')
const noHeaders: HeaderFields = {}

/** The steps that every request goes through, in order. */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #router: Router
  readonly #executor: Executor
  readonly #commonHeaders: ReadonlyMap<Operation, HeaderFields>
  /** Writes that wait for a batch, before the database knows of them. */
  readonly writesWaiting = () => this.#executor.waiting

  constructor(options: PipelineOptions) {
    const { operations, pages, publicUrl } = options
    this.#options = options
    this.#router = new Router(operations, pages)
    this.#executor = new Executor(options)
    this.#commonHeaders = new Map(operations.map((one) => [one, operationHeaders(one, publicUrl)]))
  }

  handle(request: ApiRequest): Promise<ApiResponse> {
    const received = this.#receive(request) // request id, client address, route
    const isApi = request.problem !== undefined || isApiPath(received)
    return isApi ? this.#serveApi(received) : this.#servePage(received)
  }

  async #serveApi(received: Received): Promise<ApiResponse> {
    const { request, common } = received
    const { authenticator } = this.#options
    let cors: HeaderFields | undefined
    let auth: AuthResult | undefined
    let preference: HeaderFields | undefined
    let outcome: Outcome
    try {
      if (request.problem) throw protocolError(request.problem) // 400, 408, 413, 431
      if (request.header('origin') !== undefined) cors = await allowKnownOrigin(request, authenticator)
      if (request.method === 'OPTIONS')
        outcome = { response: optionsResponse(request, received.route, cors) } // 404
      else {
        const authenticated = authenticate(received, authenticator) // counted for the rate limit
        auth = authenticated instanceof Promise ? await authenticated : authenticated
        cors = restrictOrigin(cors, request, auth)
        if (auth.error) throw auth.error // 401, 403, 429
        const route = selectRoute(received) // 404, 405, 410
        const principal = authorize(request, auth.principal, route.operation) // 403
        preference = appliedPreference(request, route.operation)
        const executed = this.#execute(received, route, principal, auth) // 400, 409, 412 and others
        outcome = { response: executed instanceof Promise ? await executed : executed }
      }
    } catch (thrown) {
      outcome = failure(thrown, common)
    }
    const response = conditionalResponse(request, outcome.response) // 304, HEAD
    this.#report(received, outcome, response.status, auth?.principal)
    const rates = auth?.rateLimitHeaders ?? authenticator.rateLimitHeadersFor(received.address)
    const callerHeaders = rateLimitHeaderBlock(rates)
    callerHeaders.push('X-Request-Id', received.requestId)
    if (cors || preference) callerHeaders.push(...headerBlock({ ...cors, ...preference }))
    const { status, headers, body, stream } = response
    return { status, headers, callerHeaders, body, stream }
  }

  #execute(
    { request, requestId, isRequestIdGenerated, path, address, now, common }: Received,
    { operation, params }: SelectedRoute,
    principal: Principal,
    { databaseVersion }: AuthResult,
  ) {
    const received = { request, requestId, isRequestIdGenerated, path, address, now, common }
    return this.#executor.execute({ ...received, operation, params, principal, databaseVersion })
  }

  /** Logged and counted only if the page has an id, if it fails with a 5xx, or if it requires a key and rejects the request. */
  async #servePage(received: Received): Promise<ApiResponse> {
    const { request, route, requestId } = received
    const page = route?.page
    let outcome: Outcome
    try {
      outcome = { response: await this.#runPage(received) } // 404, 405, 429
    } catch (thrown) {
      outcome = failure(thrown, noHeaders)
    }
    const response = conditionalResponse(request, outcome.response)
    const isRejected = outcome.code !== undefined
    if (page?.id !== undefined || outcome.fault !== undefined || (isRejected && page?.requiresKey))
      this.#report(received, outcome, response.status)
    const cors = page?.isPublic ? publicHeaders : noHeaders
    return { ...response, callerHeaders: ['X-Request-Id', requestId, ...headerBlock(cors)] }
  }

  #runPage({ request, route, address, now }: Received): PreparedResponse | Promise<PreparedResponse> {
    const { method } = request
    const page = route?.page
    // Not limited: it costs nothing, and a browser could not read a 429 whose preflight has failed.
    if (route && page?.isPublic && method === 'OPTIONS')
      return prepareResponse({ status: 204, headers: { ...preflightHeaders, Allow: allowedMethods(route) } })
    const isRead = method === 'GET' || method === 'HEAD'
    const { admitToPages, database } = this.#options
    const isExempt = page?.isExempt && isRead
    const exceeded = isExempt ? undefined : admitToPages(address, page?.allowance?.(request))
    if (exceeded) throw exceeded
    if (!route || !page) throw new ApiError(apiErrors.not_found, nothingHere)
    if (!isRead) throw notAllowed(route)
    return page.serve(request, { address, params: route.params, now, db: database.unknownCallerDb })
  }

  #receive(request: ApiRequest): Received {
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
      startedAt: performance.now(),
      requestId: given ?? newRequestId(),
      isRequestIdGenerated: given === undefined,
      address: clientAddress(request.remoteAddress, request.header('x-forwarded-for'), trustedProxies),
      path,
      route,
      operation,
      common: (operation && this.#commonHeaders.get(operation)) ?? noHeaders,
      now: clock(),
    }
  }

  #report(received: Received, { code, fault }: Outcome, status: number, principal?: Principal): void {
    const { requestId, isRequestIdGenerated, method, path, route, operation, address } = received
    this.#options.onFinished({
      requestId,
      isRequestIdGenerated,
      method,
      path,
      page: route?.page,
      operation,
      address,
      principal,
      status,
      code,
      seconds: (performance.now() - received.startedAt) / 1000,
      error: fault,
    })
  }
}

const isApiPath = ({ path, route }: Received): boolean =>
  !route?.page && (path.startsWith(`${basePath}/`) || path === basePath)

const authenticate = ({ request, address, operation }: Received, authenticator: Authenticator) =>
  authenticator.authenticate({
    authorization: request.header('authorization'),
    address,
    origin: request.header('origin'),
    rateLimitExempt: operation?.rateLimitExempt ?? false,
  })

type SelectedRoute = { readonly operation: Operation; readonly params: Route['params'] }

function selectRoute({ route, operation, now }: Received): SelectedRoute {
  if (!route) throw new ApiError(apiErrors.not_found)
  if (!operation) throw notAllowed(route)
  rejectRemoved(operation.deprecation, now)
  return { operation, params: route.params }
}

function notAllowed(route: Route): ApiError {
  const Allow = allowedMethods(route)
  return new ApiError(apiErrors.method_not_allowed, `This path supports ${Allow}.`, { headers: { Allow } })
}

function failure(thrown: unknown, common: HeaderFields): Outcome {
  const { status, body, headers, code } = toApiError(thrown)
  const response = prepareResponse(respond(status, body, headers), common)
  return { response, code, fault: status >= 500 ? thrown : undefined }
}
