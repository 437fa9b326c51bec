import { signal } from '@preact/signals'
import type { Int64 } from '../../../client/src/index.ts'
import { ChangesDuringLoad } from './changesDuringLoad.ts'
import { isAbort, type RequestError, toRequestError } from './errors.ts'
import { type Item, ListPages, type Page } from './listPages.ts'
import type { ListOptions, ListSize, ListState } from './listTypes.ts'
import { isPrinting } from './printing.ts'

/**
 * A list that is loaded page by page, with a bounded number of items in memory. Pages that are far from what is shown
 * are dropped, and loaded again by their cursor when they are shown. Items are in descending order of id.
 */

/** `loadNewer` loads at most this many pages, until the window has no gap. */
const newerPagesMax = 4

export class PagedList<T extends Item> {
  /** A new object with every change: a component that reads it is rendered again. */
  readonly size = signal<ListSize>({ length: 0, loadedCount: 0 })
  readonly state = signal<ListState>('loading')
  /** Why the last load failed, except that of a dropped page. */
  readonly error = signal<RequestError | undefined>(undefined)
  /** Why a dropped page failed to load again. */
  readonly pageError = signal<RequestError | undefined>(undefined)
  readonly #options: ListOptions<T>
  readonly #pages: ListPages<T>
  /** Undefined is a removal. */
  readonly #changesDuringLoad = new ChangesDuringLoad<T | undefined>()
  #nextCursor: string | undefined
  #controller = new AbortController()
  /** The list has not been loaded since the last reload began, so there is no next page. */
  #isReloadDue = true
  #isRefreshing = false
  #isDisposed = false

  constructor(options: ListOptions<T>) {
    this.#options = options
    this.#pages = new ListPages((id) => options.isHidden?.(id) ?? false, options.windowMax)
  }

  /** Loads the first page. What is shown stays until it has arrived. */
  async reload(): Promise<void> {
    if (this.#isDisposed) return
    this.#controller.abort()
    this.#controller = new AbortController()
    this.#isReloadDue = true
    this.state.value = 'loading'
    await this.#loadNext(undefined)
  }

  /** Loads the next page. After a reload that failed, it reloads. */
  async loadMore(): Promise<void> {
    if (this.state.value === 'loading' || this.state.value === 'end') return
    if (this.#isReloadDue) return this.reload()
    this.state.value = 'loading'
    await this.#loadNext(this.#nextCursor)
  }

  /** Takes over what is new on the first pages. The pages below them stay. Does nothing while a page is loaded. */
  async refresh(pages = 1): Promise<void> {
    if (this.state.value === 'loading' || this.#isRefreshing) return
    if (this.#isReloadDue) return this.reload()
    const { newestId = Number.NEGATIVE_INFINITY } = this.#pages
    const { signal } = this.#controller
    this.#isRefreshing = true
    try {
      let cursor: string | undefined
      for (let page = 0; page < pages; page++) {
        const { result, changes } = await this.#load(cursor, signal)
        if (signal.aborted) return
        this.error.value = undefined
        const oldestId = result.items.at(-1)?.id ?? 0
        cursor = result.nextCursor
        // Otherwise more items are new than one page has, and those in between are unknown.
        if (page === 0 && cursor !== undefined && oldestId > newestId) return await this.reload()
        for (const item of result.items) if (!changes.has(item.id)) this.upsert(item)
        if (cursor === undefined) return
      }
    } catch (thrown) {
      if (!isAbort(thrown) && !signal.aborted) this.error.value = toRequestError(thrown)
    } finally {
      this.#isRefreshing = false
    }
  }

  /** Loads dropped pages that failed to load, when they are shown. */
  retryPages(): void {
    this.#pages.allowRetry()
    this.pageError.value = undefined
    this.#changed()
  }

  /** Forgets everything, for a list that is no longer shown. */
  dispose(): void {
    this.#isDisposed = true
    this.#controller.abort()
    this.#pages.clear()
  }

  /** The item at a position. Undefined while its page is loaded again. To print the list, no page is loaded. */
  itemAt(index: number): T | undefined {
    const found = this.#pages.at(index)
    if (found && !found.page.items && !found.page.hasFailed && !isPrinting.peek())
      void this.#loadAgain(found.page)
    return found?.item
  }

  find(id: Int64): T | undefined {
    return this.#pages.find(id)
  }

  /** What is in memory around the last load. `isAtEnd`: what follows was never loaded. For a list with `windowMax`. */
  window(): { items: readonly T[]; hasNewer: boolean; hasOlder: boolean; isAtEnd: boolean } {
    // A component that calls this is rendered again with every change.
    void this.size.value
    const { pages, newer, older } = this.#pages.window
    const items = pages.flatMap(({ visible }) => visible)
    const hasOlder = older !== undefined || this.#nextCursor !== undefined
    return { items, hasNewer: newer !== undefined, hasOlder, isAtEnd: older === undefined }
  }

  /** Loads the page before the window. Sets `pageError` if that fails. */
  async loadNewer(): Promise<void> {
    const { signal } = this.#controller
    const { pages: before, newer } = this.#pages.window
    let page = newer
    this.pageError.value = undefined
    for (let count = 0; page && count < newerPagesMax; count++) {
      await this.#loadAgain(page)
      const { pages, older } = this.#pages.window
      if (signal.aborted || this.pageError.value || pages.some((one) => before.includes(one))) return
      // Its range has more items than one page by now. The rest is between it and the window.
      page = older
    }
  }

  /** Loads the page after the window. Sets `pageError` or `error` if that fails. */
  async loadOlder(): Promise<void> {
    if (this.#isReloadDue) return this.reload()
    const { older } = this.#pages.window
    this.pageError.value = undefined
    await (older ? this.#loadAgain(older) : this.loadMore())
  }

  /** Whether an item with this id is in memory, if the list has one, or may be in a response that is on its way. */
  covers(id: Int64): boolean {
    return this.state.value === 'loading' || this.#pages.covers(id)
  }

  /** Reads again which items are hidden. */
  updateHidden(): void {
    this.#pages.updateAll()
    this.#changed()
  }

  /** Takes over a new or changed item. */
  upsert(item: T): void {
    if (this.#options.accepts?.(item) === false) {
      this.remove(item.id)
      return
    }
    this.#changesDuringLoad.record(item.id, item)
    if (this.#pages.put(item)) void this.reload()
    this.#changed()
  }

  remove(id: Int64): void {
    this.#changesDuringLoad.record(id, undefined)
    this.#pages.remove(id)
    this.#changed()
  }

  /** Shows an item with changes that are not confirmed yet. Undefined removes them. */
  change(id: Int64, changes: Partial<T> | undefined): void {
    this.#pages.change(id, changes)
    this.#changed()
  }

  #load(cursor: string | undefined, signal: AbortSignal) {
    const { list, pageSize } = this.#options
    return this.#changesDuringLoad.during(() => list({ limit: pageSize, cursor }, { signal }).page())
  }

  async #loadNext(cursor: string | undefined): Promise<void> {
    const { signal } = this.#controller
    try {
      const { result, changes } = await this.#load(cursor, signal)
      if (signal.aborted) return
      const { items, nextCursor } = result
      if (this.#isReloadDue) {
        this.#pages.clear()
        this.pageError.value = undefined
      }
      this.#isReloadDue = false
      this.#pages.append(cursor, items, nextCursor === undefined)
      this.#nextCursor = nextCursor
      this.error.value = undefined
      this.state.value = nextCursor === undefined ? 'end' : 'more'
      this.#applyAgain(changes)
    } catch (thrown) {
      if (isAbort(thrown) || signal.aborted) return
      this.error.value = toRequestError(thrown)
      this.state.value = 'error'
    }
  }

  async #loadAgain(page: Page<T>): Promise<void> {
    if (page.isLoading) return
    page.isLoading = true
    const { signal } = this.#controller
    try {
      const { result, changes } = await this.#load(page.cursor, signal)
      if (signal.aborted) return
      this.#pages.restore(page, result.items, result.nextCursor)
      this.#applyAgain(changes)
    } catch (thrown) {
      if (isAbort(thrown) || signal.aborted) return
      page.hasFailed = true
      this.pageError.value = toRequestError(thrown)
    } finally {
      page.isLoading = false
    }
  }

  /** The response may lack what changed during the load. */
  #applyAgain(changes: ReadonlyMap<Int64, T | undefined>): void {
    this.#changed()
    for (const [id, item] of changes) {
      if (item) this.upsert(item)
      else this.remove(id)
    }
  }

  #changed(): void {
    this.size.value = { length: this.#pages.length, loadedCount: this.#pages.countLoaded() }
  }
}
