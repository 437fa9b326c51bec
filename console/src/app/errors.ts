import { ConnectionError, type ErrorDetail, PetstoreError } from '../../../client/src/index.ts'
import { now } from './clock.ts'

/** An error of a request, or why a session has ended (`signed_out`), as screens show it. */
export class RequestError extends PetstoreError {
  override readonly name: string = 'RequestError'
  /** When the request can be repeated, in milliseconds of `now()`. */
  readonly retryAt: number | undefined =
    this.retryAfterMs === undefined ? undefined : now() + this.retryAfterMs

  get isLimited(): boolean {
    return this.status === 429
  }

  /** There was no complete response. */
  get isOffline(): boolean {
    return this.code === 'connection_failed' || this.code === 'timeout'
  }

  /** The message without the time to wait, which is shown as a countdown. */
  get messageWithoutDelay(): string {
    return this.message.replace(/ Retry after (\d+ seconds|"Retry-After")\./, '')
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

export function toRequestError(thrown: unknown): RequestError {
  if (thrown instanceof RequestError) return thrown
  if (thrown instanceof PetstoreError) return new RequestError(thrown.code, textOf(thrown), thrown)
  return new RequestError('internal_error', thrown instanceof Error ? thrown.message : String(thrown))
}

/** The client describes these errors for developers. */
function textOf(error: PetstoreError): string {
  if (error instanceof ConnectionError) return 'The service cannot be reached. Check your connection.'
  if (error.code === 'unexpected_response')
    return 'The response is not from the service. A proxy or the network may have replaced it.'
  return error.message
}

/** The details of the API continue a sentence: "must be an e-mail address". */
const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
