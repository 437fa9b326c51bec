import type { ComponentChildren } from 'preact'
import { useCallback } from 'preact/hooks'
import type { Item } from '../app/listPages.ts'
import type { PagedList } from '../app/pagedList.ts'
import { ErrorState } from './ErrorState.tsx'
import { MissingRows } from './MissingRows.tsx'
import { type Column, VirtualTable } from './VirtualTable.tsx'

type PagedTableProps<T extends Item> = {
  list: PagedList<T>
  label: string
  columns: readonly Column<T>[]
  /** The person decides when to load more, instead of by scrolling. */
  isLoadedOnRequest?: boolean
  /** Below the last row, unless the next page failed to load. */
  footer: ComponentChildren
  rowClass?(item: T): string
  /** Above the table. */
  children?: ComponentChildren
}

/** A long list that is loaded page by page as the person scrolls. */
export function PagedTable<T extends Item>(props: PagedTableProps<T>) {
  const { list, isLoadedOnRequest, footer, children, ...table } = props
  const error = list.error.value
  const onEnd = useCallback(() => {
    // After an error the person decides when to load more.
    if (list.state.value === 'more' && !isLoadedOnRequest) void list.loadMore()
  }, [list, isLoadedOnRequest])
  return (
    <div class="table-card">
      {children}
      <MissingRows list={list} />
      <VirtualTable
        {...table}
        length={list.size.value.length}
        itemAt={(index) => list.itemAt(index)}
        keyOf={({ id }) => String(id)}
        onEnd={onEnd}
        footer={
          list.state.value === 'error' && error ? (
            <ErrorState error={error} hasContent onRetry={() => void list.loadMore()} />
          ) : (
            footer
          )
        }
      />
    </div>
  )
}
