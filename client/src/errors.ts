import type { ErrorCode, ErrorDetail } from './schema.ts'

/** Codes of the client itself, for requests without a usable response. */
export type ClientErrorCode = 'connection_failed' | 'timeout' | 'unexpected_response' | 'invalid_signature'

type ErrorFields = {
  status?: number | undefined
  details?: readonly ErrorDetail[] | undefined
  requestId?: string | undefined
  retryAfterMs?: number | undefined
  cause?: unknown
}

/** An error response of the API, and the base class of all other errors of requests and webhooks. */
export class PetstoreError extends Error {
  override readonly name: string = 'PetstoreError'
  /** Stable. Use it instead of the message. */
  declare readonly code: ErrorCode | ClientErrorCode
  /** The HTTP status. 0 if there was no response. */
  declare readonly status: number
  /** The invalid values, with `validation_failed`. */
  declare readonly details: readonly ErrorDetail[]
  /** The id of the request in the log of the service. */
  declare readonly requestId: string | undefined
  /** How long the service asked to wait before a retry. */
  declare readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode | ClientErrorCode, message: string, fields: ErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = code
    this.status = fields.status ?? 0
    this.details = fields.details ?? []
    this.requestId = fields.requestId
    this.retryAfterMs = fields.retryAfterMs
  }
}

/** The rate limit is exceeded or the key is banned, for longer than the client waits. */
export class RateLimitError extends PetstoreError {
  override readonly name: string = 'RateLimitError'
}

/** There was no complete response. Whether the service processed the request is unknown. */
export class ConnectionError extends PetstoreError {
  override readonly name: string = 'ConnectionError'
}

/** There was no complete response within `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override readonly name: string = 'TimeoutError'
}

/** A webhook message has no valid signature, or is too old. */
export class WebhookVerificationError extends PetstoreError {
  override readonly name: string = 'WebhookVerificationError'
}

type Thrown = { name?: unknown; message?: unknown; code?: unknown; cause?: unknown; errors?: Thrown[] }

const causesMax = 5

/**
 * What the runtime says about a failed request: the innermost cause and its code. A browser says only that the request
 * failed.
 */
export function reasonOf(thrown: unknown): string {
  let error = Object(thrown) as Thrown
  // The message of such an error can have a part of the response.
  if (error.name === 'SyntaxError') return 'invalid JSON'
  for (let count = 0; count < causesMax && error.cause; count++) error = Object(error.cause) as Thrown
  // If a host has several addresses, there is one error for each of them.
  const text = String(error.message || error.errors?.[0]?.message || (error.code ?? thrown))
    .replace(/\s+/g, ' ')
    .trim()
  return typeof error.code === 'string' && !text.includes(error.code) ? `${text} (${error.code})` : text
}
