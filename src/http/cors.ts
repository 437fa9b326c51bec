/** CORS for publishable keys: only the origins that some key is locked to get an answer that a browser may read. */

const exposed = [
  'Deprecation',
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Stability',
].join(', ')

const requestHeaders =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Prefer, X-Request-Id'
const preflightKeptSeconds = '7200'

export const corsHeaders = (origin: string): Record<string, string> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposed,
})

export const preflightHeaders = (allowed: string): Record<string, string> => ({
  'Access-Control-Allow-Methods': allowed,
  'Access-Control-Allow-Headers': requestHeaders,
  'Access-Control-Max-Age': preflightKeptSeconds,
})
