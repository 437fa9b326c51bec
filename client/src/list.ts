import { PetstoreError } from './errors.ts'
import { type Http, headersOf, type Input, type OperationId } from './http.ts'
import type { RequestOptions } from './options.ts'
import { readList } from './response.ts'

export type Page<T> = {
  items: T[]
  /** Where the next page begins: the `cursor`, or the `after` of events. Undefined on the last page. */
  nextCursor: string | undefined
  headers: Headers
}

/** The `cursor` of a page, or its `after`. */
type Position = Record<string, string>

type PageAndNext<T> = { page: Page<T>; next: Position | undefined }

type Load<T> = (position: Position, itemsMax: number) => Promise<T[]>

/** A list. Iterating it reads all pages, one after the other. */
export class List<T> implements AsyncIterable<T> {
  readonly #load: Load<T>
  readonly #start: string | undefined

  /** @internal */
  constructor(load: Load<T>, start: string | undefined) {
    this.#load = load
    this.#start = start
  }

  /** The first page, or the one at the `cursor` of the list. */
  async page(): Promise<Page<T>> {
    return (await this.#read({}, Number.POSITIVE_INFINITY)).page
  }

  pages(): AsyncGenerator<Page<T>, void, undefined> {
    return this.#pages(Number.POSITIVE_INFINITY)
  }

  /** The first items of the list, at most `limit`. It reads as many pages as that takes. */
  toArray(options: { limit: number }): Promise<T[]>
  async toArray({ limit }: { limit?: number } = {}): Promise<T[]> {
    if (!(Number.isInteger(limit) || limit === Number.POSITIVE_INFINITY) || Number(limit) < 0)
      throw new RangeError('toArray requires a maximum, such as { limit: 1000 }.')
    const items: T[] = []
    for await (const page of this.#pages(Number(limit))) items.push(...page.items)
    return items.slice(0, limit)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { items } of this.pages()) yield* items
  }

  /** Pages with this many items together, or a few more. */
  async *#pages(itemsMax: number): AsyncGenerator<Page<T>, void, undefined> {
    let left = itemsMax
    // The cursor after 1, 2, 4, 8 and so on pages. A cycle of cursors of any length reaches it again.
    let earlier: string | undefined
    let count = 0
    for (let position: Position | undefined = {}; position && left > 0; ) {
      const { page, next }: PageAndNext<T> = await this.#read(position, left)
      const { nextCursor, items } = page
      if (next && nextCursor === earlier) throw repeatedCursor(page)
      if (Number.isInteger(Math.log2(++count))) earlier = nextCursor
      left -= items.length
      yield page
      position = next
    }
  }

  async #read(position: Position, itemsMax: number): Promise<PageAndNext<T>> {
    const items = await this.#load(position, itemsMax)
    const headers = headersOf(items)
    const next = nextPosition(headers.get('link'))
    const page = { items, nextCursor: next && Object.values(next)[0], headers }
    if (next && page.nextCursor === (Object.values(position)[0] ?? this.#start)) throw repeatedCursor(page)
    return { page, next }
  }
}

/** A server that repeats a cursor, such as a cache that ignores it, would never end the list. */
const repeatedCursor = ({ headers }: Page<unknown>) =>
  new PetstoreError('unexpected_response', 'The service has repeated a cursor.', {
    status: 200,
    requestId: headers.get('x-request-id') ?? undefined,
  })

/** The position of the next page. The other parameters stay as they were given. */
function nextPosition(link: string | null): Position | undefined {
  const search = /<[^>?]*\?([^>]*)>; rel="next"/.exec(link ?? '')?.[1]
  if (search === undefined) return undefined
  const parameters = new URLSearchParams(search)
  const name = parameters.has('cursor') ? 'cursor' : 'after'
  return { [name]: parameters.get(name) ?? '' }
}

type ListQuery = { limit?: number | undefined; cursor?: unknown; after?: unknown }
type ListId = { [Id in OperationId]: Id extends `list${string}` ? Id : never }[OperationId]

/** A list whose pages are as large as possible, unless the query has a limit. */
export function listOf<Id extends ListId, T>(
  http: Http,
  id: Id,
  { params, query }: Input<Id>,
  options: RequestOptions | undefined,
  limitDefault = 100,
): List<T> {
  const { limit = limitDefault, ...filters } = (query ?? {}) as ListQuery
  const start = filters.cursor ?? filters.after
  return new List(
    (position, itemsMax) => {
      const pageLimit = itemsMax < limit ? itemsMax : limit
      const input = { params, query: { limit: pageLimit, ...filters, ...position } } as Input<Id>
      return http.call(id, input, options, readList) as Promise<T[]>
    },
    start === undefined ? undefined : String(start),
  )
}
