import type { BlockList } from 'node:net'
import type { Authenticator, AuthResult } from './authentication.ts'
import { clientAddress } from './clientAddress.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { deprecationHeaders } from './deprecation.ts'
import { ApiError, protocolError, toApiError } from './errors.ts'
import { authorize, type ExecuteOptions, Executor, isOwnOrigin } from './execute.ts'
import { isStrict } from './input.ts'
import { type Method, type Operation, type Principal, respond } from './operation.ts'
import { type ApiRequest, givenRequestId, newRequestId } from './request.ts'
import {
  type ApiResponse,
  conditional,
  type HeaderFields,
  headerBlock,
  type PreparedResponse,
  prepareResponse,
  rateLimitHeaders,
} from './response.ts'
import { allowedMethods, basePath, type Page, type Route, Router } from './router.ts'

export type PipelineOptions = ExecuteOptions & {
  readonly pages: readonly Page[]
  readonly trustedProxies: BlockList
  readonly publicUrl: string | undefined
  /** Takes one request from the page allowance of the address; returns the error if none is left. */
  admitToPages(remoteAddress: string, forwardedFor: string | undefined): ApiError | undefined
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
export type RequestLog = Omit<Received, 'request' | 'route' | 'common' | 'now' | 'startedAt'> & {
  readonly principal: Principal | undefined
  readonly status: number
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
  'There is nothing at this path: the API is under /v1, its reference at /docs, guides at /guides.'
const publicHeaders = corsHeaders('*')
const noHeaders: HeaderFields = {}

/** The steps that every request goes through, in order. */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #router: Router
  readonly #executor: Executor
  readonly #commonHeaders: ReadonlyMap<Operation, HeaderFields>

  constructor(options: PipelineOptions) {
    const { operations, pages, publicUrl } = options
    this.#options = options
    this.#router = new Router(operations, pages)
    this.#executor = new Executor(options)
    this.#commonHeaders = new Map(operations.map((one) => [one, operationHeaders(one, publicUrl)]))
  }

  async handle(request: ApiRequest): Promise<ApiResponse> {
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
      cors = await allowKnownOrigin(request, authenticator)
      if (request.method === 'OPTIONS')
        outcome = { response: describeOptions(received, cors) } // 404
      else {
        auth = await authenticate(received, authenticator) // counted for the rate limit
        cors = narrowOrigin(cors, request, auth)
        if (auth.error) throw auth.error // 401, 403, 429
        const route = selectRoute(received) // 404, 405, 410
        const principal = authorize(request, auth.principal, route.operation) // 403
        preference = appliedPreference(request, route.operation)
        outcome = {
          response: await this.#executor.execute({
            ...received,
            ...route,
            principal,
            storeVersion: auth.storeVersion,
          }),
        }
      }
    } catch (thrown) {
      outcome = failure(thrown, common)
    }
    const response = conditional(request, outcome.response) // 304, HEAD
    this.#report(received, outcome, response.status, auth?.principal)
    const rates = auth?.rateLimitHeaders ?? authenticator.rateLimitHeadersFor(received.address)
    const callerHeaders = rateLimitHeaders(rates)
    callerHeaders.push('X-Request-Id', received.requestId)
    if (cors || preference) callerHeaders.push(...headerBlock({ ...cors, ...preference }))
    return { ...response, callerHeaders }
  }

  /** Logged only if it fails. */
  async #servePage(received: Received): Promise<ApiResponse> {
    const { request, route, requestId } = received
    let outcome: Outcome
    try {
      outcome = { response: await this.#runPage(received) } // 404, 405, 429
    } catch (thrown) {
      outcome = failure(thrown, noHeaders)
      if (outcome.fault !== undefined) this.#report(received, outcome, outcome.response.status)
    }
    const cors = route?.page?.isPublic ? publicHeaders : noHeaders
    const callerHeaders = ['X-Request-Id', requestId, ...headerBlock(cors)]
    return { ...conditional(request, outcome.response), callerHeaders }
  }

  #runPage({ request, route, address }: Received): PreparedResponse | Promise<PreparedResponse> {
    const { method } = request
    const page = route?.page
    // Not limited: it costs nothing, and a browser could not read a 429 whose preflight has failed.
    if (route && page?.isPublic && method === 'OPTIONS')
      return prepareResponse({ status: 204, headers: { ...preflightHeaders, Allow: allowedMethods(route) } })
    const isRead = method === 'GET' || method === 'HEAD'
    const exceeded =
      page?.isExempt && isRead
        ? undefined
        : this.#options.admitToPages(request.remoteAddress, request.header('x-forwarded-for'))
    if (exceeded) throw exceeded
    if (!route || !page) throw new ApiError('not_found', nothingHere)
    if (!isRead) throw notAllowed(route)
    return page.serve(request, address)
  }

  #receive(request: ApiRequest): Received {
    const { method, target } = request
    const given = givenRequestId(request.header('x-request-id'))
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
      address: clientAddress(
        request.remoteAddress,
        request.header('x-forwarded-for'),
        this.#options.trustedProxies,
      ),
      path,
      route,
      operation,
      common: (operation && this.#commonHeaders.get(operation)) ?? noHeaders,
      now: this.#options.clock(),
    }
  }

  #report(received: Received, { code, fault }: Outcome, status: number, principal?: Principal): void {
    const seconds = (performance.now() - received.startedAt) / 1000
    this.#options.onFinished({ ...received, principal, status, code, seconds, error: fault })
  }
}

const isApiPath = ({ path, route }: Received): boolean =>
  !route?.page && (path.startsWith(`${basePath}/`) || path === basePath)

/** Until the key is known, an origin that any key is locked to may read the response, errors included. */
async function allowKnownOrigin(
  request: ApiRequest,
  authenticator: Authenticator,
): Promise<HeaderFields | undefined> {
  const origin = request.header('origin')
  return origin !== undefined && (await authenticator.isKnownOrigin(origin)) ? corsHeaders(origin) : undefined
}

/** Once the key is known, only its origins may. */
const narrowOrigin = (cors: HeaderFields | undefined, request: ApiRequest, { principal }: AuthResult) =>
  cors && principal && !isOwnOrigin(request, principal) ? undefined : cors

function describeOptions({ request, route }: Received, cors: HeaderFields | undefined): PreparedResponse {
  const isPreflight = cors !== undefined && request.header('access-control-request-method') !== undefined
  // A failed preflight would hide the 404 of the request itself from the web page.
  if (!route && !isPreflight) throw new ApiError('not_found')
  return prepareResponse({
    status: 204,
    headers: { ...(route && { Allow: allowedMethods(route) }), ...(cors && preflightHeaders) },
  })
}

const authenticate = ({ request, address, operation }: Received, authenticator: Authenticator) =>
  authenticator.authenticate({
    authorization: request.header('authorization'),
    address,
    origin: request.header('origin'),
    rateLimitExempt: operation?.rateLimitExempt ?? false,
  })

function selectRoute({ route, operation, now }: Received): { operation: Operation; params: Route['params'] } {
  if (!route) throw new ApiError('not_found')
  if (!operation) throw notAllowed(route)
  const { deprecation } = operation
  if (deprecation && now >= deprecation.sunsetMs) throw new ApiError('operation_removed', deprecation.message)
  return { operation, params: route.params }
}

const notAllowed = (route: Route) =>
  new ApiError('method_not_allowed', undefined, { headers: { Allow: allowedMethods(route) } })

const appliedPreference = (request: ApiRequest, operation: Operation): HeaderFields | undefined =>
  operation.body && isStrict(request) ? { 'Preference-Applied': 'handling=strict' } : undefined

function failure(thrown: unknown, common: HeaderFields): Outcome {
  const { status, body, headers, code } = toApiError(thrown)
  const response = prepareResponse(respond(status, body, headers), common)
  return { response, code, fault: status >= 500 ? thrown : undefined }
}

const operationHeaders = ({ stability, deprecation }: Operation, publicUrl: string | undefined) => ({
  ...(stability && stability !== 'stable' && { 'X-Stability': stability }),
  ...(deprecation && deprecationHeaders(deprecation, publicUrl)),
})
