import { useEffect } from 'preact/hooks'
import type { Item } from './listPages.ts'
import type { PagedList } from './pagedList.ts'
import { streamReady } from './stream.ts'

/** Loads a list while it is shown. With `follow`, events keep it current, so that it waits for the event stream. */
export function useList<T extends Item>(
  list: PagedList<T>,
  follow?: (list: PagedList<T>) => () => void,
): void {
  useEffect(() => {
    const end = follow?.(list)
    if (follow) void streamReady().then(() => list.reload())
    else void list.reload()
    return () => {
      end?.()
      list.dispose()
    }
  }, [list])
}
