import { catalogue, type ErrorCode, errorCodes } from '../api/errors.ts'
import type { Operation } from '../api/operation.ts'
import { describeCodes, errorCodesOf, errorExample } from './errors.ts'
import { errorHeaders, mergeHeaders, successHeaders } from './headers.ts'
import { addExample, componentName, type Json, jsonSchema } from './jsonSchema.ts'
import type { Components } from './sharedComponents.ts'

/** A response of one operation, before it is known which others have the same. */
type ResponseDraft = {
  operation: Operation
  status: string
  /** What it is called in the components. */
  name: string
  codes: readonly ErrorCode[]
  response: Json & { description: string; headers: Json }
}

const statusNames: Readonly<Record<string, string>> = {
  204: 'NoContent',
  304: 'NotModified',
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
}
const bodilessDescriptions: Readonly<Record<string, string>> = {
  NoContent: 'The request succeeded, and there is nothing to return.',
  NotModified: 'The version that you have is still current.',
}
const statusName = (status: string): string => statusNames[status] ?? `Status${status}`

/**
 * The responses of each operation, all of them references to named ones. Errors with the same status are one response,
 * and so are successes with the same body. Where an operation has only some of the codes of an error, its own description
 * lists them.
 */
export function responsesOf(
  operations: readonly Operation[],
  components: Components,
): Map<Operation, Record<string, Json>> {
  const drafts = operations.flatMap((operation) => [
    ...successDrafts(operation, components.schemas),
    ...errorDrafts(operation),
  ])
  for (const [name, group] of Map.groupBy(drafts, (draft) => draft.name))
    components.responses[name] = merge(group, components.examples)
  const reference = ({ status, name, codes, response: { description } }: ResponseDraft): [string, Json] => {
    const isSame = codes.length > 0 || description === components.responses[name]?.description
    return [status, { $ref: `#/components/responses/${name}`, ...(!isSame && { description }) }]
  }
  const byOperation = Map.groupBy(drafts, ({ operation }) => operation).entries()
  return new Map(byOperation.map(([key, own]) => [key, Object.fromEntries(own.map(reference))]))
}

/** What is true of a response in all operations that have it. */
function merge(group: readonly ResponseDraft[], examples: Json): Json {
  const [{ response, name }] = group as [ResponseDraft, ...ResponseDraft[]]
  const headers = mergeHeaders(group.map((draft) => draft.response.headers))
  const codes = errorCodes.filter((code) => group.some((draft) => draft.codes.includes(code)))
  for (const code of codes) examples[code] ??= errorExample(code)
  if (codes.length === 0 || response.content) {
    const description = bodilessDescriptions[name] ?? response.description
    return { ...response, description, headers }
  }
  return { description: describeCodes(codes), headers, content: errorContent(codes) }
}

function successDrafts(operation: Operation, schemas: Json): ResponseDraft[] {
  return Object.entries(operation.responses).map(([status, answer]) => {
    const { description, schema, example, stream } = answer
    const made = schema && jsonSchema(schema, schemas)
    if (made) addExample(made, example, schemas)
    const headers = successHeaders(operation, answer)
    const content = made && {
      'application/json': { schema: made },
      ...(stream && {
        'text/event-stream': {
          schema: { type: 'string', description: stream.description },
          example: stream.example,
        },
      }),
    }
    const body = made && componentName(made)
    const name = body ? `${body}${'Location' in headers ? 'Created' : ''}` : statusName(status)
    return {
      operation,
      status,
      name,
      codes: [],
      response: { description, headers, ...(content && { content }) },
    }
  })
}

function errorDrafts(operation: Operation): ResponseDraft[] {
  const byStatus = Object.groupBy(errorCodesOf(operation), (code) => String(catalogue[code].status))
  const drafts = Object.entries(byStatus).map(([status, found = []]): ResponseDraft => {
    const codes = errorCodes.filter((code) => found.includes(code))
    const name = statusName(status)
    const response = { description: describeCodes(codes), headers: errorHeaders(operation, codes) }
    return { operation, status, name, codes, response }
  })
  const badRequest = String(catalogue.validation_failed.status)
  return badRequest in byStatus ? drafts : [...drafts, malformedRequest(operation, badRequest)]
}

/** Where an operation has no input that could be wrong, the request itself still can be. */
const malformedRequest = (operation: Operation, status: string): ResponseDraft => ({
  operation,
  status,
  name: 'MalformedRequest',
  codes: ['validation_failed'],
  response: {
    description:
      '`validation_failed`: The request is not valid HTTP, for example because its `Host` header is damaged. The response is sent before the request is counted, so it may lack the rate limit headers.',
    headers: { 'X-Request-Id': { description: "The request's id.", schema: { type: 'string' } } },
    content: errorContent(['validation_failed']),
  },
})

function errorContent(codes: readonly ErrorCode[]): Json {
  const examples = codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])
  return {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(examples),
    },
  }
}
