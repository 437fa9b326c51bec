/** The database is asked no more often than this, and by one ping at a time. */
export const pingIntervalMs = 1_000
/** A ping that takes longer counts as failed. Longer than a ping's own bound, shorter than the probes of deploy/ wait. */
export const pingTimeoutMs = 3_500

type ReadinessOptions = {
  /** Reasons that need no waiting, looked at for every request: ready only while all of them are true. */
  readonly checks: readonly (() => boolean)[]
  /** Rejects unless the database can serve. */
  ping(): Promise<void>
  /** Milliseconds of a clock that is never set back. */
  now?(): number
  /** Calls back once; returns what cancels it. */
  startTimer?(run: () => void, ms: number): () => void
}

/** Whether the service can serve. Requests share a ping that is under way, and its result until the next one is due. */
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
      const cancel = startTimer(() => resolve(false), pingTimeoutMs)
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
    if (!isPinging && now() - startedAt >= pingIntervalMs) {
      startedAt = now()
      isReachable = pingWithTimeout()
    }
    // A check may have failed while the ping was under way.
    return (await isReachable) && isClear()
  }
}

function startRealTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
