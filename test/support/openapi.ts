import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** A piece of an OpenAPI document. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into documents of every shape.
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

/** What a node says itself, or what it refers to. */
export function resolve(document: Node, node: Node): Node {
  if (typeof node?.$ref !== 'string') return node
  const { $ref, ...beside } = node
  const found = $ref
    .slice('#/'.length)
    .split('/')
    .reduce((at: Node, key: string) => at?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
  if (found === undefined) throw new Error(`${$ref} leads nowhere.`)
  return { ...resolve(document, found), ...beside }
}

/**
 * The error codes that an operation is described with under a status: those that it lists itself, or else all of those
 * that the response has examples of.
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

/** Says what is wrong with a value by a schema of the document; nothing where it is valid. */
export function createValidator(document: Node): (schema: Node, value: unknown) => string {
  const ajv = new Ajv2020({ allErrors: true })
  // Words of OpenAPI that say nothing about validity.
  ajv.addVocabulary(['discriminator', 'x-extensible'])
  ajv.addFormat('int32', { type: 'number', validate: (value) => Number.isInteger(value) && value < 2 ** 31 })
  ajv.addFormat('int64', { type: 'number', validate: Number.isInteger })
  // The form that the service promises: RFC 3339 in UTC.
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/)
  ajv.addFormat('email', /^[^@\s]+@[^@\s]+\.[^@\s]+$/)
  ajv.addFormat('uri', (text) => URL.canParse(text))
  for (const [name, schema] of Object.entries(document.components.schemas as Node)) {
    ajv.addSchema(relocated(schema), name)
  }
  return (schema, value) => {
    const validate = ajv.compile(relocated(schema))
    return validate(value) ? '' : ajv.errorsText(validate.errors)
  }
}

/** With references to named schemas by their names alone, as they are known to the validator. */
const relocated = (schema: Node): Node =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"'))
