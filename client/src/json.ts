import type { Int64 } from './schema.ts'

/**
 * JSON with exact integers: a number, or a bigint beyond 2^53 - 1. Node 20 has neither the source text in revivers nor
 * JSON.rawJSON, so such integers pass through JSON.parse and JSON.stringify as marked strings. The mark begins with
 * U+0000, which the API allows in no string.
 */

const mark = '\0int:'
const escapedMark = '\\u0000int:'
/** Strings are matched too, so that digits in them are skipped. In linear time, also if the text is incomplete. */
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d[\d.eE+-]*/g
const markedInteger = /"\\u0000int:(-?\d+)"/g

export function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  const marked = text.replace(stringOrNumber, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${escapedMark}${token}"` : token,
  )
  return JSON.parse(marked, (_key, value) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  )
}

export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_key, item) =>
    typeof item === 'bigint' ? `${mark}${item}` : assertExact(item),
  ).replace(markedInteger, '$1')

/** The text of a value in a path or query. */
export const toExactText = (value: unknown): string => String(assertExact(value))

/** The integer in a text, such as an id in an address: a number, or a bigint beyond 2^53 - 1. */
export function parseInt64(text: string): Int64 {
  const integer = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined
  if (integer === undefined || BigInt.asIntN(64, integer) !== integer)
    throw new RangeError(`"${text}" is not a 64-bit integer.`)
  return Number.isSafeInteger(Number(text)) ? Number(text) : integer
}

/** A number beyond 2^53 - 1 may already be rounded. */
function assertExact<T>(value: T): T {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new RangeError(`The integer ${value} is not exact as a number. Use a bigint.`)
  return value
}
