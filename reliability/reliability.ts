import { parseArgs } from 'node:util'
import { overload } from './overload/overload.ts'
import { slowCallers } from './slowCallers/slowCallers.ts'
import { soak } from './soak/soak.ts'
import type { Check, Verdict } from './verdict.ts'

/** The parts of the run, in order. */
const checks: readonly Check[] = [overload, soak, slowCallers]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    seed: { type: 'string' },
    engine: { type: 'string' },
  },
})
const verdicts: Verdict[] = []
for (const check of checks) {
  if (values.only !== undefined && !values.only.split(',').includes(check.name)) continue
  verdicts.push(
    ...(await check.run({
      isQuick: values.quick,
      engines:
        values.engine === undefined ? ['sqlite', 'postgres'] : [values.engine as 'sqlite' | 'postgres'],
      seed: Number(values.seed ?? Date.now() % 1_000_000),
      log: (line) => process.stderr.write(`${line}\n`),
    })),
  )
}
for (const { promise, method, figures, isHeld } of verdicts)
  process.stdout.write(`| ${promise} | ${method} | ${figures} | ${isHeld ? 'held' : 'not held'} |\n`)
process.exitCode = verdicts.every(({ isHeld }) => isHeld) ? 0 : 1
