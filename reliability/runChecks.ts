import { setTimeout as pause } from 'node:timers/promises'
import { UsageError } from './options.ts'
import type { Check, RunOptions, Verdict } from './verdict.ts'

const timeIsUp = Symbol('time is up')

/** A missing program is reported before the first check, not after half an hour. */
export function assertRunnable(checks: readonly Check[], options: RunOptions): void {
  for (const check of checks)
    try {
      check.assertRunnable?.(options)
    } catch (error) {
      throw new UsageError(`${check.name}: ${(error as Error).message}`)
    }
}

/**
 * Runs checks one after another, and those in the background at the same time. A check that fails, or for which no time is
 * left, counts as a promise that was not held.
 */
export async function runChecks(
  checks: readonly Check[],
  options: RunOptions,
  limitMs: number,
): Promise<Verdict[]> {
  const endsAt = performance.now() + limitMs
  const running: Promise<Verdict[]>[] = []
  for (const check of checks) {
    const verdicts = runCheck(check, options, endsAt)
    running.push(verdicts)
    if (!check.isBackground) await verdicts
  }
  return (await Promise.all(running)).flat()
}

async function runCheck(check: Check, options: RunOptions, endsAt: number): Promise<Verdict[]> {
  const startedAt = performance.now()
  const limit = new AbortController()
  try {
    const found = await Promise.race([
      check.run(options),
      pause(Math.max(endsAt - startedAt, 0), timeIsUp, { signal: limit.signal }),
    ])
    if (found === timeIsUp) throw new Error('The time limit of the run has passed.')
    const { name, isMeasurement = false } = check
    return (found as Verdict[]).map((verdict) => ({ ...verdict, check: name, isMeasurement }))
  } catch (error) {
    return [failedVerdict(check, error as Error)]
  } finally {
    limit.abort()
    options.log(`${check.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`)
  }
}

const failedVerdict = ({ name }: Check, error: Error): Verdict => ({
  check: name,
  promise: `The check "${name}" comes to an end`,
  method: '',
  figures: '',
  isHeld: false,
  explanation: error.stack ?? error.message,
})
