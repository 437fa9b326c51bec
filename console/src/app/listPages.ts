import type { Int64 } from '../../../client/src/index.ts'

/** The pages of a `PagedList` in memory. Items are in descending order of id. */

/** About 10 MB of animals. */
const itemsMax = 20_000
/** A page grows by new items. */
const pageItemsMax = 1_000

export type Item = { readonly id: Int64 }

export type Page<T> = {
  cursor: string | undefined
  /** Undefined while the page is dropped. */
  items: T[] | undefined
  /** The items that are shown. */
  visible: readonly T[]
  /** How many items are shown, also while the page is dropped. */
  countShown: number
  /** The lowest id of the page. Its range ends below the previous page's lowest id. */
  lowestId: Int64
  isLoading: boolean
  /** The dropped page failed to load. It is not loaded again by itself. */
  hasFailed: boolean
}

/** Loaded pages without a gap, and the dropped pages before and after them. */
type PageWindow<T> = {
  pages: readonly Page<T>[]
  newer: Page<T> | undefined
  older: Page<T> | undefined
}

export class ListPages<T extends Item> {
  readonly #isHidden: (id: Int64) => boolean
  readonly #windowMax: number | undefined
  #pages: Page<T>[] = []
  #shownPage = 0
  readonly #unconfirmed = new Map<Int64, Partial<T>>()

  /** With `windowMax`, all items in memory are shown, and not only those that `at` returns. */
  constructor(isHidden: (id: Int64) => boolean, windowMax?: number) {
    this.#isHidden = isHidden
    this.#windowMax = windowMax
  }

  clear(): void {
    this.#pages = []
    this.#shownPage = 0
  }

  /** The loaded pages around the one that was loaded last. */
  get window(): PageWindow<T> {
    let first = this.#shownPage
    let last = this.#shownPage
    while (this.#pages[first - 1]?.items) first--
    while (this.#pages[last + 1]?.items) last++
    return {
      pages: this.#pages.slice(first, last + 1),
      newer: this.#pages[first - 1],
      older: this.#pages[last + 1],
    }
  }

  get newestId(): Int64 | undefined {
    return this.#pages[0]?.items?.[0]?.id
  }

  /** The item at a position, and its page. The item is undefined while its page is dropped. */
  at(index: number): { item: T | undefined; page: Page<T> } | undefined {
    let start = 0
    for (const [number, page] of this.#pages.entries()) {
      if (index < start + page.countShown) {
        this.#shownPage = number
        return { item: page.visible[index - start], page }
      }
      start += page.countShown
    }
    return undefined
  }

  find(id: Int64): T | undefined {
    const found = this.#pageOf(id)?.items?.find((item) => item.id === id)
    return found && this.#withChanges(found)
  }

  /** Whether the page that the id belongs to is loaded, or is being loaded again. */
  covers(id: Int64): boolean {
    const page = this.#pageOf(id)
    return page !== undefined && (page.items !== undefined || page.isLoading)
  }

  updateAll(): void {
    for (const page of this.#pages) this.#update(page)
  }

  /** Adds or replaces an item, unless its page is not loaded. Returns whether its page has too many items by now. */
  put(item: T): boolean {
    const page = this.#pageOf(item.id)
    if (!page?.items) return false
    const at = page.items.findIndex(({ id }) => id <= item.id)
    if (at === -1) page.items.push(item)
    else if (page.items[at]?.id === item.id) page.items[at] = item
    else page.items.splice(at, 0, item)
    this.#update(page)
    return page.items.length > (this.#windowMax ?? pageItemsMax)
  }

  remove(id: Int64): void {
    const page = this.#pageOf(id)
    if (!page?.items) return
    page.items = page.items.filter((item) => item.id !== id)
    this.#update(page)
  }

  change(id: Int64, changes: Partial<T> | undefined): void {
    if (changes) this.#unconfirmed.set(id, changes)
    else this.#unconfirmed.delete(id)
    const page = this.#pageOf(id)
    if (page) this.#update(page)
  }

  append(cursor: string | undefined, data: readonly T[], isLast: boolean): void {
    const lowestId = isLast ? Number.NEGATIVE_INFINITY : (data.at(-1)?.id ?? 0)
    const page = { ...droppedPage<T>(cursor, lowestId), items: [...data] }
    this.#pages.push(page)
    this.#loaded(page)
  }

  /** Takes over a dropped page that was loaded again. Items may have been added or removed in its range since then. */
  restore(page: Page<T>, data: readonly T[], nextCursor: string | undefined): void {
    const at = this.#pages.indexOf(page)
    // The list was loaded again in the meantime.
    if (at === -1) return
    const last = data.at(-1)
    page.items = data.filter(({ id }) => id >= page.lowestId)
    if (last && last.id > page.lowestId && nextCursor !== undefined) {
      // The range has more items than one page by now: the rest becomes a page of its own.
      const rest = { ...droppedPage<T>(nextCursor, page.lowestId), countShown: 1 }
      page.lowestId = last.id
      this.#pages.splice(at + 1, 0, rest)
    }
    this.#loaded(page)
  }

  allowRetry(): void {
    for (const page of this.#pages) page.hasFailed = false
  }

  countLoaded(): number {
    return this.#pages.reduce((sum, { items }) => sum + (items?.length ?? 0), 0)
  }

  get length(): number {
    return this.#pages.reduce((sum, page) => sum + page.countShown, 0)
  }

  #loaded(page: Page<T>): void {
    if (this.#windowMax !== undefined) this.#shownPage = this.#pages.indexOf(page)
    this.#update(page)
    this.#dropFarPages()
  }

  #dropFarPages(): void {
    const loaded = this.#pages
      .map((page, number) => ({ page, distance: Math.abs(number - this.#shownPage) }))
      .filter(({ page }) => page.items)
      .sort((a, b) => b.distance - a.distance)
    let count = this.countLoaded()
    for (const { page } of loaded) {
      if (count <= (this.#windowMax ?? itemsMax)) return
      count -= page.items?.length ?? 0
      page.items = undefined
      page.visible = []
    }
  }

  #pageOf(id: Int64): Page<T> | undefined {
    return this.#pages.find(({ lowestId }) => id >= lowestId)
  }

  #update(page: Page<T>): void {
    if (!page.items) return
    page.visible = page.items.filter(({ id }) => !this.#isHidden(id)).map((item) => this.#withChanges(item))
    page.countShown = page.visible.length
  }

  #withChanges(item: T): T {
    const changes = this.#unconfirmed.get(item.id)
    return changes ? { ...item, ...changes } : item
  }
}

const droppedPage = <T>(cursor: string | undefined, lowestId: Int64): Page<T> => ({
  cursor,
  items: undefined,
  visible: [],
  countShown: 0,
  lowestId,
  isLoading: false,
  hasFailed: false,
})
