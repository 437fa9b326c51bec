import type { Int64, Page } from '../../../client/src/index.ts'

/** The types of a `PagedList`. */

export type LoadedPage<T> = Pick<Page<T>, 'items' | 'nextCursor'>

export type ListOptions<T> = {
  pageSize: number
  /** The list of the client that begins at the cursor. */
  list(
    query: { limit: number; cursor: string | undefined },
    options: { signal: AbortSignal },
  ): { page(): Promise<LoadedPage<T>> }
  /** Whether a changed item still belongs to the list, by the filters that the API applied. */
  accepts?(item: T): boolean
  /** Whether an item is not shown, for example because its removal can be undone. */
  isHidden?(id: Int64): boolean
  /** For a list that is read with `window`: at most this many items stay in memory after a load. */
  windowMax?: number
}

/** `loadedCount` is the number of items in memory, whether shown or not. */
export type ListSize = { readonly length: number; readonly loadedCount: number }

export type ListState = 'loading' | 'more' | 'end' | 'error'
