import { setTimeout as sleep } from 'node:timers/promises'

/** Requests of others wait for at most about this long. */
const stepMs = 5

/** Returns a function that lets others run for as long as the steps since its last pause have taken. */
export function createPace(): () => Promise<void> {
  let startedAt = performance.now()
  return async () => {
    const durationMs = performance.now() - startedAt
    if (durationMs < stepMs) return
    await sleep(durationMs)
    startedAt = performance.now()
  }
}
