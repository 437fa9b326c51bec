/**
 * Writes the types of the API for the client, which the console uses too, from openapi.json: `node tools/apiTypes.ts`. The
 * result is not committed, so it is never out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs'

type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  maximum?: number | undefined
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  description?: string
}
type Content = { content?: Record<string, { schema?: Schema }> }
type Parameter = {
  $ref?: string
  name: string
  in: string
  description?: string
  required?: boolean
  schema: Schema
}
type OperationObject = {
  operationId: string
  parameters?: Parameter[]
  requestBody?: Content & { $ref?: string; required?: boolean }
  responses: Record<string, Content & { $ref?: string }>
}

const root = new URL('../', import.meta.url)
const document = JSON.parse(readFileSync(new URL('openapi.json', root), 'utf8'))
const methods = ['get', 'post', 'patch', 'put', 'delete']

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1)

/** Follows a reference within the document. */
function resolve<T extends { $ref?: string }>(value: T): T {
  if (value.$ref === undefined) return value
  const keys = value.$ref.slice(2).split('/')
  return resolve(keys.reduce((node, key) => node[key], document) as T)
}

/** An integer that can be beyond 2^53 has the type `Int64` of the client (decision 31). */
const integerType = ({ format, maximum = Number.POSITIVE_INFINITY }: Schema): string =>
  format === 'int64' && maximum > Number.MAX_SAFE_INTEGER ? 'Int64' : 'number'

/** Fields that every response has, although the OpenAPI document does not require them (decision 40). */
const alwaysSent: Record<string, readonly string[]> = { Pet: ['status'] }

const commentOf = (text: string | undefined): string =>
  text === undefined ? '' : `/** ${text.replaceAll('*/', '').replaceAll('\n', '\n * ')} */\n`

class TypeWriter {
  typeOf(schema: Schema): string {
    if (schema.$ref !== undefined) return nameOf(schema.$ref)
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
    const union = schema.anyOf ?? schema.oneOf
    if (union) return openUnion(union.map((member) => this.typeOf(member)))
    if (schema.allOf) return schema.allOf.map((part) => `(${this.typeOf(part)})`).join(' & ')
    const types = [schema.type ?? 'unknown'].flat()
    return types.map((type) => this.#typeOfKind(type, schema)).join(' | ')
  }

  #typeOfKind(type: string, schema: Schema): string {
    if (type === 'object') return this.#objectType(schema)
    if (type === 'array') return `(${this.typeOf(schema.items ?? {})})[]`
    if (type === 'integer') return integerType(schema)
    return type
  }

  #objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
    const fields = Object.entries(properties).map(
      ([name, schema]) =>
        `${commentOf(schema.description)}${this.#field(name, schema, required.includes(name))}`,
    )
    const rest = typeof additionalProperties === 'object' ? this.typeOf(additionalProperties) : undefined
    if (fields.length === 0) return `Record<string, ${rest ?? 'unknown'}>`
    const object = `{\n${fields.join('\n')}\n}`
    return rest === undefined ? object : `${object} & Record<string, ${rest}>`
  }

  #field(name: string, schema: Schema, isRequired: boolean | undefined): string {
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
    return `${key}${isRequired ? '' : '?'}: ${this.typeOf(schema)}${isRequired ? '' : ' | undefined'}`
  }

  #parametersType(parameters: readonly Parameter[], place: string): string {
    const fields = parameters
      .filter((parameter) => parameter.in === place)
      .map(
        ({ name, required, schema, description }) =>
          // A parameter accepts every id that a response can contain.
          `${commentOf(description)}${this.#field(name, { ...schema, maximum: undefined }, required)}`,
      )
    return fields.length === 0 ? 'undefined' : `{\n${fields.join('\n')}\n}`
  }

  #jsonType({ content }: Content): string {
    const schema = content?.['application/json']?.schema
    return schema ? this.typeOf(schema) : 'undefined'
  }

  operationType(operation: OperationObject): string {
    const parameters = (operation.parameters ?? []).map(resolve)
    const [, success] = Object.entries(operation.responses).find(([status]) => /^2/.test(status)) ?? []
    const body = operation.requestBody ? this.#jsonType(resolve(operation.requestBody)) : 'undefined'
    return `{
  params: ${this.#parametersType(parameters, 'path')}
  query: ${this.#parametersType(parameters, 'query')}
  body: ${body}
  response: ${success ? this.#jsonType(resolve(success)) : 'undefined'}
}`
  }
}

/** A union of known values and any string keeps the known values for completion. */
const openUnion = (members: string[]) =>
  members.includes('string')
    ? members.map((member) => (member === 'string' ? '(string & {})' : member)).join(' | ')
    : members.join(' | ')

type NamedOperation = { id: string; method: string; path: string; operation: OperationObject }

const namedOperations: NamedOperation[] = Object.entries<Record<string, OperationObject>>(
  document.paths,
).flatMap(([path, item]) =>
  methods.flatMap((method) => {
    const operation = item[method]
    return operation ? [{ id: operation.operationId, method: method.toUpperCase(), path, operation }] : []
  }),
)
const schemas = Object.entries<Schema>(document.components.schemas)
const header = '// Generated by tools/apiTypes.ts from openapi.json. Do not edit.'

const operationsText = (writer: TypeWriter) => `export type Operations = {
${namedOperations.map(({ id, operation }) => `${id}: ${writer.operationType(operation)}`).join('\n')}
}

export const operations = {
${namedOperations.map(({ id, method, path }) => `  ${id}: ['${method}', '${path}'],`).join('\n')}
} as const
`

function withAlwaysSent(name: string, schema: Schema): Schema {
  return { ...schema, required: [...(schema.required ?? []), ...(alwaysSent[name] ?? [])] }
}

export function writeClientTypes(): void {
  const writer = new TypeWriter()
  const types = schemas.map(
    ([name, schema]) =>
      `${commentOf(schema.description)}export type ${name} = ${writer.typeOf(withAlwaysSent(name, schema))}`,
  )
  const text = `${header}

/**
 * A 64-bit integer. In a response it is a number, or a bigint if it is not between -(2^53 - 1) and 2^53 - 1. In a request
 * it can be either.
 */
export type Int64 = number | bigint

${types.join('\n\n')}

${operationsText(writer)}`
  writeFileSync(new URL('client/src/schema.ts', root), text)
}

if (import.meta.main) writeClientTypes()
