import type * as z from 'zod'
import { isArraySchema } from '../api/input.ts'
import type { MessageDescription, Operation, RequestHeader } from '../api/operation.ts'
import { type Json, jsonSchema } from './jsonSchema.ts'

const headerParameter = (name: string, header: string | RequestHeader): Json => {
  const { description, schema } = typeof header === 'string' ? { description: header, schema: {} } : header
  return { name, in: 'header', required: false, description, schema: { type: 'string', ...schema } }
}

const idempotencyKey = headerParameter('Idempotency-Key', {
  description:
    'Makes retries safe: the first response is stored for 24 hours and returned again for the same request with the same key. 1 to 255 visible ASCII characters, optionally in quotes.',
  schema: { pattern: '^("[!-~]{1,255}"|[!-~]{1,255})$' },
})
const prefer = headerParameter(
  'Prefer',
  'Preferences (RFC 7240). With `handling=strict`, unknown fields of a body are rejected with a 400 instead of ignored. With `read-replica`, a read may come from a read replica, whose data may be a few moments old. If it does, the response has the header `Preference-Applied`.',
)
const requestId = headerParameter(
  'X-Request-Id',
  'An id for the request: 1 to 128 letters, digits, dots, hyphens or underscores. The response returns it. Any other value is replaced with a new id.',
)

export function parametersOf(
  { params, query, requestHeaders = {}, method, body, allowsReplica }: Operation,
  schemas: Json,
): Json[] {
  return [
    ...describeParameters(params, 'path', schemas),
    ...describeParameters(query, 'query', schemas),
    ...Object.entries(requestHeaders).map(([name, header]) => headerParameter(name, header)),
    ...(method === 'POST' ? [idempotencyKey] : []),
    ...(body || allowsReplica ? [prefer] : []),
    requestId,
  ]
}

const describeParameters = (object: z.ZodObject | undefined, location: 'path' | 'query', schemas: Json) =>
  Object.entries(object?.shape ?? {}).map(([name, type]) => {
    const { description, ...schema } = jsonSchema(type as z.ZodType, schemas)
    return {
      name,
      in: location,
      required: location === 'path',
      ...(description !== undefined && { description }),
      ...(isArraySchema(type as z.ZodType) && { style: 'form', explode: true }),
      schema,
    }
  })

/** The headers of a webhook message. */
export const messageHeaders = ({ headers }: MessageDescription): Json[] =>
  Object.entries(headers).map(([name, { example, ...header }]) => ({
    ...headerParameter(name, header),
    required: true,
    example,
  }))
