import { apiErrors, type ErrorDefinition, protocolError } from '../api/errors.ts'
import type { Operation } from '../api/operation.ts'
import { http } from '../nodeHttp.ts'
import { describeCodes, errorExample, errorsByStatus, sortedUnique } from './errors.ts'
import { errorHeaders, mergeHeaders, successHeaders, timeoutHeaders } from './headers.ts'
import { binaryContent, componentName, type Json, jsonSchema } from './jsonSchema.ts'
import type { Components } from './sharedComponents.ts'

/** A response of one operation, before it is merged with those of other operations. */
type ResponseDraft = {
  operation: Operation
  status: string
  /** The name of the component. */
  name: string
  errors: readonly ErrorDefinition[]
  response: Json & { description: string; headers: Json }
}

const emptyBodyDescriptions: Readonly<Record<string, string>> = {
  NoContent: 'The request succeeded. There is no response body.',
  NotModified: 'The version that the client has is current.',
}
/** The names of RFC 9110. Node has older ones for two of them. */
const statusName = (status: string): string =>
  ({ 413: 'ContentTooLarge', 422: 'UnprocessableContent' })[status] ??
  String(http.STATUS_CODES[status]).replaceAll(' ', '')

/**
 * The responses of each operation, as references to components. Errors with the same status share one component, and so
 * do successes with the same body. If an operation has only some of the error codes of a status, its description lists
 * them.
 */
export function responsesOf(operations: readonly Operation[], components: Components) {
  const drafts = operations.flatMap((operation) => [
    ...successDrafts(operation, components.schemas),
    ...errorDrafts(operation),
  ])
  for (const [name, group] of Map.groupBy(drafts, (draft) => draft.name))
    components.responses[name] = merge(group, components.examples)
  const reference = ({ status, name, errors, response: { description } }: ResponseDraft): [string, Json] => {
    const isSame = errors.length > 0 || description === components.responses[name]?.description
    return [status, { $ref: `#/components/responses/${name}`, ...(!isSame && { description }) }]
  }
  const byOperation = Map.groupBy(drafts, ({ operation }) => operation).entries()
  return new Map(byOperation.map(([key, own]) => [key, Object.fromEntries(own.map(reference))]))
}

/** Combines the responses of all operations that share a component. */
function merge(group: readonly ResponseDraft[], examples: Json): Json {
  const [{ response, name }] = group as [ResponseDraft, ...ResponseDraft[]]
  const headers = mergeHeaders(group.map((draft) => draft.response.headers))
  const errors = sortedUnique(group.flatMap((draft) => draft.errors))
  for (const error of errors) examples[error.code] ??= errorExample(error)
  if (errors.length === 0 || response.content) {
    const description = emptyBodyDescriptions[name] ?? response.description
    return { ...response, description, headers }
  }
  return { description: describeCodes(errors), headers, content: errorContent(errors) }
}

function successDrafts(operation: Operation, schemas: Json): ResponseDraft[] {
  return Object.entries(operation.responses).map(([status, response]) => {
    const { description, schema, types, stream } = response
    const headers = successHeaders(operation, status)
    const draft = { operation, status, errors: [] }
    if (types) {
      const name = `${operation.id[0]?.toUpperCase()}${operation.id.slice(1)}Content`
      return { ...draft, name, response: { description, headers, content: binaryContent(types) } }
    }
    if (!schema) return { ...draft, name: statusName(status), response: { description, headers } }
    const json = { schema: jsonSchema(schema, schemas) }
    const events = stream && {
      schema: { type: 'string', description: stream.description },
      example: stream.example,
    }
    const content = { 'application/json': json, ...(events && { 'text/event-stream': events }) }
    const name = `${componentName(json.schema)}${'Location' in headers ? 'Created' : ''}`
    return { ...draft, name, response: { description, headers, content } }
  })
}

function errorDrafts(operation: Operation): ResponseDraft[] {
  const drafts = [...errorsByStatus(operation)].map(([status, errors]): ResponseDraft => {
    const response = { description: describeCodes(errors), headers: errorHeaders(operation, errors) }
    return { operation, status, name: statusName(status), errors, response }
  })
  const badRequest = String(apiErrors.validation_failed.status)
  const hasBadRequest = drafts.some(({ status }) => status === badRequest)
  const malformed = hasBadRequest ? [] : [malformedRequest(operation, badRequest)]
  return [...drafts, ...malformed, lateRequest(operation)]
}

const timeout = protocolError('timeout')

/** Any request can be too slow. The error has the code of another status. */
const lateRequest = (operation: Operation): ResponseDraft => ({
  operation,
  status: String(timeout.status),
  name: statusName(String(timeout.status)),
  errors: [apiErrors.validation_failed],
  response: {
    description:
      '`validation_failed`: The request did not arrive in time. If its headers did not, the rate limit headers are those of the address of the client.',
    headers: timeoutHeaders(operation),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: { [timeout.code]: { value: timeout.body } },
      },
    },
  },
})

/** An operation without input can still receive a request that is not valid HTTP. */
const malformedRequest = (operation: Operation, status: string): ResponseDraft => ({
  operation,
  status,
  name: 'MalformedRequest',
  errors: [apiErrors.validation_failed],
  response: {
    description:
      '`validation_failed`: The request is not valid HTTP, for example because its `Host` header is malformed. The response is sent before the request is counted and may lack the rate limit headers.',
    headers: { 'X-Request-Id': { description: 'The id of the request.', schema: { type: 'string' } } },
    content: errorContent([apiErrors.validation_failed]),
  },
})

function errorContent(errors: readonly ErrorDefinition[]): Json {
  const examples = errors.map(({ code }) => [code, { $ref: `#/components/examples/${code}` }])
  return {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(examples),
    },
  }
}
