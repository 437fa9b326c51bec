import type { RequestError } from '../app/errors.ts'
import { DetailHeader } from './DetailHeader.tsx'
import { ErrorState } from './ErrorState.tsx'
import { LoadingRows } from './Loading.tsx'
import { NotFound } from './NotFound.tsx'

type PendingDetailProps = {
  /** What is loaded, such as "Key". */
  kind: string
  id: string
  parent: { path: string; name: string }
  error: RequestError | undefined
  onRetry(): void
}

/** Instead of one thing that is not loaded: it is being loaded, does not exist, or failed to load. */
export const PendingDetail = ({ kind, id, parent, error, onRetry }: PendingDetailProps) =>
  error?.status === 404 ? (
    <NotFound
      title={`${kind} not found`}
      text={`No ${kind.toLowerCase()} has this id. It may have been deleted, or the address is wrong.`}
      target={parent}
    />
  ) : (
    <>
      <DetailHeader title={`${kind} ${id}`} parent={parent} />
      {error ? (
        <ErrorState error={error} onRetry={onRetry} />
      ) : (
        <LoadingRows label={`Loading ${kind.toLowerCase()}`} />
      )}
    </>
  )
