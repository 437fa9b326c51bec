import { BodyError, type BodyTime } from '../api/request.ts'

const checkIntervalMinMs = 100

/** Rejects if a body does not arrive in its time. */
export async function arrivingInTime<T>(
  body: Promise<T>,
  { startMs, bytesPerSecondMin, totalMs }: BodyTime,
  receivedBytes: () => number,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const startedAt = performance.now()
  const check = () => {
    const allowedMs = Math.min(totalMs, startMs + (receivedBytes() / bytesPerSecondMin) * 1000)
    const leftMs = startedAt + allowedMs - performance.now()
    if (leftMs <= 0) late.reject(new BodyError('timeout'))
    else timer = setTimeout(check, Math.max(leftMs, checkIntervalMinMs))
  }
  let timer = setTimeout(check, Math.min(startMs, totalMs))
  return Promise.race([body, late.promise]).finally(() => clearTimeout(timer))
}
