import * as z from 'zod'
import { schemaDocumentation } from '../api/validation.ts'

export type Json = Record<string, unknown>

export const mapValues = <V>(values: Readonly<Record<string, V>>, to: (value: V) => Json): Json =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]))

/** Converts to JSON Schema for OpenAPI. Named schemas are added to `schemas` and referenced. */
export function jsonSchema(schema: z.ZodType, schemas: Json): Json {
  // Wrapped in an object, because Zod references named schemas only below the top level.
  const converted = z.toJSONSchema(z.object({ schema }), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) =>
      normalizeSchema(zodSchema as unknown as z.ZodType, jsonSchema as Json),
  })
  const text = JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/')
  const { properties, $defs = {} } = JSON.parse(text) as {
    properties: { schema: Json }
    $defs?: Record<string, Json>
  }
  for (const [name, { id: _id, ...definition }] of Object.entries($defs)) schemas[name] ??= definition
  return properties.schema
}

/** The content of a body that is not JSON. Generators know the format, although OpenAPI 3.1 has no more use for it. */
export const binaryContent = (types: readonly string[] = []): Json =>
  Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]))

/** The name of the schema that a reference points to. */
export const componentName = ({ $ref }: Json): string => String($ref).replace(/^.*\//, '')

function normalizeSchema(schema: z.ZodType, converted: Json): void {
  const documented = schemaDocumentation.get(schema)?.schema
  if (documented) {
    const { description } = converted
    for (const key of Object.keys(converted)) delete converted[key]
    Object.assign(converted, documented, description === undefined ? {} : { description })
    return
  }
  // A list of types instead of a union, for which generators make a type of its own.
  const [value, other] = (converted.anyOf ?? []) as Json[]
  if (typeof value?.type === 'string' && other?.type === 'null') {
    delete converted.anyOf
    const values = value.enum ? { enum: [...(value.enum as unknown[]), null] } : {}
    Object.assign(converted, { ...value, type: [value.type, 'null'], ...values, ...converted })
  }
  // Zod leaves out the examples of schemas with a transformation.
  const examples = schema.meta()?.examples
  if (examples !== undefined) converted.examples = examples
  // Keywords that Zod adds and that constrain nothing. The names of a record are any strings.
  if (converted.format === 'date-time') delete converted.pattern
  // The format says the rest, in less than 200 characters.
  if (converted.format === 'date') converted.pattern = '^\\d{4}-\\d{2}-\\d{2}$'
  delete converted.propertyNames
  if (converted.minimum === Number.MIN_SAFE_INTEGER) delete converted.minimum
  if (converted.maximum === Number.MAX_SAFE_INTEGER && converted.format !== 'int64') delete converted.maximum
}
