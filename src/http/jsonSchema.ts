import * as z from 'zod'
import { documentation } from './validation.ts'

export type Json = Record<string, unknown>

/** JSON Schema as OpenAPI has it: named schemas are added to `schemas`, where the components are, and referred to. */
export function jsonSchema(schema: z.ZodType, schemas: Json): Json {
  // As a property of something else, a named schema is referred to; at the top it would be spelled out.
  const { properties, $defs } = z.toJSONSchema(z.object({ it: schema }), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: made }) => mend(zodSchema as unknown as z.ZodType, made as Json),
  }) as unknown as { properties: { it: Json }; $defs?: Json }
  const relocated = JSON.parse(
    JSON.stringify({ it: properties.it, defs: $defs ?? {} }).replaceAll(
      '"#/$defs/',
      '"#/components/schemas/',
    ),
  ) as { it: Json; defs: Record<string, Json> }
  for (const [name, { id: _id, ...definition }] of Object.entries(relocated.defs)) schemas[name] = definition
  return relocated.it
}

function mend(schema: z.ZodType, made: Json): void {
  const documented = documentation.get(schema)?.schema
  if (documented) {
    const { description } = made
    for (const key of Object.keys(made)) delete made[key]
    Object.assign(made, documented, description === undefined ? {} : { description })
  }
  // Noise that Zod adds and no reader needs.
  if (made.format === 'date-time') delete made.pattern
  if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum
  if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum
}
