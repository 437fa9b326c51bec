import { setTimeout as pause } from 'node:timers/promises'

const pollMs = 20

/** Polls until the result is neither false nor undefined. Fails after `boundMs`. */
export async function eventually<T>(
  what: string,
  send: () => T | Promise<T>,
  boundMs = 30_000,
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + boundMs
  for (;;) {
    const found = await send()
    if (found !== false && found !== undefined) return found as Exclude<T, false | undefined>
    if (performance.now() > deadline) throw new Error(`Not within ${boundMs} ms: ${what}`)
    await pause(pollMs)
  }
}
