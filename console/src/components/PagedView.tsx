import type { ComponentChildren } from 'preact'
import { useCallback } from 'preact/hooks'
import { capitalize, formatCount, pluralize } from '../app/format.ts'
import type { Item } from '../app/listPages.ts'
import type { PagedList } from '../app/pagedList.ts'
import { ErrorState } from './ErrorState.tsx'
import { LoadingRows } from './Loading.tsx'
import { MissingRows } from './MissingRows.tsx'
import type { VirtualItems } from './virtual.ts'

type PagedViewProps<T extends Item> = {
  list: PagedList<T>
  /** What an item is, such as "key". */
  noun: string
  /** Instead of a view without items. */
  empty: ComponentChildren
  /** Instead of grey rows, while the first page is loaded. */
  loading?: ComponentChildren
  class: string
  children(items: VirtualItems<T>): ComponentChildren
}

/** A long list that is loaded page by page as the person scrolls, in each of its states. */
export function PagedView<T extends Item>(props: PagedViewProps<T>) {
  const { list, noun, empty, class: name, children } = props
  const { length } = list.size.value
  const state = list.state.value
  const error = state === 'error' ? list.error.value : undefined
  const onEnd = useCallback(() => {
    // After an error the person decides when to load more.
    if (list.state.value === 'more') void list.loadMore()
  }, [list])
  if (length === 0 && error) return <ErrorState error={error} onRetry={() => void list.reload()} />
  if (length === 0 && state === 'end') return empty
  if (length === 0) return props.loading ?? <LoadingRows label={`Loading ${noun}s`} />
  const count = formatCount(length)
  return (
    <div class={name}>
      <MissingRows list={list} />
      {children({
        label: capitalize(`${noun}s`),
        length,
        itemAt: (index) => list.itemAt(index),
        keyOf: ({ id }) => String(id),
        onEnd,
        footer: error ? (
          <ErrorState error={error} hasContent onRetry={() => void list.loadMore()} />
        ) : (
          <p class="table-footer" role="status">
            {state === 'end' && pluralize(length, noun)}
            {state === 'more' && `${count} loaded, more as you scroll`}
            {state === 'loading' && `${count} loaded, loading more`}
          </p>
        ),
      })}
    </div>
  )
}
