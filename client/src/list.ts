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

/** A list. Iterating it reads all pages, one after the other. */
export class List<T> implements AsyncIterable<T> {
  readonly #load: (position: Position) => Promise<T[]>

  /** @internal */
  constructor(load: (position: Position) => Promise<T[]>) {
    this.#load = load
  }

  /** The first page, or the one at the `cursor` of the list. */
  async page(): Promise<Page<T>> {
    return (await this.#read({}))[0]
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    for (let next: Position | undefined = {}; next; ) {
      const [page, following]: [Page<T>, Position | undefined] = await this.#read(next)
      yield page
      next = following
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { items } of this.pages()) yield* items
  }

  async #read(position: Position): Promise<[Page<T>, Position | undefined]> {
    const items = await this.#load(position)
    const headers = headersOf(items) as Headers
    const following = positionOf(headers.get('link'))
    return [{ items, nextCursor: following && Object.values(following)[0], headers }, following]
  }
}

/** The position of the next page. The other parameters stay as they were given. */
function positionOf(link: string | null): Position | undefined {
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
  limit = 100,
): List<T> {
  return new List((position) => {
    const { limit: ownLimit = limit, ...filters } = (query ?? {}) as { limit?: number | undefined }
    const input = { params, query: { limit: ownLimit, ...filters, ...position } } as Input<Id>
    return http.call(id, input, options, readList) as Promise<T[]>
  })
}
