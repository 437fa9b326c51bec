import * as z from 'zod'
import { documentation } from '../api/validation.ts'

export type Json = Record<string, unknown>

/** JSON Schema as OpenAPI has it: named schemas are added to `schemas`, where the components are, and referred to. */
export function jsonSchema(schema: z.ZodType, schemas: Json): Json {
  // As a property of something else, a named schema is referred to; at the top it would be spelled out.
  const { properties, $defs } = z.toJSONSchema(z.object({ it: schema }), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: made }) =>
      normalizeSchema(zodSchema as unknown as z.ZodType, made as Json),
  }) as unknown as { properties: { it: Json }; $defs?: Json }
  const text = JSON.stringify({ it: properties.it, defs: $defs ?? {} })
  const relocated = JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as {
    it: Json
    defs: Record<string, Json>
  }
  for (const [name, { id: _id, ...definition }] of Object.entries(relocated.defs))
    schemas[name] ??= definition
  return relocated.it
}

/** The name of the schema that is referred to. */
export const componentName = ({ $ref }: Json): string => String($ref).replace(/^.*\//, '')

/** Gives an example to a named schema that has none; the first item of a list to that of its items. */
export function addExample(schema: Json, example: unknown, schemas: Json): void {
  const named = schemas[componentName(schema)] as Json | undefined
  if (named === undefined || example === undefined) return
  if (Array.isArray(example)) addExample(named.items as Json, example[0], schemas)
  else named.examples ??= [example]
}

function normalizeSchema(schema: z.ZodType, made: Json): void {
  const documented = documentation.get(schema)?.schema
  if (documented) {
    const { description } = made
    for (const key of Object.keys(made)) delete made[key]
    Object.assign(made, documented, description === undefined ? {} : { description })
    return
  }
  // Noise that Zod adds and no reader needs.
  if (made.format === 'date-time') delete made.pattern
  if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum
  if (made.maximum === Number.MAX_SAFE_INTEGER && made.format !== 'int64') delete made.maximum
}
