import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** A part of an OpenAPI document. */
// biome-ignore lint/suspicious/noExplicitAny: tests read documents of every shape.
export type Node = Record<string, any>

export const readDocument = (file: string): Node => JSON.parse(readFileSync(`${root}${file}`, 'utf8'))

type DescribedOperation = { method: string; path: string; pointer: string; operation: Node }

export function operationsOf(document: Node): DescribedOperation[] {
  return Object.entries(document.paths as Node).flatMap(([path, item]) =>
    Object.entries(item as Node).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      pointer: `#/paths/${path.replaceAll('/', '~1')}/${method}`,
      operation: operation as Node,
    })),
  )
}

/** A node, or the node that it refers to. */
export function resolve(document: Node, node: Node): Node {
  if (typeof node?.$ref !== 'string') return node
  const { $ref, ...beside } = node
  const found = $ref
    .slice('#/'.length)
    .split('/')
    .reduce((at: Node, key: string) => at?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
  if (found === undefined) throw new Error(`${$ref} does not resolve.`)
  return { ...resolve(document, found), ...beside }
}

/**
 * The documented error codes of an operation for a status: those in its description, or else all examples of the
 * response.
 */
export function codesOf(document: Node, { description, responses }: Node, status: string): string[] {
  const { content } = resolve(document, responses[status])
  const codes = Object.keys(content?.['application/json']?.examples ?? {})
  const [, lists = ''] = /^Errors: (.*)\.$/m.exec(description) ?? []
  const own = lists.split('; ').find((list) => list.startsWith(`${status} `))
  if (own === undefined) return codes
  const named = [...own.matchAll(/`(\w+)`/g)].map((match) => String(match[1]))
  for (const code of named) if (!codes.includes(code)) throw new Error(`${code} has no example.`)
  return named
}

/** Describes why a value does not match a schema of the document; empty if it is valid. */
export function createValidator(document: Node): (schema: Node, value: unknown) => string {
  const ajv = new Ajv2020({ allErrors: true })
  // Keywords of OpenAPI without a meaning for validation.
  ajv.addVocabulary(['discriminator', 'x-extensible'])
  ajv.addFormat('int32', { type: 'number', validate: (value) => Number.isInteger(value) && value < 2 ** 31 })
  ajv.addFormat('int64', { type: 'number', validate: Number.isInteger })
  // The documented format: RFC 3339 in UTC.
  ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/)
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/)
  ajv.addFormat('email', /^[^@\s]+@[^@\s]+\.[^@\s]+$/)
  ajv.addFormat('uri-reference', (text) => URL.canParse(text, 'http://localhost'))
  ajv.addFormat('uri', (text) => URL.canParse(text))
  for (const [name, schema] of Object.entries(document.components.schemas as Node)) {
    ajv.addSchema(relocated(schema), name)
  }
  /** By the text of its schema. To compile one takes longer than to use it. */
  const validators = new Map<string, ValidateFunction>()
  return (schema, value) => {
    const text = JSON.stringify(schema)
    const validate = validators.get(text) ?? ajv.compile(relocated(schema))
    validators.set(text, validate)
    return validate(value) ? '' : ajv.errorsText(validate.errors)
  }
}

/** Replaces references to named schemas by their names, which the validator knows. */
const relocated = (schema: Node): Node =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"'))
