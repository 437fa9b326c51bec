import * as z from 'zod'
import { editDistance } from '../editDistance.ts'
import { detailsMax, type ErrorDetail, validationFailed } from './errors.ts'
import { int64Max, int64Min, parseInt64 } from './json.ts'

/** OpenAPI schemas that cannot be derived from Zod: int64, and strings that are parsed to other types. */
export const schemaDocumentation = z.registry<{ schema: Record<string, unknown> }>()

const int64Problem = 'must be an integer from -9223372036854775808 to 9223372036854775807'
const int64Schema = { type: 'integer', format: 'int64' }

/** An int64 in a body, as json.ts parses it. */
export const int64 = () =>
  z
    .bigint({ error: ({ input }) => (input === undefined ? 'is required' : int64Problem) })
    .min(int64Min)
    .max(int64Max)
    .register(schemaDocumentation, { schema: int64Schema })

/** A smaller integer in a body, as a JavaScript number. */
export function integer(min: number, max: number) {
  const problem = `must be an integer from ${min} to ${max}`
  return z
    .bigint({ error: ({ input }) => (input === undefined ? 'is required' : problem) })
    .refine((value) => value >= min && value <= max, problem)
    .transform(Number)
    .register(schemaDocumentation, { schema: { type: 'integer', minimum: min, maximum: max } })
}

/** Text that is parsed to another type. `parse` returns the value, or the problem as a string. */
export const parsedText = <T>(
  schema: Record<string, unknown>,
  parse: (text: string) => T | string,
  error?: z.core.$ZodErrorMap,
) =>
  z
    .string({ error })
    .transform((text, context): T => {
      const parsed = parse(text)
      if (typeof parsed !== 'string') return parsed
      context.addIssue({ code: 'custom', message: parsed })
      return z.NEVER
    })
    .register(schemaDocumentation, { schema })

/** An int64 in a path or a query. */
export const int64Text = () => parsedText<bigint>(int64Schema, (text) => parseInt64(text) ?? int64Problem)

const int32Max = 2 ** 31 - 1

/** Decimal digits in a query. */
export function digitsText(min: number, max: number) {
  const schema = { type: 'integer', ...(max > int32Max && { format: 'int64' }), minimum: min, maximum: max }
  return parsedText<number>(schema, (text) => {
    const value = /^\d+$/.test(text) ? parseInt64(text) : undefined
    const isInRange = value !== undefined && value >= min && value <= max
    return isInRange ? Number(value) : `must be a whole number from ${min} to ${max}`
  })
}

/** Text in a response that may be absent. */
export const optionalText = (description: string) => z.string().optional().meta({ description })

/** A time in a response. */
export const timestampSchema = (description: string) => z.iso.datetime().meta({ description })

/** Length in code points, as JSON Schema counts it. */
const lengthOf = (text: string): number => [...text].length

export const boundedText = (lengthMax: number, description?: string) =>
  z
    .string()
    .refine((text) => lengthOf(text) <= lengthMax, `must have at most ${lengthMax} characters`)
    .meta({ maxLength: lengthMax, ...(description !== undefined && { description }) })

/** Text that is not empty and not only white space. */
export const nonBlankText = (lengthMax: number, description?: string) =>
  textWithout(/^\s*$/, lengthMax, 'and not blank', description)

const invisible = /^[\p{White_Space}\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** A name in a request: it has a visible character. Stored names may have none, because earlier versions accepted them. */
export const nameText = (lengthMax: number, description?: string) =>
  textWithout(invisible, lengthMax, 'with at least one visible character', description)

const textWithout = (blank: RegExp, lengthMax: number, rule: string, description: string | undefined) =>
  z
    .string()
    .refine(
      (text) => !blank.test(text) && lengthOf(text) <= lengthMax,
      `must be 1 to ${lengthMax} characters ${rule}`,
    )
    // Anchored, because some validators match the whole string.
    .meta({
      minLength: 1,
      maxLength: lengthMax,
      pattern: '^\\s*\\S[\\s\\S]*$',
      ...(description !== undefined && { description }),
    })

const kinds: Record<string, string> = {
  object: 'a JSON object',
  array: 'an array',
  string: 'a string',
  boolean: 'true or false',
}

/** Messages that follow the name of a field, in place of Zod's defaults. */
const messageOf: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${kinds[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : `must be one of ${issue.values.join(', ')}`
    case 'too_small':
      return issue.origin === 'array'
        ? `must have at least ${issue.minimum} ${Number(issue.minimum) === 1 ? 'entry' : 'entries'}`
        : undefined
    case 'too_big':
      return issue.origin === 'array' ? `must have at most ${issue.maximum} entries` : undefined
    default:
      return undefined
  }
}

export type InputPart = 'body' | 'parameters'

/** Returns the parsed value, or throws a 400 that lists every problem. */
export function validate<S extends z.ZodType>(schema: S, value: unknown, where: InputPart): z.output<S> {
  const result = schema.safeParse(value, { error: messageOf })
  if (result.success) return result.data
  throw validationFailed(
    result.error.issues.map(({ path, message }) => ({
      path: where === 'body' ? pointer(path) : String(path[0] ?? ''),
      message,
    })),
  )
}

/**
 * Rejects unknown fields, for `Prefer: handling=strict`. `hintFor` returns the hint for a field that the schema does not have,
 * if there is a better one than the nearest field of the schema.
 */
export function rejectUnknownFields(
  schema: z.ZodType,
  value: unknown,
  hintFor: (name: string) => string | undefined,
): void {
  const unknown = unknownFields(schema, value, []).slice(0, detailsMax)
  if (unknown.length === 0) return
  const known = knownFields(schema)
  throw validationFailed(
    unknown.map(({ path, message }) => {
      const better = known.includes(path.slice(1)) ? undefined : hintFor(path.slice(1))
      return { path, message: `${message} (${better ?? hint(path, known)})` }
    }),
  )
}

/** The names of all fields of a body, nested ones included. */
function knownFields(schema: z.ZodType): string[] {
  const object = unwrap(schema)
  if (!(object instanceof z.ZodObject)) return []
  return Object.entries(object.shape).flatMap(([name, field]) => [name, ...knownFields(field as z.ZodType)])
}

function unknownFields(schema: z.ZodType, value: unknown, path: string[]): ErrorDetail[] {
  const object = unwrap(schema)
  if (!(object instanceof z.ZodObject) || typeof value !== 'object' || value === null || Array.isArray(value))
    return []
  const known = Object.keys(object.shape)
  return Object.entries(value).flatMap(([key, item]) =>
    known.includes(key)
      ? unknownFields(object.shape[key], item, [...path, key])
      : [{ path: pointer([...path, key]), message: 'is not a field here' }],
  )
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? unwrap(schema.unwrap() as z.ZodType)
    : schema
}

/** RFC 6901. */
const pointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** The nearest known field; as a question if at most a third of it differs. */
function hint(path: string, known: readonly string[]): string {
  const word = compared(path.slice(path.lastIndexOf('/') + 1))
  const distances = known.map((name) => ({ name, off: editDistance(word, compared(name)) }))
  const [best] = distances.sort((a, b) => a.off - b.off)
  if (!best) return 'there are none'
  const isClose = best.off <= Math.max(1, best.name.length / 3)
  return isClose ? `did you mean "${best.name}"?` : `the nearest known one is "${best.name}"`
}

const comparedLengthMax = 64
/** What is compared of a word: its beginning, ignoring case. */
const compared = (word: string): string => word.slice(0, comparedLengthMax).toLowerCase()
