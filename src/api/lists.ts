import { ApiError } from './errors.ts'

/** The `Link` header of a list, for its description in OpenAPI. */
export const nextPageLink = { Link: 'The URL of the next page, with `rel="next"`. Absent on the last page.' }

/** The filters of a list by name. An array is a parameter that is repeated. */
type Filters = Readonly<Record<string, unknown>>

export const filterParameters = (filters: Filters): [name: string, value: string][] =>
  Object.entries(filters).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((item): [string, string] => [name, String(item)]),
  )

/** A cursor contains the filters of its list. Filters that are sent with it must be equal to those. */
export function requireSameFilters(sent: Filters, inCursor: Filters): void {
  for (const [name, value] of Object.entries(sent))
    if (value !== undefined && String(value) !== String(inCursor[name])) throw new ApiError('invalid_cursor')
}
