import { type Http, headersOf, type Input, type OperationId, type RequestOptions } from './http.ts'

export type Page<T> = {
  items: T[]
  /** Where the next page begins: the `cursor`, or the `after` of events. Undefined on the last page. */
  nextCursor: string | undefined
  headers: Headers
}

/** A list. Iterating it reads all pages, one after the other. */
export class List<T> implements AsyncIterable<T> {
  readonly #load: (next: Record<string, string>) => Promise<T[]>

  /** @internal */
  constructor(load: (next: Record<string, string>) => Promise<T[]>) {
    this.#load = load
  }

  /** The first page, or the one at the `cursor` of the list. */
  async page(): Promise<Page<T>> {
    return (await this.#read({}))[0]
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    for (let next: Record<string, string> | undefined = {}; next; ) {
      const [page, following]: [Page<T>, Record<string, string> | undefined] = await this.#read(next)
      yield page
      next = following
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { items } of this.pages()) yield* items
  }

  async #read(next: Record<string, string>): Promise<[Page<T>, Record<string, string> | undefined]> {
    const items = await this.#load(next)
    const headers = headersOf(items) as Headers
    const search = /<[^>?]*\?([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
    const following = search === undefined ? undefined : Object.fromEntries(new URLSearchParams(search))
    const nextCursor = following && (following.cursor ?? following.after)
    return [{ items, nextCursor, headers }, following && pick(following)]
  }
}

/** The position of the next page. The other parameters stay as they were given. */
const pick = ({ cursor, after }: Record<string, string>): Record<string, string> =>
  cursor === undefined ? { after: after ?? '' } : { cursor }

type ListId = { [Id in OperationId]: Id extends `list${string}` ? Id : never }[OperationId]

/** A list whose pages are as large as possible, unless the query has a limit. */
export function listOf<Id extends ListId, T>(
  http: Http,
  id: Id,
  { params, query }: Input<Id>,
  options: RequestOptions | undefined,
  limit = 100,
): List<T> {
  return new List(
    (next) =>
      http.call(id, { params, query: { limit, ...query, ...next } } as Input<Id>, options) as Promise<T[]>,
  )
}
