import type { MaybePromise } from '../maybePromise.ts'

type PollOptions = {
  readonly intervalMs: number
  /** The version to compare the first one with. */
  readonly initial?: number
  /** Resolves when a change is durable. The listeners that need that are called again. */
  sync?(): Promise<void> | undefined
}

/**
 * Polls the version of the database while there are listeners, and calls them when it has changed. A poll starts only after
 * the previous one has completed.
 */
export function pollForChanges(version: () => MaybePromise<number | undefined>, options: PollOptions) {
  const listeners: (() => void)[] = []
  const notify = () => {
    for (const listener of listeners) listener()
  }
  let seen = options.initial
  const hasChanged = async () => {
    const before = seen
    // If it cannot be read, queries report that. Changes during that time are unknown.
    seen = -1
    seen = await version()
    return before !== undefined && before !== seen
  }
  let isRunning = false
  const timer = setInterval(async () => {
    if (isRunning || listeners.length === 0) return
    isRunning = true
    if (await hasChanged().catch(() => false)) {
      notify()
      void options.sync?.()?.then(notify, () => {})
    }
    isRunning = false
  }, options.intervalMs)
  timer.unref()
  return {
    listen: (listener: () => void) => void listeners.push(listener),
    stop: () => clearInterval(timer),
  }
}
