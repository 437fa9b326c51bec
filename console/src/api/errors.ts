import type { Schemas } from './schema.ts'

export type ErrorDetail = Schemas['ErrorDetail']
export type ErrorCode = Schemas['ErrorCode'] | 'network_error' | 'signed_out'

/**
 * An error response of the API, a request without a response (`network_error`, status 0), or why a session has
 * ended (`signed_out`).
 */
export class RequestError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: readonly ErrorDetail[]
  readonly requestId: string | undefined
  /** When the request can be repeated, in milliseconds of `now()`. */
  readonly retryAt: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    extras: {
      status?: number
      details?: readonly ErrorDetail[]
      requestId?: string | undefined
      retryAt?: number | undefined
    } = {},
  ) {
    super(message)
    this.name = 'RequestError'
    this.code = code
    this.status = extras.status ?? 0
    this.details = extras.details ?? []
    this.requestId = extras.requestId
    this.retryAt = extras.retryAt
  }

  get isLimited(): boolean {
    return this.status === 429
  }

  get isOffline(): boolean {
    return this.code === 'network_error'
  }

  /** The message without the time to wait, which is shown as a countdown. */
  get messageWithoutDelay(): string {
    return this.message.replace(/ Retry after \d+ seconds\./, '')
  }

  /** The first message for a field of the request or for what is in it. */
  detail(path: string): string | undefined {
    const found = this.details.find((detail) => isWithin(detail, path))
    return found && sentence(found.message)
  }

  /** The messages that are not for one of these fields. */
  detailsBeside(paths: readonly string[]): string[] {
    return this.details
      .filter((detail) => !paths.some((path) => isWithin(detail, path)))
      .map(({ path, message }) => (path === '' ? sentence(message) : `${path} ${message}`))
  }
}

const isWithin = (detail: ErrorDetail, path: string): boolean =>
  detail.path === path || detail.path.startsWith(`${path}/`)

export const isAbort = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'AbortError'

export const toRequestError = (error: unknown): RequestError =>
  error instanceof RequestError
    ? error
    : new RequestError('internal_error', error instanceof Error ? error.message : String(error))

/** The details of the API continue a sentence: "must be an e-mail address". */
const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
