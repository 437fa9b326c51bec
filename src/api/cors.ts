import { type Authenticator, type AuthResult, isOriginAllowed } from './authentication.ts'
import { ApiError, apiErrors } from './errors.ts'
import type { ApiRequest } from './request.ts'
import { type HeaderFields, type PreparedResponse, prepareResponse } from './response.ts'
import { allowedMethods, type Route } from './router.ts'

/** CORS for publishable keys: a browser may read a response only from an origin that some key is restricted to. */

/** Response headers that a browser hides unless they are listed. */
const exposed =
  'Allow, Deprecation, ETag, Idempotent-Replayed, Last-Event-Id, Link, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, Sunset, WWW-Authenticate, X-Content-Type-Options, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Stability'

const requestHeaders =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, X-Request-Id'
/** The same for every path: a web page can then read the 404 of a missing path and the 405 of a missing method. */
const methods = 'GET, POST, PATCH, DELETE, HEAD, OPTIONS'
const preflightMaxAgeSeconds = '7200'

export const corsHeaders = (origin: string): Record<string, string> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposed,
})

export const preflightHeaders: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Methods': methods,
  'Access-Control-Allow-Headers': requestHeaders,
  'Access-Control-Max-Age': preflightMaxAgeSeconds,
}

/** Until the key is known, an origin that any key is restricted to may read the response, errors included. */
export function allowKnownOrigin(origin: string | undefined, authenticator: Authenticator) {
  if (origin === undefined) return undefined
  return authenticator.isKnownOrigin(origin).then((isKnown) => (isKnown ? corsHeaders(origin) : undefined))
}

/** Once the key is known, only its origins may. A secret key has none. */
export function restrictOrigin(
  cors: HeaderFields | undefined,
  origin: string | undefined,
  { principal }: AuthResult,
): HeaderFields | undefined {
  if (!cors || !principal) return cors
  const isKeyOrigin = principal.origins.length > 0 && isOriginAllowed(principal, origin)
  return isKeyOrigin ? cors : undefined
}

/** The response to OPTIONS, with or without a preflight. */
export function optionsResponse(
  request: ApiRequest,
  route: Route | undefined,
  cors: HeaderFields | undefined,
): PreparedResponse {
  const isPreflight = cors !== undefined && request.header('access-control-request-method') !== undefined
  // A failed preflight would hide the 404 of the request itself from the web page.
  if (!route && !isPreflight) throw new ApiError(apiErrors.not_found)
  return prepareResponse({
    status: 204,
    headers: { ...(route && { Allow: allowedMethods(route) }), ...(cors && preflightHeaders) },
  })
}
