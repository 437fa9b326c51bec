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
