import { setTimeout as pause } from 'node:timers/promises'
import type { Check, RunOptions, Verdict } from './verdict.ts'

const timeIsUp = Symbol('time is up')

/** Runs checks one after another. A check that fails, or for which no time is left, is a promise that was not kept. */
export async function runChecks(
  checks: readonly Check[],
  options: RunOptions,
  limitMs: number,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  const endsAt = performance.now() + limitMs
  for (const check of checks) {
    const startedAt = performance.now()
    const limit = new AbortController()
    try {
      const found = await Promise.race([
        check.run(options),
        pause(Math.max(endsAt - startedAt, 0), timeIsUp, { signal: limit.signal }),
      ])
      if (found === timeIsUp)
        throw new Error(`The time limit of ${Math.round(limitMs / 60_000)} minutes has passed.`)
      verdicts.push(...(found as Verdict[]))
    } catch (error) {
      verdicts.push(failedVerdict(check, error as Error))
    } finally {
      limit.abort()
    }
    options.log(`${check.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`)
  }
  return verdicts
}

const failedVerdict = ({ name }: Check, error: Error): Verdict => ({
  promise: `The check "${name}" comes to an end`,
  method: '',
  figures: '',
  isHeld: false,
  explanation: error.stack ?? error.message,
})
