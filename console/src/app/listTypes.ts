/** The types of a `PagedList`. */

export type LoadedPage<T> = { data: readonly T[]; nextCursor: string | undefined }

export type ListOptions<T> = {
  load(cursor: string | undefined, signal: AbortSignal): Promise<LoadedPage<T>>
  /** Whether a changed item still belongs to the list, by the filters that the API applied. */
  accepts?(item: T): boolean
  /** Whether an item is not shown, for example because its removal can be undone. */
  isHidden?(id: number): boolean
  /** For a list that is read with `window`: at most this many items stay in memory after a load. */
  windowMax?: number
}

/** `loadedCount` is the number of items in memory, whether shown or not. */
export type ListSize = { readonly length: number; readonly loadedCount: number }

export type ListState = 'loading' | 'more' | 'end' | 'error'
