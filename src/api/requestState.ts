import type { Operation, Principal } from './operation.ts'
import type { ApiRequest } from './request.ts'
import type { HeaderBlock, HeaderFields } from './response.ts'
import type { Route } from './router.ts'

/** What is logged and counted of a request when its response is ready. */
export type RequestLog = {
  readonly requestId: string
  /** False if the client sent it. */
  readonly isRequestIdGenerated: boolean
  readonly method: string
  readonly path: string
  /** The path is a page, not an operation of the API. */
  readonly isPage: boolean
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
