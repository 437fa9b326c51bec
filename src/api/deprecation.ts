import { ApiError, apiErrors } from './errors.ts'

/** The announced removal of an operation (RFC 9745, RFC 8594) and its replacement. */
export type Deprecation = {
  readonly sinceMs: number
  readonly sunsetMs: number
  /** The guide page, relative to the service's root. */
  readonly guide: string
  readonly successor: string
  readonly message: string
}

export function deprecationHeaders({ sinceMs, sunsetMs, guide, successor }: Deprecation, publicUrl = '') {
  return {
    Deprecation: `@${sinceMs / 1000}`,
    Sunset: new Date(sunsetMs).toUTCString(),
    Link: `<${publicUrl}${guide}>; rel="deprecation"; type="text/html", <${publicUrl}${successor}>; rel="successor-version"`,
  }
}

/** Rejects requests after the removal. */
export function rejectRemoved(deprecation: Deprecation | undefined, now: number): void {
  if (deprecation && now >= deprecation.sunsetMs)
    throw new ApiError(apiErrors.operation_removed, deprecation.message)
}
