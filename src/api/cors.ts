/** CORS for publishable keys: only the origins that some key is locked to get an answer that a browser may read. */

/** Every response header of the interface that a browser would hide otherwise. */
const exposed = [
  'Allow',
  'Deprecation',
  'ETag',
  'Idempotent-Replayed',
  'Last-Event-Id',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'WWW-Authenticate',
  'X-Content-Type-Options',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Stability',
].join(', ')

const requestHeaders =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, X-Request-Id'
/** The same for every path: a page can then read the 404 of a missing path, and the 405 of a method that a path lacks. */
const methods = 'GET, POST, PATCH, DELETE, HEAD, OPTIONS'
const preflightKeptSeconds = '7200'

export const corsHeaders = (origin: string): Record<string, string> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposed,
})

export const preflightHeaders: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Methods': methods,
  'Access-Control-Allow-Headers': requestHeaders,
  'Access-Control-Max-Age': preflightKeptSeconds,
}
