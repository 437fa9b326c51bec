/** Time and chance. Tests replace them. */
export type Clock = {
  /** Milliseconds, rising. */
  now(): number
  /** Rejects with the reason of the signal when it is aborted. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** From 0 to 1. */
  random(): number
  /** The maximum silence of an event stream. The service sends something every 15 seconds. */
  readonly streamSilenceMs: number
}

/** A timer for longer than this would end at once. */
export const timerMaxMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => performance.now(),
  async sleep(ms, signal) {
    for (let leftMs = ms; leftMs > 0; leftMs -= timerMaxMs) {
      let timer: ReturnType<typeof setTimeout> | undefined
      await abortable<void>(signal, (resolve) => {
        timer = setTimeout(resolve, Math.min(leftMs, timerMaxMs))
      }).finally(() => clearTimeout(timer))
    }
  },
  random: Math.random,
  streamSilenceMs: 40_000,
}

/** The time before the next attempt: exponential with full jitter. */
export const backoffMs = (clock: Clock, attempt: number, minMs: number, maxMs: number): number =>
  Math.min(minMs * 2 ** attempt, maxMs) * clock.random()

/** A promise that the signal can reject. */
export async function abortable<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void) => void,
): Promise<T> {
  signal?.throwIfAborted()
  let stop = () => {}
  try {
    return await new Promise<T>((resolve, reject) => {
      stop = onAbort(signal, () => reject(signal?.reason))
      start(resolve)
    })
  } finally {
    stop()
  }
}

type Listeners = { callbacks: Set<() => void>; listener: () => void }
const listenersOf = new WeakMap<AbortSignal, Listeners>()

/**
 * Calls back when the signal is aborted, until the returned function is called. All callbacks of a signal share one
 * listener: Node warns of more than ten, and many are slow.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (!signal) return () => {}
  let listeners = listenersOf.get(signal)
  if (!listeners) {
    const callbacks = new Set<() => void>()
    listeners = { callbacks, listener: () => callbacks.forEach((call) => void call()) }
    listenersOf.set(signal, listeners)
    signal.addEventListener('abort', listeners.listener)
  }
  const { callbacks, listener } = listeners
  callbacks.add(callback)
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return
    listenersOf.delete(signal)
    signal.removeEventListener('abort', listener)
  }
}
