import { signal } from '@preact/signals'
import { isAbort, type RequestError, toRequestError } from '../api/errors.ts'

/**
 * A list that is loaded page by page, with a bounded number of items in memory. Pages that are far from what is shown
 * are dropped, and loaded again by their cursor when they are shown. Items are in descending order of id.
 */

/** About 10 MB of animals. */
export const itemsMax = 20_000
/** The first page grows by new items. Beyond this number the list is loaded again. */
const firstPageItemsMax = 1_000

export type Item = { readonly id: number }
export type LoadedPage<T> = { data: readonly T[]; nextCursor: string | undefined }

export type ListOptions<T> = {
  load(cursor: string | undefined, signal: AbortSignal): Promise<LoadedPage<T>>
  /** Whether a changed item still belongs to the list, by the filters that the API applied. */
  accepts?(item: T): boolean
}

type Page<T> = {
  cursor: string | undefined
  /** Undefined while the page is dropped. */
  items: T[] | undefined
  /** The items that are shown. */
  visible: readonly T[]
  /** How many items are shown, also while the page is dropped. */
  count: number
  /** The page has the ids from here up to the previous page. */
  lowestId: number
  isLoading: boolean
}

/** `loadedCount` is the number of items in memory, whether shown or not. */
export type ListSize = { readonly length: number; readonly loadedCount: number }

export type ListState = 'loading' | 'more' | 'end' | 'error'

export class PagedList<T extends Item> {
  /** A new object with every change: a component that reads it is rendered again. */
  readonly size = signal<ListSize>({ length: 0, loadedCount: 0 })
  readonly state = signal<ListState>('loading')
  readonly error = signal<RequestError | undefined>(undefined)
  readonly #options: ListOptions<T>
  #pages: Page<T>[] = []
  #nextCursor: string | undefined
  #controller = new AbortController()
  #shownPage = 0
  readonly #hidden = new Set<number>()
  readonly #changes = new Map<number, Partial<T>>()
  #matches: ((item: T) => boolean) | undefined

  constructor(options: ListOptions<T>) {
    this.#options = options
  }

  /** Loads the first page. What is shown stays until it has arrived. */
  async reload(): Promise<void> {
    this.#controller.abort()
    this.#controller = new AbortController()
    this.state.value = 'loading'
    await this.#loadNext(undefined, true)
  }

  async loadMore(): Promise<void> {
    if (this.state.value === 'loading' || this.state.value === 'end') return
    if (this.#pages.length === 0) return this.reload()
    this.state.value = 'loading'
    await this.#loadNext(this.#nextCursor, false)
  }

  /** Forgets everything, for a list that is no longer shown. */
  dispose(): void {
    this.#controller.abort()
    this.#pages = []
  }

  /** The item at a position. Undefined while its page is loaded again. */
  itemAt(index: number): T | undefined {
    let start = 0
    for (const [number, page] of this.#pages.entries()) {
      if (index < start + page.count) {
        this.#shownPage = number
        if (!page.items) void this.#loadAgain(page)
        return page.visible[index - start]
      }
      start += page.count
    }
    return undefined
  }

  find(id: number): T | undefined {
    const found = this.#pageOf(id)?.items?.find((item) => item.id === id)
    return found && this.#withChanges(found)
  }

  /** Shows only the items that match, among those in memory. */
  filter(matches: ((item: T) => boolean) | undefined): void {
    this.#matches = matches
    for (const page of this.#pages) this.#update(page)
    this.#changed()
  }

  /** Takes over a new or changed item. */
  upsert(item: T): void {
    if (this.#options.accepts?.(item) === false) {
      this.remove(item.id)
      return
    }
    const page = this.#pageOf(item.id)
    if (!page?.items) return
    const at = page.items.findIndex(({ id }) => id <= item.id)
    if (at === -1) page.items.push(item)
    else if (page.items[at]?.id === item.id) page.items[at] = item
    else page.items.splice(at, 0, item)
    if (page.items.length > firstPageItemsMax) return void this.reload()
    this.#update(page)
    this.#changed()
  }

  remove(id: number): void {
    const page = this.#pageOf(id)
    const at = page?.items?.findIndex((item) => item.id === id) ?? -1
    if (!page?.items || at === -1) return
    page.items.splice(at, 1)
    this.#update(page)
    this.#changed()
  }

  /** Hides an item whose removal can be undone. */
  hide(id: number, isHidden = true): void {
    if (isHidden) this.#hidden.add(id)
    else this.#hidden.delete(id)
    this.#updateItem(id)
  }

  /** Shows an item with changes that are not confirmed yet. Undefined removes them. */
  change(id: number, changes: Partial<T> | undefined): void {
    if (changes) this.#changes.set(id, changes)
    else this.#changes.delete(id)
    this.#updateItem(id)
  }

  async #loadNext(cursor: string | undefined, isFirst: boolean): Promise<void> {
    const { signal } = this.#controller
    try {
      const { data, nextCursor } = await this.#options.load(cursor, signal)
      if (signal.aborted) return
      if (isFirst) this.#pages = []
      this.#pages.push(
        this.#newPage(cursor, data, nextCursor === undefined ? Number.NEGATIVE_INFINITY : undefined),
      )
      this.#nextCursor = nextCursor
      this.error.value = undefined
      this.state.value = nextCursor === undefined ? 'end' : 'more'
      this.#dropFarPages()
      this.#changed()
    } catch (thrown) {
      if (isAbort(thrown) || signal.aborted) return
      this.error.value = toRequestError(thrown)
      this.state.value = 'error'
    }
  }

  #newPage(cursor: string | undefined, data: readonly T[], lowestId = data.at(-1)?.id ?? 0): Page<T> {
    const page = { cursor, items: [...data], visible: [], count: 0, lowestId, isLoading: false }
    this.#update(page)
    return page
  }

  /** Loads a dropped page. Items may have been added or removed in its range since then. */
  async #loadAgain(page: Page<T>): Promise<void> {
    if (page.isLoading) return
    page.isLoading = true
    const { signal } = this.#controller
    try {
      const { data, nextCursor } = await this.#options.load(page.cursor, signal)
      if (signal.aborted) return
      const last = data.at(-1)
      page.items = data.filter(({ id }) => id >= page.lowestId)
      if (last && last.id > page.lowestId && nextCursor !== undefined) {
        // The range has more items than one page by now: the rest becomes a page of its own.
        const rest = { ...this.#newPage(nextCursor, [], page.lowestId), items: undefined, count: 1 }
        page.lowestId = last.id
        this.#pages.splice(this.#pages.indexOf(page) + 1, 0, rest)
      }
      this.#update(page)
      this.#dropFarPages()
      this.#changed()
    } catch (thrown) {
      if (!isAbort(thrown)) this.error.value = toRequestError(thrown)
    } finally {
      page.isLoading = false
    }
  }

  #dropFarPages(): void {
    const loaded = this.#pages
      .map((page, number) => ({ page, distance: Math.abs(number - this.#shownPage) }))
      .filter(({ page }) => page.items)
      .sort((a, b) => b.distance - a.distance)
    let count = this.#countLoaded()
    for (const { page } of loaded) {
      if (count <= itemsMax) return
      count -= page.items?.length ?? 0
      page.items = undefined
      page.visible = []
    }
  }

  #pageOf(id: number): Page<T> | undefined {
    return this.#pages.find(({ lowestId }) => id >= lowestId)
  }

  #updateItem(id: number): void {
    const page = this.#pageOf(id)
    if (page) this.#update(page)
    this.#changed()
  }

  #update(page: Page<T>): void {
    if (!page.items) return
    const isShown = (item: T) => !this.#hidden.has(item.id) && (this.#matches?.(item) ?? true)
    page.visible = page.items.map((item) => this.#withChanges(item)).filter(isShown)
    page.count = page.visible.length
  }

  #withChanges(item: T): T {
    const changes = this.#changes.get(item.id)
    return changes ? { ...item, ...changes } : item
  }

  #countLoaded(): number {
    return this.#pages.reduce((sum, { items }) => sum + (items?.length ?? 0), 0)
  }

  #changed(): void {
    const length = this.#pages.reduce((sum, { count }) => sum + count, 0)
    this.size.value = { length, loadedCount: this.#countLoaded() }
  }
}
