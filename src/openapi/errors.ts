import { catalogue, detailsMax, type ErrorCode, errorCodes } from '../api/errors.ts'
import type { Operation } from '../api/operation.ts'
import type { Json } from './jsonSchema.ts'

/** The body of an error. The code is an open list: see docs/decisions/0023-openapi-for-generators.md. */
export const errorSchemas: Json = {
  Error: {
    type: 'object',
    description: 'The body of every error response.',
    properties: {
      code: { $ref: '#/components/schemas/ErrorCode' },
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
        items: { $ref: '#/components/schemas/ErrorDetail' },
      },
    },
    required: ['code', 'message', 'status'],
  },
  ErrorCode: {
    description:
      'Machine-readable error code. It is stable: decide by it, not by the message. This is an open list: new codes may be added, so treat an unknown one by its HTTP status.',
    anyOf: [{ $ref: '#/components/schemas/KnownErrorCode' }, { type: 'string' }],
  },
  KnownErrorCode: {
    type: 'string',
    enum: errorCodes,
    description: 'The error codes that exist today.',
  },
  ErrorDetail: {
    type: 'object',
    description: 'One invalid value.',
    properties: {
      path: {
        type: 'string',
        description: 'JSON Pointer into the body, or the name of a parameter or header.',
      },
      message: { type: 'string', description: 'What the value must be.' },
    },
    required: ['path', 'message'],
  },
}

/** What the pipeline returns before the work begins: it is the same for all, and never stored for a retry. */
const pipelineCodes: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'origin_not_allowed',
  'insufficient_scope',
  'body_too_large',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'rate_limit_exceeded',
  'key_banned',
  'too_many_streams',
  'internal_error',
  'unavailable',
]
export const isPipelineError = (code: ErrorCode): boolean => pipelineCodes.includes(code)

const waitingCodes: readonly ErrorCode[] = [
  'rate_limit_exceeded',
  'key_banned',
  'too_many_streams',
  'unavailable',
  'idempotency_in_progress',
]
export const hasRetryAfter = (code: ErrorCode): boolean => waitingCodes.includes(code)

/** Everything that an operation can return with an error body: its own errors, and those of the pipeline. */
export function errorCodesOf({
  errors = [],
  scope,
  rateLimitExempt,
  body,
  method,
  write,
}: Operation): ErrorCode[] {
  const codes: (ErrorCode | false)[] = [
    'missing_api_key',
    'invalid_api_key',
    'origin_not_allowed',
    scope !== undefined && 'insufficient_scope',
    'rate_limit_exceeded',
    !rateLimitExempt && 'key_banned',
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

/** The codes by status where the operation has only some of those that others have, as a line of its description. */
export function describeErrors(operation: Operation, operations: readonly Operation[]): string {
  const statusOf = (code: ErrorCode) => String(catalogue[code].status)
  const own = Object.groupBy(inCatalogueOrder(errorCodesOf(operation)), statusOf)
  const all = Object.groupBy(inCatalogueOrder(operations.flatMap(errorCodesOf)), statusOf)
  const partly = Object.entries(own).filter(([status, codes]) => codes?.join() !== all[status]?.join())
  const lists = partly.map(
    ([status, codes = []]) => `${status} ${codes.map((code) => `\`${code}\``).join(', ')}`,
  )
  return lists.length > 0 ? `Errors: ${lists.join('; ')}.` : ''
}

const inCatalogueOrder = (codes: readonly ErrorCode[]): ErrorCode[] =>
  errorCodes.filter((code) => codes.includes(code))

/** The description of an error: its codes. What they mean is in the examples, one for each. */
export const describeCodes = (codes: readonly ErrorCode[]): string =>
  codes.map((code) => `\`${code}\``).join(' or ')

export function errorExample(code: ErrorCode): Json {
  const { message, status } = catalogue[code]
  const details = [{ path: 'limit', message: 'must be a whole number from 1 to 100' }]
  return { value: { code, message, status, ...(code === 'validation_failed' && { details }) } }
}
