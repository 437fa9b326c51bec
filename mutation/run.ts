/**
 * Mutation testing: changes the rules of the service in small ways, one at a time, and counts the changes that no test
 * notices.
 *
 *     node mutation/run.ts                        all files
 *     node mutation/run.ts --only order.ts        the files whose path contains a text
 *     node mutation/run.ts --out docs             all files, with the results in docs/mutation-testing.md
 */
import { availableParallelism } from 'node:os'
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

const { values } = parseArgs({ options: { only: { type: 'string' }, out: { type: 'string' } } })
if (values.only !== undefined && values.out !== undefined)
  throw new Error('--out needs the results of all files.')
const chosen = targets.filter(({ file }) => file.includes(values.only ?? ''))
if (chosen.length === 0) throw new Error(`--only: no file has ${values.only} in its path.`)
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
