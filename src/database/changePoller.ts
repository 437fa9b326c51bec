import type { MaybePromise } from '../maybePromise.ts'

/** Polls while there are listeners. `notify` calls them all. A poll starts only after the previous one has completed. */
export function pollForChanges(poll: (notify: () => void) => MaybePromise<void>, intervalMs: number) {
  const listeners: (() => void)[] = []
  const notify = () => {
    for (const listener of listeners) listener()
  }
  let isRunning = false
  const timer = setInterval(async () => {
    if (isRunning || listeners.length === 0) return
    isRunning = true
    await poll(notify)
    isRunning = false
  }, intervalMs)
  timer.unref()
  return {
    listen: (listener: () => void) => void listeners.push(listener),
    stop: () => clearInterval(timer),
  }
}
