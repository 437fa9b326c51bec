import { type Http, headersOf, type Input, type OperationId, type RequestOptions } from './http.ts'
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

/** A list. Iterating it reads all pages, one after the other. */
export class List<T> implements AsyncIterable<T> {
  readonly #load: (position: Position) => Promise<T[]>

  /** @internal */
  constructor(load: (position: Position) => Promise<T[]>) {
    this.#load = load
  }

  /** The first page, or the one at the `cursor` of the list. */
  async page(): Promise<Page<T>> {
    return (await this.#read({})).page
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    for (let position: Position | undefined = {}; position; ) {
      const { page, next }: PageAndNext<T> = await this.#read(position)
      yield page
      position = next
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { items } of this.pages()) yield* items
  }

  async #read(position: Position): Promise<PageAndNext<T>> {
    const items = await this.#load(position)
    const headers = headersOf(items) as Headers
    const next = nextPosition(headers.get('link'))
    return { page: { items, nextCursor: next && Object.values(next)[0], headers }, next }
  }
}

/** The position of the next page. The other parameters stay as they were given. */
function nextPosition(link: string | null): Position | undefined {
  const search = /<[^>?]*\?([^>]*)>; rel="next"/.exec(link ?? '')?.[1]
  if (search === undefined) return undefined
  const parameters = new URLSearchParams(search)
  const name = parameters.has('cursor') ? 'cursor' : 'after'
  return { [name]: parameters.get(name) ?? '' }
}

type ListId = { [Id in OperationId]: Id extends `list${string}` ? Id : never }[OperationId]

/** A list whose pages are as large as possible, unless the query has a limit. */
export function listOf<Id extends ListId, T>(
  http: Http,
  id: Id,
  { params, query }: Input<Id>,
  options: RequestOptions | undefined,
  limitDefault = 100,
): List<T> {
  return new List((position) => {
    const { limit = limitDefault, ...filters } = (query ?? {}) as { limit?: number | undefined }
    const input = { params, query: { limit, ...filters, ...position } } as Input<Id>
    return http.call(id, input, options, readList) as Promise<T[]>
  })
}
