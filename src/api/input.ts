import * as z from 'zod'
import { ApiError, apiErrors, protocolError, validationFailed } from './errors.ts'
import { JsonError, type JsonValue, parseJson } from './json.ts'
import type { Input, Operation } from './operation.ts'
import { type ApiRequest, BodyError } from './request.ts'
import type { HeaderFields } from './response.ts'
import { rejectUnknownFields, validate } from './validation.ts'

export type AnyInput = Input<z.ZodObject, z.ZodObject, z.ZodObject>

export const bodyBytesMax = 64 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Stops reading at the limit. */
export async function readBody(request: ApiRequest): Promise<Uint8Array> {
  const bytes = await request.body(bodyBytesMax).catch(rejectUnfinished)
  if (!bytes) throw new ApiError(apiErrors.body_too_large, undefined, { headers: { Connection: 'close' } })
  return bytes
}

function rejectUnfinished(thrown: unknown): never {
  if (thrown instanceof BodyError) throw protocolError(thrown.problem)
  throw new ApiError(apiErrors.malformed_json, 'The body ended before its announced length.')
}

/** Path, query and body, validated by the operation's schemas. */
export function readInput(
  request: ApiRequest,
  operation: Operation,
  pathParams: Readonly<Record<string, string>> | undefined,
  bytes?: Uint8Array,
): AnyInput {
  const input: { params: unknown; query: unknown; body: unknown } = { params: {}, query: {}, body: {} }
  if (operation.params) {
    const parsed = operation.params.safeParse(pathParams)
    if (!parsed.success) throw new ApiError(operation.notFound ?? apiErrors.not_found)
    input.params = parsed.data
  }
  if (operation.query) input.query = readQuery(operation.query, request.target)
  if (operation.body && bytes && !(operation.isBodyOptional && bytes.length === 0)) {
    const body = parseBody(request, bytes)
    // First: a field that seems to be missing may be present under a misspelled name.
    if (isStrict(request)) rejectUnknownFields(operation.body, body)
    input.body = validate(operation.body, body, 'body')
  }
  return input as AnyInput
}

/** Whether the client prefers unknown fields to be rejected (RFC 7240). */
const isStrict = (request: ApiRequest): boolean =>
  /(?:^|[,;\s])handling\s*=\s*"?strict\b(?!-)/i.test(request.header('prefer') ?? '')

/** Whether the client accepts data of a read replica, which may be a few moments old (RFC 7240). */
export const prefersReplica = (request: ApiRequest): boolean =>
  /(?:^|,)\s*read-replica\s*(?:$|[,;])/i.test(request.header('prefer') ?? '')

/** Ignores unknown parameters. A known one may occur once, unless it is a list. */
function readQuery(schema: z.ZodObject, target: string): unknown {
  const start = target.indexOf('?')
  const parameters = new URLSearchParams(start === -1 ? '' : target.slice(start))
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(schema.shape)) {
    const given = parameters.getAll(name)
    if (given.length === 0) continue
    const isArray = isArraySchema(schema.shape[name])
    if (given.length > 1 && !isArray)
      throw validationFailed([{ path: name, message: 'is given more than once' }])
    values[name] = isArray ? given : given[0]
  }
  return validate(schema, values, 'parameters')
}

export const isArraySchema = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodOptional ? isArraySchema(schema.unwrap() as z.ZodType) : schema instanceof z.ZodArray

function parseBody(request: ApiRequest, bytes: Uint8Array): JsonValue {
  if (!isJson(request.header('content-type'))) throw new ApiError(apiErrors.unsupported_media_type)
  if ((request.header('content-encoding') ?? 'identity').toLowerCase() !== 'identity') {
    throw new ApiError(apiErrors.unsupported_media_type, 'Send the body without a Content-Encoding.')
  }
  if (bytes.length === 0)
    throw new ApiError(apiErrors.malformed_json, 'The body is empty: send a JSON object.')
  try {
    return parseJson(utf8.decode(bytes))
  } catch (error) {
    if (error instanceof JsonError)
      throw new ApiError(apiErrors.malformed_json, `The body is not valid JSON: ${error.message}.`)
    if (error instanceof TypeError)
      throw new ApiError(apiErrors.malformed_json, 'The body is not valid UTF-8.')
    throw error
  }
}

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === 'application/json' || contentType.trim() === '')
    return true
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  return (
    type.trim() === 'application/json' &&
    parameters.every(
      (parameter) => !/^\s*charset=/.test(parameter) || /^\s*charset="?utf-?8"?\s*$/.test(parameter),
    )
  )
}

export const appliedPreference = (request: ApiRequest, operation: Operation): HeaderFields | undefined =>
  operation.body && isStrict(request) ? { 'Preference-Applied': 'handling=strict' } : undefined
