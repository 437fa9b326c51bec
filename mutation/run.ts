/**
 * Mutation testing: changes the rules of the service in small ways, one at a time, and counts the changes that no test
 * notices. `--help` lists the options.
 */
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mutateFile } from './mutateFile.ts'
import { reasons } from './reasons.ts'
import {
  formatFigures,
  formatSurvivors,
  formatVerdict,
  type Result,
  summarize,
  writeResults,
} from './report.ts'
import { targets } from './targets.ts'

const usage = `npm run test:mutation -- [options]

  --only TEXT    only files whose path contains the text, such as order.ts
  --out DIR      all files; also writes the results to DIR/mutation-testing.md, which must exist`

function rejectUsage(problem: string): never {
  console.error(`${problem}\nFor all options: npm run test:mutation -- --help`)
  process.exit(2)
}

function readOptions() {
  try {
    return parseArgs({
      options: { only: { type: 'string' }, out: { type: 'string' }, help: { type: 'boolean' } },
    }).values
  } catch (error) {
    return rejectUsage((error as Error).message)
  }
}

const values = readOptions()
if (values.help) {
  console.log(usage)
  process.exit()
}
if (values.only !== undefined && values.out !== undefined)
  rejectUsage('--out needs the results of all files.')
if (values.out !== undefined && !existsSync(join(values.out, 'mutation-testing.md')))
  rejectUsage(`--out: ${values.out} has no mutation-testing.md.`)
const chosen = targets.filter(({ file }) => file.includes(values.only ?? ''))
if (chosen.length === 0) rejectUsage(`--only: no file has ${values.only} in its path.`)
const startedAt = performance.now()
const secondsSince = (since: number) => (performance.now() - since) / 1000
const log = (line: string) => console.error(`[${secondsSince(startedAt).toFixed(0).padStart(4)} s] ${line}`)

const waiting = [...chosen]
const results = new Map<string, Result>()
const work = async () => {
  for (let target = waiting.shift(); target; target = waiting.shift()) {
    const since = performance.now()
    const result = await mutateFile(target, log)
    results.set(target.file, { ...target, ...result, seconds: secondsSince(since) })
    log(`${target.file}: ${result.total - result.survivors.length} of ${result.total} noticed`)
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work))

const inOrder = chosen.flatMap(({ file }) => results.get(file) ?? [])
console.log(`${formatFigures(inOrder)}\n\n${formatSurvivors(inOrder, reasons)}\n\n${formatVerdict(inOrder)}`)
if (values.out !== undefined) writeResults(values.out, inOrder, reasons, secondsSince(startedAt))
process.exitCode = summarize(inOrder).isEnough ? 0 : 1
