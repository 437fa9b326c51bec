import { catalogue, detailsMax, type ErrorCode, errorCodes } from './errors.ts'
import { type Json, jsonSchema } from './jsonSchema.ts'
import type { Operation } from './operation.ts'

export const errorSchema: Json = {
  type: 'object',
  description: 'The body of every error answer.',
  properties: {
    code: {
      type: 'string',
      enum: errorCodes,
      description: 'Machine-readable error code. It is stable: decide by it, not by the message.',
    },
    message: { type: 'string', description: 'Human-readable: what happened, and what to do next.' },
    status: {
      type: 'integer',
      minimum: 400,
      maximum: 599,
      description: 'The HTTP status code of the response.',
    },
    details: {
      type: 'array',
      maxItems: detailsMax,
      description: 'With `validation_failed`: each invalid value.',
      items: {
        type: 'object',
        properties: {
          path: {
            type: 'string',
            description: 'JSON Pointer into the body, or the name of a parameter or header.',
          },
          message: { type: 'string', description: 'What the value must be.' },
        },
        required: ['path', 'message'],
      },
    },
  },
  required: ['code', 'message', 'status'],
}

const count = { type: 'integer', minimum: 0 }
const text = { type: 'string' }
const sent = (description: string, schema: Json = text, example?: unknown): Json => ({
  description,
  required: true,
  schema,
  ...(example !== undefined && { example }),
})
const sentSometimes = (description: string): Json => ({ description, schema: text })

/** On every answer of the API. */
const everywhere = {
  'X-RateLimit-Limit': sent('The request allowance that applies.', count, 60),
  'X-RateLimit-Remaining': sent('Requests left in the current window.', count, 58),
  'X-RateLimit-Reset': sent('Unix timestamp (seconds) at which the limit resets.', count, 1794744041),
  'RateLimit-Policy': sent(
    'Both windows: quota `q` and length `w` in seconds.',
    text,
    '"minute";q=60;w=60, "day";q=1000;w=86400',
  ),
  RateLimit: sent(
    'Both windows: requests left `r` and seconds until the reset `t`.',
    text,
    '"minute";r=58;t=41, "day";r=958;t=72723',
  ),
  'X-Request-Id': sent("The request's id: yours if it was well-formed, or a new one."),
}
const retryAfter = 'Whole seconds to wait before the next try.'

export const sharedHeaders: Json = {
  ...everywhere,
  'Retry-After': sent(retryAfter, count, 41),
  Deprecation: sent('Since when the operation is deprecated (RFC 9745).', text, '@1794700800'),
  Sunset: sent('When the operation is removed (RFC 8594).', text, 'Thu, 05 Dec 2030 00:00:00 GMT'),
  'Idempotent-Replayed': sentSometimes('`true` where this is the kept answer of an earlier request.'),
}
const shared = (...names: string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** What the pipeline answers before the work begins: such an answer is the same for all, and never kept for a retry. */
const sharedErrors = {
  Unauthorized: ['missing_api_key', 'invalid_api_key'],
  Forbidden: ['origin_not_allowed', 'insufficient_scope'],
  BodyTooLarge: ['body_too_large'],
  IdempotencyInProgress: ['idempotency_in_progress'],
  IdempotencyKeyReused: ['idempotency_key_reused'],
  TooManyRequests: ['rate_limit_exceeded', 'key_banned'],
  InternalError: ['internal_error'],
  Unavailable: ['unavailable'],
} as const satisfies Record<string, readonly ErrorCode[]>
const pipelineCodes: readonly ErrorCode[] = Object.values(sharedErrors).flat()

const waitingCodes: readonly ErrorCode[] = [
  'rate_limit_exceeded',
  'key_banned',
  'too_many_streams',
  'unavailable',
  'idempotency_in_progress',
]

/** Everything that an operation can answer with an error body: its own errors, and those of the pipeline. */
export function codesOf({ errors = [], scope, isFree, body, method, write }: Operation): ErrorCode[] {
  const codes: (ErrorCode | false)[] = [
    'missing_api_key',
    'invalid_api_key',
    'origin_not_allowed',
    scope !== undefined && 'insufficient_scope',
    'rate_limit_exceeded',
    !isFree && 'key_banned',
    ...errors,
    write !== undefined && 'body_too_large',
    body !== undefined && 'unsupported_media_type',
    ...(method === 'POST'
      ? (['validation_failed', 'idempotency_in_progress', 'idempotency_key_reused'] as const)
      : []),
    'internal_error',
    'unavailable',
  ]
  return [...new Set(codes.filter((code) => code !== false))]
}

/** The responses of an operation; those that many have in common are added to `responses` and referred to. */
export function responsesOf(operation: Operation, schemas: Json, responses: Json): Json {
  const marked = markHeaders(operation)
  const all: Json = {}
  for (const [status, answer] of Object.entries(operation.answers)) {
    const { description, schema, headers = {}, optionalHeaders = {}, example } = answer
    all[status] = {
      description,
      headers: {
        ...shared(...Object.keys(everywhere)),
        ...marked,
        ...replayHeader(operation),
        ...mapValues(headers, (said) => sent(said)),
        ...mapValues(optionalHeaders, sentSometimes),
      },
      ...(schema && {
        content: {
          'application/json': {
            schema: jsonSchema(schema, schemas),
            ...(example !== undefined && { example }),
          },
        },
      }),
    }
  }
  const byStatus = Object.groupBy(codesOf(operation), (code) => String(catalogue[code].status))
  for (const [status, codes = []] of Object.entries(byStatus)) {
    const [name] = Object.entries(sharedErrors).find(([, same]) => same.join() === codes.join()) ?? []
    if (name !== undefined && Object.keys(marked).length === 0) {
      responses[name] = errorResponse(codes, operation, {})
      all[status] = { $ref: `#/components/responses/${name}` }
    } else {
      const isKept = codes.some((code) => !pipelineCodes.includes(code))
      all[status] = errorResponse(codes, operation, { ...marked, ...(isKept && replayHeader(operation)) })
    }
  }
  return all
}

/** What a deprecated or not yet stable operation says on all its answers. */
function markHeaders({ deprecation, stability = 'stable' }: Operation): Json {
  return {
    ...(deprecation && {
      ...shared('Deprecation', 'Sunset'),
      Link: sent(
        'What to read about it (`rel="deprecation"`) and to use instead (`rel="successor-version"`).',
      ),
    }),
    ...(stability !== 'stable' && {
      'X-Stability': sent('How far the operation may still change.', { type: 'string', enum: [stability] }),
    }),
  }
}

const replayHeader = ({ method }: Operation): Json => (method === 'POST' ? shared('Idempotent-Replayed') : {})

function errorResponse(codes: readonly ErrorCode[], operation: Operation, headers: Json): Json {
  const waiting = codes.filter((code) => waitingCodes.includes(code))
  const own = codes.map((code) => mapValues(operation.errorHeaders?.[code] ?? {}, sentSometimes))
  return {
    description: codes.map((code) => `\`${code}\`: ${catalogue[code].message}`).join('\n\n'),
    headers: {
      ...shared(...Object.keys(everywhere)),
      ...headers,
      ...Object.assign({}, ...own),
      ...(codes.includes('missing_api_key') && {
        'WWW-Authenticate': sent('How to authenticate.', { type: 'string', enum: ['Bearer'] }),
      }),
      ...(waiting.length === codes.length && shared('Retry-After')),
      ...(waiting.length > 0 &&
        waiting.length < codes.length && {
          'Retry-After': { description: `${retryAfter} With \`${waiting.join('`, `')}\`.`, schema: count },
        }),
    },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code, operation) }])),
      },
    },
  }
}

function errorExample(code: ErrorCode, { query, bodyExample }: Operation): Json {
  const { message, status } = catalogue[code]
  if (code !== 'validation_failed') return { code, message, status }
  const [parameter] = Object.keys(query?.shape ?? {})
  const [field] = Object.keys(bodyExample ?? {})
  const path = parameter ?? (field === undefined ? 'Idempotency-Key' : `/${field}`)
  return { code, message, status, details: [{ path, message: 'is not valid' }] }
}

const mapValues = (values: Record<string, string>, to: (value: string) => Json): Json =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]))
