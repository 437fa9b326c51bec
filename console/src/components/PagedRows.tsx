import type { ComponentChildren } from 'preact'
import type { Item } from '../app/listPages.ts'
import type { PagedList } from '../app/pagedList.ts'
import { Button } from './Button.tsx'
import { ErrorState } from './ErrorState.tsx'
import { LoadingRows } from './Loading.tsx'

type PagedRowsProps<T extends Item> = {
  list: PagedList<T>
  /** What the rows are, such as "webhooks". */
  name: string
  empty: ComponentChildren
  children: (items: readonly T[]) => ComponentChildren
}

/** A list that is loaded page by page with a button, in each of its states. */
export function PagedRows<T extends Item>({ list, name, empty, children }: PagedRowsProps<T>) {
  const { length } = list.size.value
  const state = list.state.value
  const error = list.error.value
  const items = Array.from({ length }, (_, index) => list.itemAt(index)).filter((item) => item !== undefined)
  return (
    <>
      {items.length > 0 && children(items)}
      {items.length === 0 && state === 'end' && empty}
      {items.length === 0 && state === 'loading' && <LoadingRows count={5} label={`Loading ${name}`} />}
      {state === 'error' && error && (
        <ErrorState error={error} hasContent={items.length > 0} onRetry={() => void list.loadMore()} />
      )}
      {items.length > 0 && (state === 'more' || state === 'loading') && (
        <div class="load-more">
          <Button size="small" isBusy={state === 'loading'} onClick={() => void list.loadMore()}>
            Load more
          </Button>
        </div>
      )}
    </>
  )
}
