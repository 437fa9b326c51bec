import type { Operation, Principal } from './operation.ts'
import type { ApiRequest } from './request.ts'
import type { HeaderBlock, HeaderFields } from './response.ts'
import type { Route } from './router.ts'

/** What is known of a request so far. One object for all steps: each copy of it would cost every request. */
export type RequestState = {
  readonly request: ApiRequest
  readonly method: string
  readonly startedAt: number
  readonly requestId: string
  /** False if the client sent it. */
  readonly isRequestIdGenerated: boolean
  readonly address: string
  readonly origin: string | undefined
  readonly path: string
  readonly route: Route | undefined
  readonly params: Route['params']
  /** The path is a page, not an operation of the API. */
  readonly isPage: boolean
  readonly operation: Operation | undefined
  /** Headers of all responses of the operation. */
  readonly common: HeaderFields
  readonly now: number
  /** CORS and applied preferences. */
  extraHeaders: HeaderFields | undefined
  rateLimitHeaders: HeaderBlock | undefined
  principal: Principal | undefined
  databaseVersion: number | undefined
  status: number
  /** The error code, if the response is an error. */
  code: string | undefined
  seconds: number
  /** What was thrown, if the status is 5xx. */
  error: unknown
}
