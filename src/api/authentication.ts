import type { MaybePromise } from '../maybePromise.ts'
import { ApiError, apiErrors } from './errors.ts'
import type { Operation, Principal } from './operation.ts'
import type { ApiRequest } from './request.ts'
import type { HeaderBlock, HeaderFields } from './response.ts'
import type { Route, WebPage } from './router.ts'

export type Credentials = {
  /** The `Authorization` header. */
  readonly authorization: string | undefined
  readonly address: string
  /** The `Origin` header: a publishable key is valid only with one of its origins. */
  readonly origin?: string | undefined
  /** Whether the method of the request can change something. */
  readonly isChange: boolean
  /** The request is not counted for the key. */
  readonly rateLimitExempt: boolean
}

export type AuthResult = {
  /** Set whenever the key is valid, even if the request is rejected. */
  readonly principal?: Principal
  readonly error?: ApiError
  readonly rateLimitHeaders: HeaderBlock
  /** The version of the database at this time, if it is known: later reads are not older. */
  readonly databaseVersion?: number | undefined
}

/** Authenticates and rate limits requests. The pipeline knows neither keys nor windows. */
export type Authenticator = {
  /** Authenticates a request, checks the origin of a publishable key, and counts the request for the key or the address. */
  authenticate(credentials: Credentials): MaybePromise<AuthResult>
  /** The principal as it is now. Its key may have changed since it was authenticated, while the body was arriving. */
  reauthenticate(principal: Principal, agoMs: number): MaybePromise<Principal | undefined>
  /** The rate limit headers for an address. Counts nothing. */
  rateLimitHeadersFor(address: string): HeaderBlock
  /** Whether any key has this origin. */
  isKnownOrigin(origin: string): Promise<boolean>
}

/** What is logged and counted of a request when its response is ready. */
export type RequestLog = {
  readonly requestId: string
  /** False if the client sent it. */
  readonly isRequestIdGenerated: boolean
  readonly method: string
  readonly path: string
  /** The web page at the path, which then is not one of the API. */
  readonly page: WebPage | undefined
  readonly operation: Operation | undefined
  readonly address: string
  principal: Principal | undefined
  status: number
  /** The error code, if the response is an error. */
  code: string | undefined
  seconds: number
  /** What was thrown, if the status is 5xx. */
  error: unknown
}

/** What is known of a request so far. The steps share one object, because every request would pay for copies. */
export type RequestState = RequestLog & {
  readonly request: ApiRequest
  readonly startedAt: number
  readonly now: number
  readonly origin: string | undefined
  readonly route: Route | undefined
  readonly params: Route['params']
  /** Headers of all responses of the operation. */
  readonly common: HeaderFields
  rateLimitHeaders: HeaderBlock | undefined
  /** CORS and applied preferences. */
  extraHeaders: HeaderFields | undefined
  /** The version of the database that the authentication has seen. */
  databaseVersion: number | undefined
}

/** An authorized request for an operation. */
export type AuthorizedRequest = RequestState & {
  readonly operation: Operation
  readonly principal: Principal
}

/** Checks origin and scope. */
export function authorize(
  origin: string | undefined,
  principal: Principal | undefined,
  { scope }: Pick<Operation, 'scope'>,
): Principal {
  if (!principal) throw new ApiError(apiErrors.missing_api_key)
  if (!isOriginAllowed(principal, origin)) throw new ApiError(apiErrors.origin_not_allowed)
  if (scope !== undefined && !principal.scopes.has(scope))
    throw new ApiError(
      apiErrors.insufficient_scope,
      `This API key lacks the scope "${scope}". Ask the operator for it.`,
    )
  return principal
}

/** Whether a key is valid with this `Origin` header. A key with origins is publishable: it is valid with these only. */
export const isOriginAllowed = (
  { origins }: Pick<Principal, 'origins'>,
  origin: string | undefined,
): boolean => origins.length === 0 || (origin !== undefined && origins.includes(origin))
