import type { BodyTime } from '../api/request.ts'

const checkIntervalMinMs = 100

/** Calls back once if a body does not arrive in its time. Returns a function that stops the timer. */
export function startBodyTimer(
  { startMs, bytesPerSecondMin, totalMs }: BodyTime,
  receivedBytes: () => number,
  onLate: () => void,
): () => void {
  const startedAt = performance.now()
  const check = () => {
    const allowedMs = Math.min(totalMs, startMs + (receivedBytes() / bytesPerSecondMin) * 1000)
    const leftMs = startedAt + allowedMs - performance.now()
    if (leftMs <= 0) onLate()
    else timer = setTimeout(check, Math.max(leftMs, checkIntervalMinMs))
  }
  let timer = setTimeout(check, Math.min(startMs, totalMs))
  return () => clearTimeout(timer)
}
