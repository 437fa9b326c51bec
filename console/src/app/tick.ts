import { signal } from '@preact/signals'
import { now } from './clock.ts'

/** The time in milliseconds, which changes every second while the page is visible. */
export const tick = signal(now())

setInterval(() => {
  if (document.visibilityState === 'visible') tick.value = now()
}, 1_000)
document.addEventListener('visibilitychange', () => {
  tick.value = now()
})
