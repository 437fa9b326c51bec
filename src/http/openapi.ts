import type * as z from 'zod'
import { bodyBytesMax } from './body.ts'
import { type Json, jsonSchema } from './jsonSchema.ts'
import { errorSchema, responsesOf, sharedHeaders } from './openapiResponses.ts'
import type { Operation } from './operation.ts'
import { isListSchema } from './query.ts'

export type OpenApiOptions = {
  readonly operations: readonly Operation[]
  readonly productionUrl?: string | undefined
  readonly stagingUrl?: string | undefined
}

const tags: Record<string, string> = {
  Pets: 'Animals offered for adoption.',
  Store: 'Categories, the inventory, and orders that take an animal to its adopter.',
  Events: 'What has changed, to follow or to be streamed.',
  Webhooks: 'Addresses that are told of what has changed.',
  Limits: 'What a caller may still do.',
  Keys: 'API keys, for the operator.',
}

const intro = `Browse and manage animals offered for adoption.

Every operation takes an API key in the header \`Authorization: Bearer <API_KEY>\`. Every answer carries the three
\`X-RateLimit\` headers, and the body of every error is an \`Error\` with a stable \`code\`. \`HEAD\` works wherever
\`GET\` does. Guides to adopting, following changes, keys, limits and errors are at \`/guides\`.`

/** OpenAPI 3.1, made from the same definitions that serve the requests. */
export function openApiDocument({ operations, productionUrl, stagingUrl }: OpenApiOptions): Json {
  const schemas: Json = { Error: errorSchema }
  const responses: Json = {}
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    const method = operation.method.toLowerCase()
    paths[operation.path] = { ...paths[operation.path], [method]: describe(operation, schemas, responses) }
  }
  const servers = [
    ...(productionUrl ? [{ url: `${productionUrl}/v1`, description: 'Production' }] : []),
    ...(stagingUrl ? [{ url: `${stagingUrl}/v1`, description: 'Staging' }] : []),
  ]
  return {
    openapi: '3.1.0',
    'x-generated': 'Made by `npm run openapi` from the operations in src/: change those, not this file.',
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
          bearerFormat: 'API key',
          description:
            'An API key: `ps_live_...` in production, `ps_test_...` in staging. Each operation says which scope the key must have.',
        },
      },
      parameters: sharedParameters,
      headers: sharedHeaders,
      responses: sorted(responses),
      schemas: sorted(schemas),
    },
  }
}

const sorted = (named: Json): Json =>
  Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)))

function describe(operation: Operation, schemas: Json, responses: Json): Json {
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
        description: `At most ${bodyBytesMax / 1024} KiB. Fields that are not known are ignored.`,
        content: {
          'application/json': {
            schema: jsonSchema(body, schemas),
            ...(operation.bodyExample !== undefined && { example: operation.bodyExample }),
          },
        },
      },
    }),
    responses: responsesOf(operation, schemas, responses),
  }
}

const headerParameter = (name: string, description: string, schema: Json = {}): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string', ...schema },
})

const sharedParameters = {
  'Idempotency-Key': headerParameter(
    'Idempotency-Key',
    'Makes a retry safe: the first answer is kept for 24 h, and given again to the same request with the same key. 1 to 255 visible ASCII characters, bare or quoted.',
    { pattern: '^("[!-~]{1,255}"|[!-~]{1,255})$' },
  ),
  Prefer: headerParameter(
    'Prefer',
    'With `handling=strict`, fields that are not known are refused with a 400 rather than ignored (RFC 7240).',
  ),
  'X-Request-Id': headerParameter(
    'X-Request-Id',
    'An id of your own for the request, 1 to 128 letters, digits, dots, hyphens or underscores. It comes back in the answer; anything else is replaced by a new one.',
  ),
}
const shared = (name: keyof typeof sharedParameters) => ({ $ref: `#/components/parameters/${name}` })

function parametersOf(
  { params, query, requestHeaders = {}, method, body }: Operation,
  schemas: Json,
): Json[] {
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
    ...Object.entries(requestHeaders).map(([name, description]) => headerParameter(name, description)),
    ...(method === 'POST' ? [shared('Idempotency-Key')] : []),
    ...(body ? [shared('Prefer')] : []),
    shared('X-Request-Id'),
  ]
}
