import type { Int64 } from './schema.ts'

/**
 * JSON with exact integers: a number, or a bigint beyond 2^53 - 1. Node 20 has neither the source text in revivers nor
 * JSON.rawJSON, so such integers pass through JSON.parse and JSON.stringify as marked strings. The mark begins with
 * U+0000. Texts that begin with U+0000 get the mark as a prefix, which is removed afterwards.
 */

const mark = '\0int:'
const escapedMark = '\\u0000int:'
/** Names end with their colon. In linear time, also if the text is incomplete. */
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"?(?:\s*:)?|-?\d[\d.eE+-]*/g

/** Reads JSON as `JSON.parse` does, but an integer beyond 2^53 - 1 becomes a `bigint`. */
export function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  const marked = text.replace(stringOrNumber, (token) =>
    token.replace(/^"(?=\\u0000.*"$)/s, `"${escapedMark}`).replace(/^-?[1-9]\d{15,}$/, `"${escapedMark}$&"`),
  )
  return JSON.parse(marked, (_key, value) => {
    if (typeof value !== 'string' || !value.startsWith(mark)) return value
    const rest = value.slice(mark.length)
    return rest.startsWith('\0') ? rest : integerOf(rest)
  })
}

const integerOf = (digits: string): Int64 =>
  Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits)

/**
 * Writes JSON as `JSON.stringify` does, and a `bigint` as an exact integer. Throws a `TypeError` for a value without a JSON form,
 * such as `undefined` or a function.
 */
export function toJson(value: unknown, space?: number | string): string {
  const marked: string | undefined = JSON.stringify(
    value,
    (_key, item) =>
      typeof item === 'bigint' || (typeof item === 'string' && item.startsWith('\0'))
        ? mark + item
        : assertExact(item),
    space,
  )
  if (marked === undefined) throw new TypeError('The value has no JSON form.')
  return marked.replace(stringOrNumber, (token) =>
    token.endsWith(':')
      ? token
      : token.replace(/^"\\u0000int:(?:(-?\d+)"$)?/, (_, integer) => integer ?? '"'),
  )
}

/** The text of a value in a path or query. */
export const toExactText = (value: unknown): string => String(assertExact(value))

/** The integer in a text, such as an id in an address: a number, or a bigint beyond 2^53 - 1. */
export function parseInt64(text: string): Int64 {
  if (!/^-?\d{1,19}$/.test(text) || BigInt.asIntN(64, BigInt(text)) !== BigInt(text))
    throw new RangeError(`"${text}" is not a 64-bit integer.`)
  return integerOf(text)
}

/** A number beyond 2^53 - 1 may already be rounded. */
function assertExact<T>(value: T): T {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new RangeError(`The integer ${value} is not exact as a number. Use a bigint.`)
  return value
}
