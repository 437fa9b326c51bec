import { DatabaseUnavailableError, OutcomeUnknownError } from '../database/database.ts'
import type { BodyTime, RequestProblem } from './request.ts'

type ErrorHeaders = {
  /** Whether the response has the header `Retry-After`. */
  readonly hasRetryAfter?: boolean
  /** Other headers that it has, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
}

/** An error of the API: its code, its status, and the message if a response has none of its own. */
export type ErrorDefinition = ErrorHeaders & {
  readonly code: string
  readonly status: number
  readonly message: string
}

type ErrorRow = readonly [status: number, message: string, headers?: ErrorHeaders]

/** Errors by their codes. A feature defines its own in its `schemas.ts`, and its operations name those that they return. */
export const defineErrors = <Code extends string>(rows: Record<Code, ErrorRow>) =>
  Object.fromEntries(
    Object.entries<ErrorRow>(rows).map(([code, [status, message, headers]]) => [
      code,
      { code, status, message, ...headers },
    ]),
  ) as Record<Code, ErrorDefinition>

const retryLater = { hasRetryAfter: true }

/** The errors of the pipeline, and those that several features use. */
export const apiErrors = defineErrors({
  malformed_json: [400, 'The body is not valid JSON. Send one JSON object in UTF-8.'],
  validation_failed: [400, 'The request has invalid values. "details" lists them.'],
  invalid_cursor: [
    400,
    'This cursor is damaged or belongs to other filters. Start again with the first page.',
  ],
  missing_api_key: [401, 'Send your API key in the header "Authorization: Bearer <API_KEY>".'],
  invalid_api_key: [401, 'This API key is not valid here.'],
  insufficient_scope: [403, 'This API key does not have the scope that the operation needs.'],
  origin_not_allowed: [
    403,
    'This is a publishable key. It works only in web pages from its origins. Use a secret key in other programs.',
  ],
  not_found: [404, 'This path does not exist. GET /v1/openapi.json lists all paths.'],
  method_not_allowed: [
    405,
    'This path does not support the method. The header "Allow" lists the supported methods.',
  ],
  illegal_transition: [409, 'This change of status is not allowed.'],
  idempotency_in_progress: [
    409,
    'The first request with this Idempotency-Key is still running. Retry after "Retry-After".',
    retryLater,
  ],
  operation_removed: [410, 'This operation has been removed.'],
  precondition_failed: [
    412,
    'The resource has changed since you read it. Read it again before you change it.',
  ],
  body_too_large: [413, 'The body is larger than 64 KiB.'],
  unsupported_media_type: [415, 'Send the body as JSON in UTF-8, with "Content-Type: application/json".'],
  idempotency_key_reused: [
    422,
    'This Idempotency-Key was used for another request. Use a new one for each new request.',
  ],
  rate_limit_exceeded: [429, 'The rate limit is exceeded. Retry after "Retry-After".', retryLater],
  key_banned: [
    429,
    'This API key is temporarily banned for repeatedly exceeding its rate limit. Retry after "Retry-After".',
    retryLater,
  ],
  internal_error: [
    500,
    'The service failed to process the request. Retry, and report the "X-Request-Id" if it fails again.',
  ],
  unavailable: [503, 'The service is temporarily unavailable. Retry after "Retry-After".', retryLater],
})

export type ErrorDetail = { path: string; message: string }
type Extras = {
  details?: ErrorDetail[]
  headers?: Record<string, string>
  /** Replaces the status of the code: HTTP has special ones for requests that cannot be read. */
  status?: 408 | 431 | undefined
  /** For the log. */
  cause?: unknown
}

/** For errors with `Retry-After` that know no better time. */
const defaultRetrySeconds = '1'

/** An error that is reported to the caller. Everything else that is thrown becomes `internal_error`. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly details: ErrorDetail[] | undefined
  readonly headers: Record<string, string>

  constructor(
    definition: ErrorDefinition,
    message: string = definition.message,
    { details, headers = {}, status, cause }: Extras = {},
  ) {
    super(message, { cause })
    this.code = definition.code
    this.status = status ?? definition.status
    this.details = details
    this.headers = definition.hasRetryAfter ? { 'Retry-After': defaultRetrySeconds, ...headers } : headers
  }

  get body() {
    const { code, message, status, details } = this
    return details ? { code, message, status, details } : { code, message, status }
  }
}

export function orNotFound<T>(value: T | undefined, error: ErrorDefinition): T {
  if (value === undefined) throw new ApiError(error)
  return value
}

/** Enough to correct a request; bounds the size of the response. */
export const detailsMax = 20
const detailPathLengthMax = 200

export function validationFailed(problems: readonly ErrorDetail[]): ApiError {
  const details = problems
    .slice(0, detailsMax)
    // The cut may split a surrogate pair.
    .map(({ path, message }) => ({ path: path.slice(0, detailPathLengthMax).toWellFormed(), message }))
  const text = details.map(({ path, message }) => `${path || 'the body'} ${message}`).join('; ')
  return new ApiError(apiErrors.validation_failed, `The request has invalid values: ${text}.`, { details })
}

const outcomeUnknownText =
  'The connection to the database was lost before the commit was confirmed. Check whether the change was applied before retrying, or retry with the same Idempotency-Key.'

/** The only place where a thrown value becomes an error response. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof DatabaseUnavailableError) {
    const message = thrown instanceof OutcomeUnknownError ? outcomeUnknownText : undefined
    return new ApiError(apiErrors.unavailable, message)
  }
  return new ApiError(apiErrors.internal_error)
}

const protocolMessages: Record<RequestProblem, string> = {
  overloaded:
    'The service has more requests than it can process. This one was not processed. Retry after "Retry-After".',
  invalid_http: 'The request is not valid HTTP/1.1.',
  invalid_target:
    'The Host header or the request target is not valid. The target must not contain a "." or ".." segment, or a fragment ("#").',
  connect_method: 'CONNECT is not supported. This is not a proxy.',
  headers_too_large: 'The headers are larger than 16 KiB, or there are more than 100.',
  chunk_extensions_too_large: 'The chunk extensions of the body are too large.',
  timeout:
    'The request did not arrive in time. Send the headers within 5 seconds and the whole request within 10.',
}

const protocolStatuses: Partial<Record<RequestProblem, 408 | 431>> = { headers_too_large: 431, timeout: 408 }

/** The error for a request that the server could not read or serve. `time` is what its body may take. */
export function protocolError(problem: RequestProblem, time?: BodyTime): ApiError {
  const message = problem === 'timeout' && time ? slowBodyMessage(time) : protocolMessages[problem]
  if (problem === 'overloaded') return new ApiError(apiErrors.unavailable, message)
  const headers: Record<string, string> = problem === 'invalid_target' ? {} : { Connection: 'close' }
  const isTooLarge = problem === 'chunk_extensions_too_large'
  const definition = isTooLarge ? apiErrors.body_too_large : apiErrors.validation_failed
  return new ApiError(definition, message, { headers, status: protocolStatuses[problem] })
}

const slowBodyMessage = ({ startMs, bytesPerSecondMin, totalMs }: BodyTime): string =>
  `The body did not arrive in time. Send it within ${totalMs / 1000} seconds, and at least ${bytesPerSecondMin / 1024} KiB a second after the first ${startMs / 1000}.`
