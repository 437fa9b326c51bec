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

export const retryAfterCodes: ReadonlySet<ErrorCode> = new Set([
  'rate_limit_exceeded',
  'key_banned',
  'too_many_streams',
  'unavailable',
  'idempotency_in_progress',
])

/** Errors that the pipeline returns without running the operation. They are not stored for retries. */
const pipelineErrors = ({ scope, rateLimitExempt, method, write, rawBody }: Operation) => [
  'missing_api_key',
  'invalid_api_key',
  'origin_not_allowed',
  scope !== undefined && 'insufficient_scope',
  'rate_limit_exceeded',
  !rateLimitExempt && 'key_banned',
  write && 'body_too_large',
  rawBody && 'unsupported_media_type',
  method === 'POST' && 'idempotency_in_progress',
  method === 'POST' && 'idempotency_key_reused',
  'internal_error',
  'unavailable',
]

/** The errors that an operation declares and those of its input. They are stored for retries. */
export function operationErrors(operation: Operation): unknown[] {
  const { errors = [], notFound, query, body, method } = operation
  return [
    notFound,
    (query || body || method === 'POST') && 'validation_failed',
    isPaginated(operation) && 'invalid_cursor',
    body && 'malformed_json',
    body && 'unsupported_media_type',
    ...errors,
  ]
}

/** All errors of an operation by status. */
export const errorsByStatus = (operation: Operation): Map<string, ErrorCode[]> =>
  groupByStatus([...pipelineErrors(operation), ...operationErrors(operation)])

/** A sentence for the description of an operation: its errors, for each status that other operations use for more. */
export function describeErrors(operation: Operation, operations: readonly Operation[]): string {
  const allErrors = groupByStatus(operations.flatMap((other) => [...errorsByStatus(other).values()].flat()))
  const lists = [...errorsByStatus(operation)]
    .filter(([status, codes]) => codes.join() !== allErrors.get(status)?.join())
    .map(([status, codes]) => `${status} ${codes.map((code) => `\`${code}\``).join(', ')}`)
  return lists.length > 0 ? `Errors: ${lists.join('; ')}.` : ''
}

const groupByStatus = (codes: readonly unknown[]): Map<string, ErrorCode[]> =>
  Map.groupBy(
    errorCodes.filter((code) => codes.includes(code)),
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
