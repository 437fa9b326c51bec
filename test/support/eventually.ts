import { AssertionError } from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

/** The first pause. Each one is a quarter longer than the one before, because polling takes CPU time. */
const pauseMs = 10
const pauseMaxMs = 100
const defaultBoundMs = 30_000

/** Polls until the result is neither false nor undefined. Fails after `boundMs`. */
export async function eventually<T>(
  what: string,
  send: () => T | Promise<T>,
  boundMs = defaultBoundMs,
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + boundMs
  for (let ms = pauseMs; ; ms = Math.min(ms * 1.25, pauseMaxMs)) {
    const found = await send()
    if (found !== false && found !== undefined) return found as Exclude<T, false | undefined>
    if (performance.now() > deadline) throw new Error(`Not within ${boundMs} ms: ${what}`)
    await pause(ms)
  }
}

/** Runs assertions until they hold, and returns their result. After `boundMs` it fails as they do. */
export async function eventuallyHolds<T>(check: () => Promise<T>, boundMs = defaultBoundMs): Promise<T> {
  const deadline = performance.now() + boundMs
  const attempt = async () => {
    try {
      return { value: await check() }
    } catch (error) {
      if (!(error instanceof AssertionError) || performance.now() > deadline) throw error
      return undefined
    }
  }
  const { value } = await eventually('the assertions hold', attempt, Number.POSITIVE_INFINITY)
  return value
}
