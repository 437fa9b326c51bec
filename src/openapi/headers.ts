import { apiErrors, type ErrorDefinition } from '../api/errors.ts'
import type { Operation } from '../api/operation.ts'
import { isPaginated, nextPageLink } from '../api/pagination.ts'
import { operationErrors } from './errors.ts'
import { type Json, mapValues } from './jsonSchema.ts'

const text = { type: 'string' }
const count = { type: 'integer', format: 'int32', minimum: 0 }
const describeHeader =
  (isRequired: boolean) =>
  (description: string, schema: Json = text, example?: unknown): Json => ({
    description,
    ...(isRequired && { required: true }),
    schema,
    ...(example !== undefined && { example }),
  })
const requiredHeader = describeHeader(true)
const optionalHeader = describeHeader(false)

/** On every response of the API. */
const commonHeaders = {
  'X-RateLimit-Limit': requiredHeader('The rate limit that applies.', count, 60),
  'X-RateLimit-Remaining': requiredHeader('Requests left in the current window.', count, 58),
  'X-RateLimit-Reset': requiredHeader(
    'Unix timestamp (seconds) at which the limit resets.',
    { type: 'integer', format: 'int64', minimum: 0 },
    1794744041,
  ),
  'RateLimit-Policy': requiredHeader(
    'The quota `q` and the length `w` in seconds of both windows.',
    text,
    '"minute";q=60;w=60, "day";q=1000;w=86400',
  ),
  RateLimit: requiredHeader(
    'The requests left `r` and the seconds until the reset `t` of both windows.',
    text,
    '"minute";r=58;t=41, "day";r=958;t=72723',
  ),
  'X-Request-Id': requiredHeader(
    'The id of the request: the one that was sent if it was valid, otherwise a new one.',
  ),
}

/** Optional, because operations that differ in stability share their responses. */
const stability = {
  'X-Stability': optionalHeader('The stability of the operation. Absent if it is stable.', {
    type: 'string',
    enum: ['beta', 'experimental'],
  }),
}
export const deprecationLink = optionalHeader(
  'The documentation of the deprecation (`rel="deprecation"`) and the replacement (`rel="successor-version"`). On every response of a deprecated operation.',
)
const deprecation = {
  Deprecation: optionalHeader(
    'When the operation was deprecated (RFC 9745). On every response of a deprecated operation.',
    text,
    '@1794700800',
  ),
  Sunset: optionalHeader(
    'When the operation is removed (RFC 8594). On every response of a deprecated operation.',
    text,
    'Thu, 05 Dec 2030 00:00:00 GMT',
  ),
  Link: deprecationLink,
}
const replayed = {
  'Idempotent-Replayed': optionalHeader('`true` if this is the stored response of an earlier request.'),
}
const preference = {
  'Preference-Applied': optionalHeader(
    'The preference in `Prefer` that was applied: `handling=strict`, or `read-replica` if a read replica served the response.',
  ),
}

const lifecycleHeaders = (operation: Operation): Json => ({
  ...(operation.stability && operation.stability !== 'stable' && stability),
  ...(operation.deprecation && deprecation),
})

export function successHeaders(operation: Operation, status: string): Json {
  const { headers = {}, optionalHeaders } = operation.responses[Number(status)] ?? {}
  return {
    ...commonHeaders,
    ...lifecycleHeaders(operation),
    ...(operation.method === 'POST' && replayed),
    ...((operation.body || operation.allowsReplica) && preference),
    ...mapValues(headers, requiredHeader),
    ...(status === '201' &&
      operation.location && { Location: requiredHeader('The URL of the new resource.') }),
    ...mapValues({ ...(isPaginated(operation) && nextPageLink), ...optionalHeaders }, optionalHeader),
  }
}

/** The headers of the response to a request that does not arrive in time. */
export const timeoutHeaders = (operation: Operation): Json => ({
  ...commonHeaders,
  ...lifecycleHeaders(operation),
  ...(operation.body && preference),
})

/** The headers of an error response with any of these errors. */
export function errorHeaders(operation: Operation, errors: readonly ErrorDefinition[]): Json {
  const isStored = operationErrors(operation).some((error) => errors.includes(error))
  const isAuthenticated = errors.some(({ status }) => status !== 401 && status !== 429)
  const hasRetryAfter = (error: ErrorDefinition) => error.hasRetryAfter === true
  return {
    ...commonHeaders,
    ...lifecycleHeaders(operation),
    ...(operation.method === 'POST' && isStored && replayed),
    ...(operation.body && isAuthenticated && preference),
    ...mapValues(Object.assign({}, ...errors.map((error) => error.headers)), optionalHeader),
    ...(errors.includes(apiErrors.missing_api_key) && {
      'WWW-Authenticate': requiredHeader('The authentication scheme.', { type: 'string', enum: ['Bearer'] }),
    }),
    ...(errors.some(hasRetryAfter) && {
      'Retry-After': describeHeader(errors.every(hasRetryAfter))(
        'Seconds to wait before a retry.',
        count,
        41,
      ),
    }),
  }
}

/** Combines the headers of several responses. A header that is not on all of them is optional. */
export function mergeHeaders(all: readonly Json[]): Json {
  const names = new Set(all.flatMap(Object.keys))
  return Object.fromEntries(
    [...names].map((name) => [name, mergeHeader(all.map((headers) => headers[name]))]),
  )
}

function mergeHeader(all: readonly unknown[]): Json {
  const variants = all.filter((header) => header !== undefined) as Json[]
  const descriptions = new Set(variants.map(({ description }) => description))
  const { description: _description, required: _required, ...header } = variants[0] as Json
  const isRequired = variants.length === all.length && variants.every(({ required }) => required)
  return { description: [...descriptions].join(' '), ...(isRequired && { required: true }), ...header }
}
