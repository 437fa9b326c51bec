import * as z from 'zod'
import { bodyBytesMax } from './body.ts'
import { catalogue, type ErrorCode, errorCodes } from './errors.ts'
import type { Operation } from './operation.ts'
import { isListSchema } from './query.ts'
import { documentation } from './validation.ts'

type Json = Record<string, unknown>

export type OpenApiOptions = {
  readonly operations: readonly Operation[]
  readonly productionUrl?: string | undefined
  readonly stagingUrl?: string | undefined
}

const tags: Record<string, string> = {
  Pets: 'Animals offered for adoption.',
  Limits: 'What a caller may still do.',
  Keys: 'API keys, for the operator.',
}

const intro = `Browse and manage animals offered for adoption.

Every operation takes an API key in the header \`Authorization: Bearer <API_KEY>\`. Every answer carries the three
X-RateLimit headers, and every error is an \`Error\` with a stable \`code\`. Guides are at \`/guides\`.`

/** OpenAPI 3.1, made from the same definitions that serve the requests. */
export function openApiDocument({ operations, productionUrl, stagingUrl }: OpenApiOptions): Json {
  const schemas: Json = { Error: errorSchema }
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    const method = operation.method.toLowerCase()
    paths[operation.path] = { ...paths[operation.path], [method]: describeOperation(operation, schemas) }
  }
  const servers = [
    ...(productionUrl ? [{ url: `${productionUrl}/v1`, description: 'Production' }] : []),
    ...(stagingUrl ? [{ url: `${stagingUrl}/v1`, description: 'Staging' }] : []),
  ]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Petstore',
      version: '1.0.0',
      description: intro,
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: servers.length > 0 ? servers : [{ url: '/v1', description: 'This service' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(tags)
      .filter(([name]) => operations.some(({ tag }) => tag === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: `ps_live_...` or `ps_test_...`.',
        },
      },
      headers: commonHeaders,
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}

const errorSchema: Json = {
  type: 'object',
  description: 'Every error answer.',
  required: ['code', 'message', 'status'],
  properties: {
    code: { type: 'string', enum: errorCodes, description: 'Machine-readable error code.' },
    message: { type: 'string', description: 'What happened, and what to do next.' },
    status: { type: 'integer', description: 'The HTTP status code of the response.' },
    details: {
      type: 'array',
      description: 'On invalid values: each of them.',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: {
          path: { type: 'string', description: 'JSON Pointer into the body, or the name of a parameter.' },
          message: { type: 'string' },
        },
      },
    },
  },
}

const textHeader = (description: string, type = 'string') => ({ description, schema: { type } })
const commonHeaders: Json = {
  'X-RateLimit-Limit': textHeader('The request allowance that applies.', 'integer'),
  'X-RateLimit-Remaining': textHeader('Requests left in the current window.', 'integer'),
  'X-RateLimit-Reset': textHeader('Unix timestamp at which the limit resets.', 'integer'),
  'RateLimit-Policy': textHeader('Both windows: quota and length.'),
  RateLimit: textHeader('Both windows: requests left and seconds until the reset.'),
  'X-Request-Id': textHeader("The request's id: yours, or a new one."),
  'Retry-After': textHeader('Whole seconds to wait before the next try.', 'integer'),
  Deprecation: textHeader('Since when the operation is deprecated (RFC 9745).'),
  Sunset: textHeader('When the operation ends (RFC 8594).'),
  'Idempotent-Replayed': textHeader('`true` where this is the kept answer of an earlier request.'),
}
const alwaysSent = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'X-Request-Id',
]
const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

function describeOperation(operation: Operation, schemas: Json): Json {
  const { id, tag, summary, description, scope, stability = 'stable', deprecation, body } = operation
  const needs = scope ? `Needs the scope \`${scope}\`.` : 'Every valid key may do this.'
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: description ? `${description}\n\n${needs}` : needs,
    ...(deprecation && {
      deprecated: true,
      'x-sunset': new Date(deprecation.sunsetMs).toISOString().slice(0, 10),
    }),
    'x-stability': stability,
    parameters: parametersOf(operation, schemas),
    ...(body && {
      requestBody: {
        required: !operation.isBodyOptional,
        description: `At most ${bodyBytesMax / 1024} KiB.`,
        content: {
          'application/json': { schema: jsonSchema(body, schemas), example: operation.bodyExample },
        },
      },
    }),
    responses: responsesOf(operation, schemas),
  }
}

function parametersOf({ params, query, requestHeaders = {}, method }: Operation, schemas: Json): Json[] {
  const headers: Record<string, string> = {
    ...requestHeaders,
    ...(method === 'POST' && {
      'Idempotency-Key': 'Makes a retry safe: the first answer is kept 24 h and given again.',
    }),
  }
  const described = (shape: z.ZodObject['shape'], where: string) =>
    Object.entries(shape).map(([name, type]) => {
      const { description, ...schema } = jsonSchema(type as z.ZodType, schemas) as Json
      return {
        name,
        in: where,
        required: where === 'path',
        ...(description !== undefined && { description }),
        ...(isListSchema(type as z.ZodType) && { style: 'form', explode: true }),
        schema,
      }
    })
  return [
    ...described(params?.shape ?? {}, 'path'),
    ...described(query?.shape ?? {}, 'query'),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ]
}

/** What any operation can answer besides its own errors. */
function codesOf({ errors = [], scope, body, method }: Operation): ErrorCode[] {
  const bodyCodes: ErrorCode[] = body ? ['body_too_large', 'unsupported_media_type'] : []
  const retryCodes: ErrorCode[] =
    method === 'POST' ? ['validation_failed', 'idempotency_in_progress', 'idempotency_key_reused'] : []
  const scopeCodes: ErrorCode[] = scope ? ['insufficient_scope'] : []
  const common: ErrorCode[] = [
    'missing_api_key',
    'invalid_api_key',
    'origin_not_allowed',
    'rate_limit_exceeded',
    'key_banned',
  ]
  return [
    ...new Set([
      ...common,
      ...errors,
      ...scopeCodes,
      ...bodyCodes,
      ...retryCodes,
      'internal_error',
      'unavailable',
    ] as const),
  ]
}

function responsesOf(operation: Operation, schemas: Json): Json {
  const deprecationHeaders = operation.deprecation ? ['Deprecation', 'Sunset'] : []
  const responses: Record<string, Json> = {}
  for (const [status, { description, schema, headers = {}, example }] of Object.entries(operation.answers)) {
    const own = Object.entries(headers).map(([name, text]) => [name, textHeader(text)])
    const replay = operation.method === 'POST' ? ['Idempotent-Replayed'] : []
    responses[status] = {
      description,
      headers: {
        ...headerRefs([...alwaysSent, ...deprecationHeaders, ...replay]),
        ...Object.fromEntries(own),
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
    const waits = codes.some((code) =>
      ['rate_limit_exceeded', 'unavailable', 'idempotency_in_progress'].includes(code),
    )
    responses[status] = {
      description: codes.map((code) => `\`${code}\`: ${catalogue[code].message}`).join('\n\n'),
      headers: headerRefs([...alwaysSent, ...deprecationHeaders, ...(waits ? ['Retry-After'] : [])]),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          examples: Object.fromEntries(codes.map((code) => [code, { value: { code, ...catalogue[code] } }])),
        },
      },
    }
  }
  return responses
}

/** JSON Schema as OpenAPI has it: named schemas go to the components and are referred to. */
function jsonSchema(schema: z.ZodType, schemas: Json): Json {
  // As a property of something else, a named schema is referred to; at the top it would be spelled out.
  const { properties, $defs } = z.toJSONSchema(z.object({ it: schema }), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: made }) => mend(zodSchema as unknown as z.ZodType, made as Json),
  }) as unknown as { properties: { it: Json }; $defs?: Json }
  const relocated = JSON.parse(
    JSON.stringify({ it: properties.it, defs: $defs ?? {} }).replaceAll(
      '"#/$defs/',
      '"#/components/schemas/',
    ),
  ) as { it: Json; defs: Record<string, Json> }
  for (const [name, { id: _id, ...definition }] of Object.entries(relocated.defs)) schemas[name] = definition
  return relocated.it
}

function mend(schema: z.ZodType, made: Json): void {
  const documented = documentation.get(schema)?.schema
  if (documented) {
    const { description } = made
    for (const key of Object.keys(made)) delete made[key]
    Object.assign(made, documented, description === undefined ? {} : { description })
  }
  // Noise that Zod adds and no reader needs.
  if (made.format === 'date-time') delete made.pattern
  if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum
  if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum
}
