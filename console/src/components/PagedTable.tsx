import type { ComponentChildren } from 'preact'
import { useCallback } from 'preact/hooks'
import { capitalize, formatCount, pluralize } from '../app/format.ts'
import type { Item } from '../app/listPages.ts'
import type { PagedList } from '../app/pagedList.ts'
import { ErrorState } from './ErrorState.tsx'
import { LoadingRows } from './Loading.tsx'
import { MissingRows } from './MissingRows.tsx'
import { type Column, VirtualTable } from './VirtualTable.tsx'

type PagedTableProps<T extends Item> = {
  list: PagedList<T>
  /** What a row is, such as "key". */
  noun: string
  columns: readonly Column<T>[]
  /** Instead of a table without rows. */
  empty: ComponentChildren
  /** The person decides when to load more, instead of by scrolling. */
  isLoadedOnRequest?: boolean
  rowClass?(item: T): string
  /** Above the table. */
  children?: ComponentChildren
}

/** A long list that is loaded page by page as the person scrolls, in each of its states. */
export function PagedTable<T extends Item>(props: PagedTableProps<T>) {
  const { list, noun, empty, isLoadedOnRequest, children, ...table } = props
  const { length } = list.size.value
  const state = list.state.value
  const error = state === 'error' ? list.error.value : undefined
  const onEnd = useCallback(() => {
    // After an error the person decides when to load more.
    if (list.state.value === 'more' && !isLoadedOnRequest) void list.loadMore()
  }, [list, isLoadedOnRequest])
  if (length === 0 && error) return <ErrorState error={error} onRetry={() => void list.reload()} />
  if (length === 0) return state === 'end' ? empty : <LoadingRows label={`Loading ${noun}s`} />
  const count = formatCount(length)
  return (
    <div class="table-card">
      {children}
      <MissingRows list={list} />
      <VirtualTable
        {...table}
        label={capitalize(`${noun}s`)}
        length={length}
        itemAt={(index) => list.itemAt(index)}
        keyOf={({ id }) => String(id)}
        onEnd={onEnd}
        footer={
          error ? (
            <ErrorState error={error} hasContent onRetry={() => void list.loadMore()} />
          ) : (
            !isLoadedOnRequest && (
              <p class="table-footer" role="status">
                {state === 'end' && pluralize(length, noun)}
                {state === 'more' && `${count} loaded, more as you scroll`}
                {state === 'loading' && `${count} loaded, loading more`}
              </p>
            )
          )
        }
      />
    </div>
  )
}
