import * as z from 'zod'
import { ApiError, apiErrors, protocolError, validationFailed } from './errors.ts'
import { JsonError, type JsonValue, parseJson } from './json.ts'
import type { Input, Operation, Principal, RawBody } from './operation.ts'
import { type ApiRequest, BodyError, type BodyLimits } from './request.ts'
import type { HeaderFields } from './response.ts'
import { rejectUnknownFields, validate } from './validation.ts'

export type AnyInput = Input<z.ZodObject, z.ZodObject, z.ZodObject>

export const bodyBytesMax = 64 * 1024
const noBytes = new Uint8Array()
const tooMuchMessage = 'The service is receiving too much data. Retry after "Retry-After".'
const tooMuchOfKeyMessage = 'The service is receiving too much data from this key. Retry after "Retry-After".'

const utf8 = new TextDecoder('utf-8', { fatal: true })

export type BodyBounds = {
  /** The size of all request bodies that are received or processed at the same time. */
  readonly bodyBytesTotalMax: number
  /** The part of it that raw bodies cannot take. */
  readonly bodyBytesForJson: number
  /** What the raw bodies of one key can take. */
  readonly bodyBytesPerKey: number
}

/**
 * Bounds the bytes of the request bodies that are received or processed at the same time, over all connections. Raw bodies,
 * which may arrive slowly, leave a part of the total to bodies in JSON, and those of one key leave a part to other keys.
 */
export function createBodyReceiver({ bodyBytesTotalMax, bodyBytesForJson, bodyBytesPerKey }: BodyBounds) {
  let total = 0
  let rawTotal = 0
  const rawByKey = new Map<number, number>()
  /** Receives a body and passes it to `use`. Until that has ended, its bytes are counted: first as they are announced. */
  return async <T>(
    request: ApiRequest,
    { keyId }: Principal,
    operation: Operation,
    use: (bytes: Uint8Array) => Promise<T>,
  ) => {
    const { rawBody, jsonBytesMax = bodyBytesMax } = operation
    if (rawBody) requireMediaType(request, rawBody)
    const limits: BodyLimits = rawBody ?? { bytesMax: jsonBytesMax }
    const ofThisKey = () => rawByKey.get(keyId) ?? 0
    let counted = 0
    const count = (bytes: number) => {
      total += bytes - counted
      if (rawBody) {
        rawTotal += bytes - counted
        rawByKey.set(keyId, ofThisKey() + bytes - counted)
        if (ofThisKey() === 0) rawByKey.delete(keyId)
      }
      counted = bytes
    }
    const announced = announcedBytes(request, limits)
    if (rawBody && ofThisKey() + announced > bodyBytesPerKey)
      throw new ApiError(apiErrors.unavailable, tooMuchOfKeyMessage)
    const isTooMuchRaw = rawBody && rawTotal + announced > bodyBytesTotalMax - bodyBytesForJson
    if (isTooMuchRaw || total + announced > bodyBytesTotalMax)
      throw new ApiError(apiErrors.unavailable, tooMuchMessage)
    count(announced)
    try {
      const bytes = await request.body(limits).catch((thrown) => rejectUnfinished(thrown, rawBody))
      if (!bytes) throw tooLarge(limits)
      count(bytes.length)
      return await use(bytes)
    } finally {
      count(0)
    }
  }
}

/** The length of the body, or the most that a body without an announced length can have. */
function announcedBytes(request: ApiRequest, limits: BodyLimits): number {
  const length = request.header('content-length')
  if (length === undefined) return request.header('transfer-encoding') === undefined ? 0 : limits.bytesMax
  if (Number(length) <= limits.bytesMax) return Number(length)
  throw tooLarge(limits)
}

const tooLarge = ({ bytesMax }: BodyLimits): ApiError =>
  new ApiError(apiErrors.body_too_large, `The body is larger than ${formatBytes(bytesMax)}.`, {
    headers: { Connection: 'close' },
  })

export const formatBytes = (bytes: number): string =>
  bytes < 2 ** 20 ? `${bytes / 2 ** 10} KiB` : `${bytes / 2 ** 20} MiB`

function rejectUnfinished(thrown: unknown, rawBody: RawBody | undefined): never {
  if (thrown instanceof BodyError) throw protocolError(thrown.problem, rawBody?.time)
  const error = rawBody ? apiErrors.validation_failed : apiErrors.malformed_json
  throw new ApiError(error, 'The body ended before its announced length.')
}

function requireMediaType(request: ApiRequest, { types, advice = '' }: RawBody): void {
  requireNoEncoding(request)
  const [type = ''] = (request.header('content-type') ?? '').toLowerCase().split(';')
  if (types.includes(type.trim())) return
  const message =
    `Send the body as ${types.join(' or ')}, and name its type in "Content-Type". ${advice}`.trim()
  throw new ApiError(apiErrors.unsupported_media_type, message)
}

function requireNoEncoding(request: ApiRequest): void {
  if ((request.header('content-encoding') ?? 'identity').toLowerCase() !== 'identity')
    throw new ApiError(apiErrors.unsupported_media_type, 'Send the body without a Content-Encoding.')
}

/** Path, query and body, validated by the operation's schemas. `operations` are those that an error can name. */
export function readInput(
  request: ApiRequest,
  operation: Operation,
  pathParams: Readonly<Record<string, string>> | undefined,
  bytes: Uint8Array = noBytes,
  operations: readonly Operation[] = [],
): AnyInput {
  const input = { params: {} as unknown, query: {} as unknown, body: {} as unknown, bytes }
  if (operation.params) {
    const parsed = operation.params.safeParse(pathParams)
    if (!parsed.success) throw new ApiError(operation.notFound ?? apiErrors.not_found)
    input.params = parsed.data
  }
  if (operation.query) input.query = readQuery(operation.query, request.target)
  if (operation.rawBody && bytes.length === 0) throw validationFailed([{ path: '', message: 'is empty' }])
  if (operation.body && !(operation.isBodyOptional && bytes.length === 0)) {
    const body = parseBody(request, bytes)
    // First: a field that seems to be missing may be present under a misspelled name.
    if (isStrict(request))
      rejectUnknownFields(operation.body, body, (name) => operationWithField(operation, operations, name))
    input.body = validate(operation.body, body, 'body')
  }
  return input as AnyInput
}

/** Names an operation on the same resource, or on one above or below it, that takes this field. */
function operationWithField({ path }: Operation, operations: readonly Operation[], name: string) {
  const isRelated = (other: string) => `${path}/`.startsWith(`${other}/`) || other.startsWith(`${path}/`)
  const distance = (other: Operation) => Math.abs(other.path.split('/').length - path.split('/').length)
  const [nearest] = operations
    .filter((other) => isRelated(other.path) && Object.hasOwn(other.body?.shape ?? {}, name))
    .sort((a, b) => distance(a) - distance(b))
  return nearest && `${nearest.method} ${nearest.path} takes it`
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
  requireNoEncoding(request)
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
