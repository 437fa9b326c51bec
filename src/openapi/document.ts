import type * as z from 'zod'
import { bodyBytesMax } from '../api/input.ts'
import type { MessageDescription, Operation } from '../api/operation.ts'
import { describeOwnErrors, errorSchemas } from './errors.ts'
import { addExample, type Json, jsonSchema } from './jsonSchema.ts'
import { messageHeaders, parametersOf } from './parameters.ts'
import { responsesOf } from './responses.ts'
import { type Components, shareRepeated } from './sharedComponents.ts'

type OpenApiOptions = {
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

Every operation takes an API key in the header \`Authorization: Bearer <API_KEY>\`. Every response carries the three
\`X-RateLimit\` headers, and the body of every error is an \`Error\` with a stable \`code\`. \`HEAD\` works wherever
\`GET\` does. Guides to adopting, following changes, keys, limits and errors are at \`/guides\`.

A body is one JSON object of at most ${bodyBytesMax / 1024} KiB in UTF-8, and no string in it contains U+0000. Unknown
fields are ignored.

Within version 1 the service may add operations, optional fields, response fields, error codes and event types. Ignore
what you do not know. Lists of values are closed unless their description says otherwise.`

/** OpenAPI 3.1, made from the same definitions that serve the requests. */
export function openApiDocument({ operations, productionUrl, stagingUrl }: OpenApiOptions): Json {
  const components: Components = {
    schemas: { ...errorSchemas },
    responses: {},
    parameters: {},
    headers: {},
    examples: {},
  }
  const paths: Record<string, Record<string, Json>> = {}
  const responses = responsesOf(operations, components)
  for (const operation of operations) {
    const method = operation.method.toLowerCase()
    paths[operation.path] = {
      ...paths[operation.path],
      [method]: {
        ...describe(operation, components, describeOwnErrors(operation, operations)),
        responses: responses.get(operation),
      },
    }
  }
  shareRepeated(Object.values(paths).flatMap(Object.values) as Json[], components)
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
    webhooks: Object.fromEntries(
      operations.flatMap(({ sends, tag }) =>
        sends ? [[sends.name, { post: describeMessage(sends, tag, components) }]] : [],
      ),
    ),
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
      ...Object.fromEntries(Object.entries(components).map(([section, named]) => [section, sorted(named)])),
    },
  }
}

/** As JSON, with each reference on one line: there are a thousand of them. */
export const documentText = (document: Json): string =>
  JSON.stringify(document, undefined, 2).replaceAll(/\{\s+("\$ref": "[^"]*")\s+\}/g, '{ $1 }')

const sorted = (named: Json): Json =>
  Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)))

function describe(operation: Operation, { schemas }: Components, errors: string): Json {
  const { id, tag, summary, description, scope, stability = 'stable', deprecation, body } = operation
  const needs = scope ? `Needs the scope \`${scope}\`.` : 'Every valid key may do this.'
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [description, needs, errors].filter(Boolean).join('\n\n'),
    ...(deprecation && {
      deprecated: true,
      'x-sunset': new Date(deprecation.sunsetMs).toISOString().slice(0, 10),
    }),
    'x-stability': stability,
    parameters: parametersOf(operation, schemas),
    ...(body && { requestBody: requestBodyOf(operation, body, schemas) }),
  }
}

function requestBodyOf({ isBodyOptional, bodyExample }: Operation, body: z.ZodType, schemas: Json): Json {
  const schema = jsonSchema(body, schemas)
  addExample(schema, bodyExample, schemas)
  return { required: !isBodyOptional, content: { 'application/json': { schema } } }
}

function describeMessage(message: MessageDescription, tag: string, { schemas }: Components): Json {
  const { id, summary, description, schema, examples, responses } = message
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: [],
    parameters: messageHeaders(message),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: jsonSchema(schema, schemas),
          examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
        },
      },
    },
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, meaning]) => [status, { description: meaning }]),
    ),
  }
}
