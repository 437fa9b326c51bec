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

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep(ms, signal) {
    let timer: ReturnType<typeof setTimeout> | undefined
    return until<void>(signal, (resolve) => {
      timer = setTimeout(resolve, ms)
    }).finally(() => clearTimeout(timer))
  },
  random: Math.random,
  streamSilenceMs: 40_000,
}

/** A promise that the signal can reject. */
export async function until<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void) => void,
): Promise<T> {
  signal?.throwIfAborted()
  let onAbort: (() => void) | undefined
  try {
    return await new Promise<T>((resolve, reject) => {
      onAbort = () => reject(signal?.reason)
      signal?.addEventListener('abort', onAbort)
      start(resolve)
    })
  } finally {
    if (onAbort) signal?.removeEventListener('abort', onAbort)
  }
}
