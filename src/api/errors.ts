import { DatabaseUnavailableError, OutcomeUnknownError } from '../database/database.ts'
import type { BodyTime, RequestProblem } from './request.ts'

/**
 * Every error code of v1, with its status and default message. A test compares OpenAPI and docs/guides/errors.md with
 * this list.
 */
export const errorCatalogue = {
  malformed_json: { status: 400, message: 'The body is not valid JSON. Send one JSON object in UTF-8.' },
  validation_failed: {
    status: 400,
    message: 'The request has invalid values. "details" lists them.',
  },
  invalid_cursor: {
    status: 400,
    message: 'This cursor is damaged or belongs to other filters. Start again with the first page.',
  },
  missing_api_key: {
    status: 401,
    message: 'Send your API key in the header "Authorization: Bearer <API_KEY>".',
  },
  invalid_api_key: { status: 401, message: 'This API key is not valid here.' },
  insufficient_scope: {
    status: 403,
    message: 'This API key does not have the scope that the operation needs.',
  },
  origin_not_allowed: {
    status: 403,
    message:
      'This is a publishable key. It works only in web pages from its origins. Use a secret key in other programs.',
  },
  not_found: {
    status: 404,
    message: 'This path does not exist. GET /v1/openapi.json lists all paths.',
  },
  pet_not_found: {
    status: 404,
    message: 'There is no animal with this id. GET /pets lists the existing ones.',
  },
  category_not_found: {
    status: 404,
    message: 'There is no category with this id. GET /categories lists the existing ones.',
  },
  order_not_found: {
    status: 404,
    message: 'There is no order with this id. GET /store/orders lists the existing ones.',
  },
  key_not_found: {
    status: 404,
    message: 'There is no API key with this id. GET /keys lists the existing ones.',
  },
  webhook_not_found: {
    status: 404,
    message: 'There is no webhook with this id. GET /webhooks lists the existing ones.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This path does not support the method. The header "Allow" lists the supported methods.',
  },
  pet_unavailable: { status: 409, message: 'This animal is not available. Choose another one.' },
  pet_has_open_order: {
    status: 409,
    message: 'This animal has an open order. Deliver or cancel it first. GET /store/orders?petId= shows it.',
  },
  illegal_transition: { status: 409, message: 'This change of status is not allowed.' },
  category_in_use: { status: 409, message: 'Animals use this category. Move or remove them first.' },
  idempotency_in_progress: {
    status: 409,
    message: 'The first request with this Idempotency-Key is still running. Retry after "Retry-After".',
  },
  operation_removed: { status: 410, message: 'This operation has been removed.' },
  events_expired: {
    status: 410,
    message: 'Events this old are no longer available. Start from the oldest one.',
  },
  precondition_failed: {
    status: 412,
    message: 'The resource has changed since you read it. Read it again before you change it.',
  },
  body_too_large: { status: 413, message: 'The body is larger than 64 KiB.' },
  unsupported_media_type: {
    status: 415,
    message: 'Send the body as JSON in UTF-8, with "Content-Type: application/json".',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was used for another request. Use a new one for each new request.',
  },
  rate_limit_exceeded: {
    status: 429,
    message: 'The rate limit is exceeded. Retry after "Retry-After".',
  },
  key_banned: {
    status: 429,
    message:
      'This API key is temporarily banned for repeatedly exceeding its rate limit. Retry after "Retry-After".',
  },
  too_many_streams: {
    status: 429,
    message: 'This API key has reached its limit of open event streams. Close one, then retry.',
  },
  internal_error: {
    status: 500,
    message:
      'The service failed to process the request. Retry, and report the "X-Request-Id" if it fails again.',
  },
  unavailable: {
    status: 503,
    message: 'The service is temporarily unavailable. Retry after "Retry-After".',
  },
} as const

export type ErrorCode = keyof typeof errorCatalogue
export const errorCodes = Object.keys(errorCatalogue) as ErrorCode[]

export type ErrorDetail = { path: string; message: string }
type Extras = {
  details?: ErrorDetail[]
  headers?: Record<string, string>
  /** Replaces the status of the code: HTTP has special ones for requests that cannot be read. */
  status?: 408 | 431
}

/** An error that is reported to the caller. Everything else that is thrown becomes `internal_error`. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: ErrorDetail[] | undefined
  readonly headers: Record<string, string>

  constructor(
    code: ErrorCode,
    message: string = errorCatalogue[code].message,
    { details, headers = {}, status }: Extras = {},
  ) {
    super(message)
    this.code = code
    this.status = status ?? errorCatalogue[code].status
    this.details = details
    this.headers = headers
  }

  get body() {
    const { code, message, status, details } = this
    return details ? { code, message, status, details } : { code, message, status }
  }
}

export function orNotFound<T>(value: T | undefined, code: ErrorCode): T {
  if (value === undefined) throw new ApiError(code)
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
  return new ApiError('validation_failed', `The request has invalid values: ${text}.`, { details })
}

const unavailableRetrySeconds = '1'
const outcomeUnknownText =
  'The connection to the database was lost before the commit was confirmed. Check whether the change was applied before retrying, or retry with the same Idempotency-Key.'

/** The only place where a thrown value becomes an error response. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof DatabaseUnavailableError) {
    const message = thrown instanceof OutcomeUnknownError ? outcomeUnknownText : undefined
    return new ApiError('unavailable', message, { headers: { 'Retry-After': unavailableRetrySeconds } })
  }
  return new ApiError('internal_error')
}

const protocolMessages: Record<RequestProblem, string> = {
  invalid_http: 'The request is not valid HTTP/1.1.',
  invalid_target: 'The Host header or the request target is not valid.',
  connect_method: 'CONNECT is not supported. This is not a proxy.',
  headers_too_large: 'The headers are larger than 16 KiB.',
  chunk_extensions_too_large: 'The chunk extensions of the body are too large.',
  timeout:
    'The request did not arrive in time. Send the headers within 5 seconds and the whole request within 10.',
}

/** The error for a request that the server could not read. `time` is what its body may take. */
export function protocolError(problem: RequestProblem, time?: BodyTime): ApiError {
  const message = problem === 'timeout' && time ? slowBodyMessage(time) : protocolMessages[problem]
  const headers: Record<string, string> = problem === 'invalid_target' ? {} : { Connection: 'close' }
  if (problem === 'chunk_extensions_too_large') return new ApiError('body_too_large', message, { headers })
  if (problem === 'headers_too_large')
    return new ApiError('validation_failed', message, { headers, status: 431 })
  if (problem === 'timeout') return new ApiError('validation_failed', message, { headers, status: 408 })
  return new ApiError('validation_failed', message, { headers })
}

const slowBodyMessage = ({ startMs, bytesPerSecondMin, totalMs }: BodyTime): string =>
  `The body did not arrive in time. Send it within ${totalMs / 1000} seconds, and at least ${bytesPerSecondMin / 1024} KiB a second after the first ${startMs / 1000}.`
