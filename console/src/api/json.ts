/**
 * JSON with exact int64 values. An integer beyond 2^53 is a bigint at run time, although the generated types say `number`.
 * So compare ids with ===, use them as keys of a Map, print them with String(), and do not calculate with them.
 */

type Source = { source?: string }
type ExactJson = {
  parse(text: string, reviver: (key: string, value: unknown, context?: Source) => unknown): unknown
  rawJSON?(text: string): unknown
}
const json = JSON as unknown as ExactJson

export const parseJson = (text: string): unknown =>
  json.parse(text, (_key, value, context) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? BigInt(context?.source ?? 0)
      : value,
  )

export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_key, item) =>
    typeof item === 'bigint' ? (json.rawJSON?.(String(item)) ?? Number(item)) : item,
  )

/** Whether a text has the form of an id. */
export const isId = (text: string): boolean => /^\d{1,18}$/.test(text)

/** An id that a person typed or that comes from a form: a number, or a bigint beyond 2^53. */
export function parseId(text: string): number {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : (BigInt(text) as unknown as number)
}
