import * as z from 'zod'
import { validationFailed } from './errors.ts'
import { validate } from './validation.ts'

/** The query as its schema reads it: unknown parameters are passed over, known ones may be given once unless they are lists. */
export function readQuery(schema: z.ZodObject, url: string): unknown {
  const start = url.indexOf('?')
  const parameters = new URLSearchParams(start === -1 ? '' : url.slice(start))
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(schema.shape)) {
    const given = parameters.getAll(name)
    if (given.length === 0) continue
    const isList = isListSchema(schema.shape[name])
    if (given.length > 1 && !isList)
      throw validationFailed([{ path: name, message: 'is given more than once' }])
    values[name] = isList ? given : given[0]
  }
  return validate(schema, values, 'parameters')
}

export const isListSchema = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodOptional ? isListSchema(schema.unwrap() as z.ZodType) : schema instanceof z.ZodArray
