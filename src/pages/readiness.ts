/** The minimum time between two pings of the database. Only one runs at a time. */
export const databasePingMs = 1_000
/** A ping that takes longer counts as failed. Longer than the timeout of a ping, shorter than that of the probes in deploy/. */
export const databasePingMaxMs = 3_500

type ReadinessOptions = {
  /** Synchronous checks, run for every request: ready only if all of them are true. */
  readonly checks: readonly (() => boolean)[]
  /** Rejects unless the database can serve. */
  ping(): Promise<void>
  /** Milliseconds of a monotonic clock. */
  now?(): number
  /** Calls back once; returns a function that cancels it. */
  startTimer?(run: () => void, ms: number): () => void
}

/** Whether the service can serve. Requests share a running ping, and its result until the next one is due. */
export function createReadiness({
  checks,
  ping,
  now = () => performance.now(),
  startTimer = startRealTimer,
}: ReadinessOptions): () => Promise<boolean> {
  let isPinging = false
  let startedAt = Number.NEGATIVE_INFINITY
  let isReachable: Promise<boolean> = Promise.resolve(false)

  function pingWithTimeout(): Promise<boolean> {
    isPinging = true
    return new Promise((resolve) => {
      const cancel = startTimer(() => resolve(false), databasePingMaxMs)
      const finish = (result: boolean) => {
        isPinging = false
        cancel()
        resolve(result)
      }
      Promise.try(ping).then(
        () => finish(true),
        () => finish(false),
      )
    })
  }

  const isClear = () => checks.every((check) => check())

  return async () => {
    if (!isClear()) return false
    if (!isPinging && now() - startedAt >= databasePingMs) {
      startedAt = now()
      isReachable = pingWithTimeout()
    }
    // A check may have failed during the ping.
    return (await isReachable) && isClear()
  }
}

function startRealTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
