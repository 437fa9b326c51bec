import * as z from 'zod'
import { ApiError } from './errors.ts'
import { openCursor, sealCursor } from './pagination.ts'

/** The `Link` header of a list, for OpenAPI. */
export const nextPageLink = { Link: 'The URL of the next page, with `rel="next"`. Absent on the last page.' }

/** The filters of a list as query parameters. An array is a repeated parameter. */
export const filterParameters = (filter: object): [name: string, value: string][] =>
  Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((item): [string, string] => [name, String(item)]),
  )

/** Cursors of a list in descending order of id. A cursor contains the filters of its list. */
export function filteredCursor<S extends z.ZodObject>(list: string, filterSchema: S) {
  type Filter = z.output<S>
  const payload = z.tuple([z.int(), filterSchema])
  const toText = (value: unknown) => (Array.isArray(value) ? value.map(String) : String(value))
  const toEntries = (filter: Filter) => Object.entries(filter).filter(([, value]) => value !== undefined)
  return {
    encode(belowId: number, filter: Filter): string {
      const texts = toEntries(filter).map(([name, value]) => [name, toText(value)])
      return sealCursor(list, [belowId, Object.fromEntries(texts)])
    },
    /** The start and the filters of a page. Filters that are sent with a cursor must be equal to those in it. */
    decode(cursor: string | undefined, sent: Filter): { belowId: number | undefined; filter: Filter } {
      if (cursor === undefined) return { belowId: undefined, filter: sent }
      const [belowId, filter] = openCursor(list, payload, cursor) as [number, Filter]
      for (const [name, value] of toEntries(sent))
        if (String(value) !== String(filter[name as keyof Filter])) throw new ApiError('invalid_cursor')
      return { belowId, filter }
    },
  }
}
