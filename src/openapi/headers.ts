import { catalogue, type ErrorCode } from '../api/errors.ts'
import type { Operation } from '../api/operation.ts'
import { hasRetryAfter, isPipelineError } from './errors.ts'
import type { Json } from './jsonSchema.ts'

const text = { type: 'string' }
const count = { type: 'integer', format: 'int32', minimum: 0 }
const requiredHeader = (description: string, schema: Json = text, example?: unknown): Json => ({
  description,
  required: true,
  schema,
  ...(example !== undefined && { example }),
})
const optionalHeader = (description: string, schema: Json = text, example?: unknown): Json => ({
  description,
  schema,
  ...(example !== undefined && { example }),
})

/** On every response of the API. */
const commonHeaders = {
  'X-RateLimit-Limit': requiredHeader('The request allowance that applies.', count, 60),
  'X-RateLimit-Remaining': requiredHeader('Requests left in the current window.', count, 58),
  'X-RateLimit-Reset': requiredHeader(
    'Unix timestamp (seconds) at which the limit resets.',
    { type: 'integer', format: 'int64', minimum: 0 },
    1794744041,
  ),
  'RateLimit-Policy': requiredHeader(
    'Both windows: quota `q` and length `w` in seconds.',
    text,
    '"minute";q=60;w=60, "day";q=1000;w=86400',
  ),
  RateLimit: requiredHeader(
    'Both windows: requests left `r` and seconds until the reset `t`.',
    text,
    '"minute";r=58;t=41, "day";r=958;t=72723',
  ),
  'X-Request-Id': requiredHeader("The request's id: yours if it was well-formed, or a new one."),
}

/** Optional, so that operations of every kind share their responses; the operation itself says what it is. */
const stability = {
  'X-Stability': optionalHeader('How far the operation may still change; absent if it is stable.', {
    type: 'string',
    enum: ['beta', 'experimental'],
  }),
}
const deprecation = {
  Deprecation: optionalHeader(
    'On every response of a deprecated operation: since when it is deprecated (RFC 9745).',
    text,
    '@1794700800',
  ),
  Sunset: optionalHeader(
    'On every response of a deprecated operation: when it is removed (RFC 8594).',
    text,
    'Thu, 05 Dec 2030 00:00:00 GMT',
  ),
  Link: optionalHeader(
    'On every response of a deprecated operation: what to read about it (`rel="deprecation"`) and to use instead (`rel="successor-version"`).',
  ),
}
const replayed = {
  'Idempotent-Replayed': optionalHeader('`true` if this is the stored response of an earlier request.'),
}
const preference = {
  'Preference-Applied': optionalHeader('`handling=strict` if the request asked for it in `Prefer`.'),
}

const lifecycleHeaders = (operation: Operation): Json => ({
  ...(operation.stability && operation.stability !== 'stable' && stability),
  ...(operation.deprecation && deprecation),
})

export function successHeaders(operation: Operation, response: Operation['responses'][number]): Json {
  return {
    ...commonHeaders,
    ...lifecycleHeaders(operation),
    ...(operation.method === 'POST' && replayed),
    ...(operation.body && preference),
    ...mapValues(response.headers ?? {}, (description) => requiredHeader(description)),
    ...mapValues(response.optionalHeaders ?? {}, (description) => optionalHeader(description)),
  }
}

const retryAfter = (isAlways: boolean) =>
  (isAlways ? requiredHeader : optionalHeader)('Whole seconds to wait before the next try.', count, 41)

/** The headers of an error with any of these codes. */
export function errorHeaders(operation: Operation, codes: readonly ErrorCode[]): Json {
  const isStored = codes.some((code) => !isPipelineError(code))
  const isAfterInput = isStored || codes.some((code) => catalogue[code].status >= 500)
  const own = codes.flatMap((code) => Object.entries(operation.errorHeaders?.[code] ?? {}))
  return {
    ...commonHeaders,
    ...lifecycleHeaders(operation),
    ...(operation.method === 'POST' && isStored && replayed),
    ...(operation.body && isAfterInput && preference),
    ...mapValues(Object.fromEntries(own), (description) => optionalHeader(description)),
    ...(codes.includes('missing_api_key') && {
      'WWW-Authenticate': requiredHeader('How to authenticate.', { type: 'string', enum: ['Bearer'] }),
    }),
    ...(codes.some(hasRetryAfter) && { 'Retry-After': retryAfter(codes.every(hasRetryAfter)) }),
  }
}

/** The headers of several responses as one: what is not on all of them is optional. */
export function mergeHeaders(all: readonly Json[]): Json {
  const names = new Set(all.flatMap(Object.keys))
  return Object.fromEntries(
    [...names].map((name) => [name, mergeHeader(all.map((headers) => headers[name]))]),
  )
}

function mergeHeader(all: readonly unknown[]): Json {
  const found = all.filter((header) => header !== undefined) as Json[]
  const descriptions = new Set(found.map(({ description }) => description))
  const { description: _description, required: _required, ...header } = found[0] as Json
  const isAlways = found.length === all.length && found.every((other) => other.required)
  return { description: [...descriptions].join(' '), ...(isAlways && { required: true }), ...header }
}

const mapValues = (values: Record<string, string>, to: (value: string) => Json): Json =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]))
