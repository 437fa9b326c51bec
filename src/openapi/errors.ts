import * as z from 'zod'
import { apiErrors, detailsMax, type ErrorDefinition } from '../api/errors.ts'
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
const errorCodeSchema = (codes: readonly string[]) =>
  z
    .union([
      z.enum(codes).meta({ id: 'KnownErrorCode', description: 'The error codes that exist today.' }),
      z.string(),
    ])
    .meta({
      id: 'ErrorCode',
      description:
        'Machine-readable error code. Codes are stable: use them instead of messages. This is an open list: new codes may be added. Handle an unknown code by its HTTP status.',
    })

/** The body of an error response. */
export const errorSchema = (operations: readonly Operation[]) =>
  z
    .object({
      code: errorCodeSchema(catalogueOf(operations).map(({ code }) => code)),
      message: z.string().meta({ description: 'Human-readable: what happened, and what to do next.' }),
      status: z.int().min(400).max(599).meta({ description: 'The HTTP status code of the response.' }),
      details: z
        .array(errorDetailSchema)
        .max(detailsMax)
        .optional()
        .meta({ description: 'The invalid values, with `validation_failed`.' }),
    })
    .meta({ id: 'Error', description: 'The body of every error response.' })

/** Every error of the API, by status. A test compares it with docs/guides/errors.md. */
export const catalogueOf = (operations: readonly Operation[]): ErrorDefinition[] =>
  sortedUnique([...Object.values(apiErrors), ...operations.flatMap(operationErrors)])

/** Errors that the pipeline returns without running the operation. They are not stored for retries. */
const pipelineErrors = ({ scope, rateLimitExempt, method, write, rawBody }: Operation): ErrorDefinition[] => [
  apiErrors.missing_api_key,
  apiErrors.invalid_api_key,
  ...(scope === undefined ? [] : [apiErrors.insufficient_scope]),
  apiErrors.origin_not_allowed,
  ...(method === 'POST' ? [apiErrors.idempotency_in_progress, apiErrors.idempotency_key_reused] : []),
  ...(write ? [apiErrors.body_too_large] : []),
  ...(rawBody ? [apiErrors.unsupported_media_type] : []),
  apiErrors.rate_limit_exceeded,
  ...(rateLimitExempt ? [] : [apiErrors.key_banned]),
  apiErrors.internal_error,
  apiErrors.unavailable,
]

/** The errors that an operation declares and those of its input. They are stored for retries. */
export function operationErrors(operation: Operation): ErrorDefinition[] {
  const { errors = [], notFound, query, body, method } = operation
  return [
    ...(body ? [apiErrors.malformed_json, apiErrors.unsupported_media_type] : []),
    ...(query || body || method === 'POST' ? [apiErrors.validation_failed] : []),
    ...(isPaginated(operation) ? [apiErrors.invalid_cursor] : []),
    ...(notFound ? [notFound] : []),
    ...errors,
  ]
}

/** All errors of an operation by status. */
export const errorsByStatus = (operation: Operation): Map<string, ErrorDefinition[]> =>
  groupByStatus([...operationErrors(operation), ...pipelineErrors(operation)])

/** A sentence for the description of an operation: its errors, for each status that other operations use for more. */
export function describeErrors(operation: Operation, operations: readonly Operation[]): string {
  const allErrors = groupByStatus(operations.flatMap((other) => [...errorsByStatus(other).values()].flat()))
  const lists = [...errorsByStatus(operation)]
    .filter(([status, errors]) => errors.length !== allErrors.get(status)?.length)
    .map(([status, errors]) => `${status} ${errors.map(({ code }) => `\`${code}\``).join(', ')}`)
  return lists.length > 0 ? `Errors: ${lists.join('; ')}.` : ''
}

const groupByStatus = (errors: readonly ErrorDefinition[]): Map<string, ErrorDefinition[]> =>
  Map.groupBy(sortedUnique(errors), ({ status }) => String(status))

/** Without repetitions, by status, otherwise in the order in which they are declared. */
export const sortedUnique = (errors: readonly ErrorDefinition[]): ErrorDefinition[] =>
  [...new Set(errors)].sort((a, b) => a.status - b.status)

/** The description of an error response. Its examples explain the codes. */
export const describeCodes = (errors: readonly ErrorDefinition[]): string =>
  errors.map(({ code }) => `\`${code}\``).join(' or ')

export function errorExample({ code, message, status }: ErrorDefinition): Json {
  const details = [{ path: 'limit', message: 'must be a whole number from 1 to 100' }]
  return { value: { code, message, status, ...(code === 'validation_failed' && { details }) } }
}
