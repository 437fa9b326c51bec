import { useEffect, useRef, useState } from 'preact/hooks'
import { now } from './clock.ts'
import { isAbort, type RequestError, toRequestError } from './errors.ts'

export type Resource<T> = {
  /** What was loaded last. It stays while it is loaded again, and if that fails. */
  data: T | undefined
  /** Why the last load failed. */
  error: RequestError | undefined
  reload(): void
  isLoading(): boolean
  set(data: T): void
}

type State<T> = { data?: T | undefined; error?: RequestError | undefined }

/** Loads something when the component is first shown, and again when an input changes. */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[] = [],
): Resource<T> {
  const [state, setState] = useState<State<T>>({})
  const controller = useRef<AbortController>(undefined)
  const reload = () => {
    controller.current?.abort()
    const current = new AbortController()
    controller.current = current
    load(current.signal)
      .then(
        (data) => {
          if (!current.signal.aborted) setState({ data })
        },
        (thrown: unknown) => {
          if (isAbort(thrown) || current.signal.aborted) return
          setState(({ data }) => ({ data, error: toRequestError(thrown) }))
        },
      )
      .finally(() => {
        if (controller.current === current) controller.current = undefined
      })
  }
  useEffect(() => {
    setState({})
    reload()
    return () => controller.current?.abort()
  }, inputs)
  return {
    data: state.data,
    error: state.error,
    reload,
    isLoading: () => controller.current !== undefined,
    set: (data) => setState({ data }),
  }
}

/** Loads again at an interval while the page is visible. It waits for the end of a rate limit, so as not to be banned. */
export function usePolling(resource: Resource<unknown>, intervalMs: number | undefined): void {
  const latest = useRef(resource)
  latest.current = resource
  useEffect(() => {
    if (intervalMs === undefined) return
    const timer = setInterval(() => {
      const { error, reload, isLoading } = latest.current
      const isLimited = (error?.retryAt ?? 0) > now()
      // A new load would cancel one that takes longer than the interval.
      if (document.visibilityState === 'visible' && !isLimited && !isLoading()) reload()
    }, intervalMs)
    return () => clearInterval(timer)
  }, [intervalMs])
}
