import type { ComponentChildren } from 'preact'
import type { Resource } from '../app/resource.ts'
import { ErrorState } from './ErrorState.tsx'
import { LoadingRows } from './Loading.tsx'

type ResourceViewProps<T> = {
  resource: Resource<T>
  /** What is loaded, such as "inventory". */
  name: string
  /** How many grey rows stand for it until then. */
  rows?: number
  children: (data: T) => ComponentChildren
}

/** Something that is loaded, in each of its states. */
export function ResourceView<T>({ resource, name, rows = 2, children }: ResourceViewProps<T>) {
  const { data, error, reload } = resource
  if (data !== undefined) return <>{children(data)}</>
  if (error) return <ErrorState error={error} onRetry={reload} />
  return <LoadingRows count={rows} label={`Loading ${name}`} />
}
