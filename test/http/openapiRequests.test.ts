import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Node, operationsOf, readDocument, resolve } from '../support/openapi.ts'
import { useService } from '../support/useService.ts'

const document = readDocument('openapi.json')
const operations = operationsOf(document)

/** Values that violate a schema. */
function violations(schema: Node): unknown[] {
  const {
    type,
    format,
    pattern,
    enum: values,
    minimum,
    maximum,
    minLength,
    maxLength,
    minItems,
    maxItems,
  } = schema
  const types = [type].flat()
  const item = schema.items && validValue(resolve(document, schema.items))
  return [
    ...(values ? ['nonsense'] : []),
    ...(format === 'date-time' || format === 'email' || format === 'uri' ? ['nonsense'] : []),
    ...(types.includes('integer') ? ['3', 3.5] : []),
    ...(minimum !== undefined ? [minimum - 1] : []),
    ...(maximum < Number.MAX_SAFE_INTEGER ? [maximum + 1] : []),
    ...(minLength > 0 ? [''] : []),
    ...(maxLength !== undefined ? [tooLong(schema)] : []),
    ...(pattern !== undefined ? [' '] : []),
    ...(minItems > 0 ? [[]] : []),
    ...(maxItems !== undefined ? [Array(maxItems + 1).fill(item)] : []),
  ]
}

const tooLong = ({ format, maxLength }: Node): string =>
  (format === 'uri' ? 'https://' : format === 'email' ? 'a@' : '') + 'a'.repeat(maxLength + 1)

const validValue = ({ enum: values, format }: Node): unknown =>
  values ? values[0] : format === 'uri' ? 'https://shelter.example' : '1'

type Field = { path: string[]; schema: Node }

/** Every field of a body, including nested ones. */
function fieldsOf(schema: Node, path: string[] = []): Field[] {
  const found = resolve(document, schema)
  if (found.anyOf) return found.anyOf.flatMap((alternative: Node) => fieldsOf(alternative, path))
  const fields = Object.entries((found.properties ?? {}) as Node)
  return [
    ...(path.length > 0 && found.type !== 'null' ? [{ path, schema: found }] : []),
    ...fields.flatMap(([name, field]) => fieldsOf(field, [...path, name])),
  ]
}

/** The body with one field replaced. Parent objects come from the example of the schema or are empty. */
function withField(body: Node, [name = '', ...rest]: string[], value: unknown): Node {
  return { ...body, [name]: rest.length === 0 ? value : withField(body[name] ?? {}, rest, value) }
}

describe('the service rejects what the document excludes', () => {
  const service = useService()

  const send = (method: string, path: string, query: string, body?: unknown, type?: string) => {
    // The resources need not exist, because input is validated first.
    const target = `/v1${path.replace(/\{\w+\}/g, '999')}${query}`
    const headers = type === undefined ? {} : { 'content-type': type }
    return service.request(method, target, { key: service.operatorKey, body, headers })
  }

  for (const { method, path, operation } of operations) {
    const { operationId: id, requestBody } = operation
    const json = requestBody?.content['application/json']
    const schema = json && resolve(document, json.schema)
    const [rawType] = json || !requestBody ? [] : Object.keys(requestBody.content)
    const sendQuery = (query: string) => send(method, path, query, rawType && 'name', rawType)
    const queries = operation.parameters
      .map((node: Node) => resolve(document, node))
      .filter((parameter: Node) => parameter.in === 'query')

    if (schema)
      test(`${id}: bodies`, async () => {
        const [example] = schema.examples
        for (const { path: field, schema: limits } of fieldsOf(schema)) {
          for (const value of violations(limits)) {
            const { status, json, text } = await send(method, path, '', withField(example, field, value))
            const at = `${field.join('/')} = ${JSON.stringify(value).slice(0, 80)}: ${text}`
            assert.equal(status, 400, at)
            const paths = json.details.map((detail: Node) => detail.path)
            assert.ok(
              paths.some((found: string) => found.startsWith(`/${field.join('/')}`)),
              at,
            )
          }
          const { type, format, maxLength } = limits
          if (type !== 'string' || format !== undefined || maxLength === undefined) continue
          const longest = await send(method, path, '', withField(example, field, 'a'.repeat(maxLength)))
          assert.ok(!longest.json.details, `${field.join('/')}: ${longest.text}`)
        }
      })

    if (queries.length > 0)
      test(`${id}: parameters`, async () => {
        for (const { name, schema: limits } of queries) {
          const found = resolve(document, limits)
          const isList = found.type === 'array'
          // In a URL all values are text.
          const invalid = violations(found).filter((value) => value !== '3')
          for (const value of [...invalid, ...(isList ? [['x']] : [])]) {
            const query = new URLSearchParams([value].flat().map((one) => [name, String(one)]))
            const { status, json, text } = await sendQuery(`?${query}`)
            assert.equal(status, 400, `${query}: ${text}`)
            if (json.code === 'invalid_cursor') assert.equal(name, 'cursor')
            else assert.equal(json.details[0].path, name)
          }
          if (isList) continue
          const twice = await sendQuery(`?${name}=1&${name}=1`)
          assert.equal(twice.status, 400, name)
        }
      })
  }
})
