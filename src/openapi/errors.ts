import * as z from 'zod'
import { detailsMax, type ErrorCode, errorCatalogue, errorCodes } from '../api/errors.ts'
import type { Operation } from '../api/operation.ts'
import { isPaginated } from '../api/pagination.ts'
import type { Json } from './jsonSchema.ts'

const errorDetailSchema = z
  .object({
    path: z
      .string()
      .meta({ description: 'JSON Pointer into the body, or the name of a parameter or header.' }),
    message: z.string().meta({ description: 'What the value must be.' }),
  })
  .meta({ id: 'ErrorDetail', description: 'One invalid value.' })
/** An open list: see docs/decisions/0023-openapi-for-generators.md. */
const errorCodeSchema = z
  .union([
    z.enum(errorCodes).meta({ id: 'KnownErrorCode', description: 'The error codes that exist today.' }),
    z.string(),
  ])
  .meta({
    id: 'ErrorCode',
    description:
      'Machine-readable error code. Codes are stable: use them instead of messages. This is an open list: new codes may be added. Handle an unknown code by its HTTP status.',
  })
/** The body of an error response. */
export const errorSchema = z
  .object({
    code: errorCodeSchema,
    message: z.string().meta({ description: 'Human-readable: what happened, and what to do next.' }),
    status: z.int().min(400).max(599).meta({ description: 'The HTTP status code of the response.' }),
    details: z
      .array(errorDetailSchema)
      .max(detailsMax)
      .optional()
      .meta({ description: 'The invalid values, with `validation_failed`.' }),
  })
  .meta({ id: 'Error', description: 'The body of every error response.' })

/** Errors that the pipeline returns before the operation runs. They are not stored for retries. */
export const pipelineCodes: ReadonlySet<ErrorCode> = new Set([
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
])

export const retryAfterCodes: ReadonlySet<ErrorCode> = new Set([
  'rate_limit_exceeded',
  'key_banned',
  'too_many_streams',
  'unavailable',
  'idempotency_in_progress',
])

/** All errors of an operation by status: those it declares, those of its input and those of the pipeline. */
export function errorsByStatus(operation: Operation): Map<string, ErrorCode[]> {
  const { errors = [], notFound, query, body, scope, rateLimitExempt, method, write } = operation
  const isIdempotent = method === 'POST'
  const codes = new Set<ErrorCode | false | undefined>([
    'missing_api_key',
    'invalid_api_key',
    'origin_not_allowed',
    scope !== undefined && 'insufficient_scope',
    'rate_limit_exceeded',
    !rateLimitExempt && 'key_banned',
    notFound,
    (query || body || isIdempotent) && 'validation_failed',
    isPaginated(operation) && 'invalid_cursor',
    body && 'malformed_json',
    body && 'unsupported_media_type',
    write && 'body_too_large',
    isIdempotent && 'idempotency_in_progress',
    isIdempotent && 'idempotency_key_reused',
    ...errors,
    'internal_error',
    'unavailable',
  ])
  return groupByStatus(codes)
}

/** A sentence for the description of an operation: its errors, for each status that other operations use for more. */
export function describeErrors(operation: Operation, operations: readonly Operation[]): string {
  const allErrors = groupByStatus(
    new Set(operations.flatMap((other) => [...errorsByStatus(other).values()].flat())),
  )
  const lists = [...errorsByStatus(operation)]
    .filter(([status, codes]) => codes.join() !== allErrors.get(status)?.join())
    .map(([status, codes]) => `${status} ${codes.map((code) => `\`${code}\``).join(', ')}`)
  return lists.length > 0 ? `Errors: ${lists.join('; ')}.` : ''
}

const groupByStatus = (codes: ReadonlySet<unknown>): Map<string, ErrorCode[]> =>
  Map.groupBy(
    errorCodes.filter((code) => codes.has(code)),
    (code) => String(errorCatalogue[code].status),
  )

/** The description of an error response. Its examples explain the codes. */
export const describeCodes = (codes: readonly ErrorCode[]): string =>
  codes.map((code) => `\`${code}\``).join(' or ')

export function errorExample(code: ErrorCode): Json {
  const { message, status } = errorCatalogue[code]
  const details = [{ path: 'limit', message: 'must be a whole number from 1 to 100' }]
  return { value: { code, message, status, ...(code === 'validation_failed' && { details }) } }
}
