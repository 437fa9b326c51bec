import type { Item } from '../app/listPages.ts'
import type { PagedList } from '../app/pagedList.ts'
import { Countdown } from './Countdown.tsx'
import { Notice } from './Notice.tsx'

/** Above a table whose rows were dropped and could not be loaded again. */
export function MissingRows<T extends Item>({ list }: { list: PagedList<T> }) {
  const error = list.pageError.value
  if (!error) return null
  const retry = () => list.retryPages()
  return (
    <Notice tone="warning">
      Some rows could not be loaded.{' '}
      {error.retryAt === undefined ? (
        <button type="button" class="link" onClick={retry}>
          Try again
        </button>
      ) : (
        <>
          Loading again in <Countdown until={error.retryAt} onEnd={retry} />.
        </>
      )}
    </Notice>
  )
}
