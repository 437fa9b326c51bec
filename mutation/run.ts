/**
 * Mutation testing: changes the rules of the service in small ways, one at a time, and counts the changes that no test
 * notices.
 *
 *     node mutation/run.ts                        all files
 *     node mutation/run.ts --only order.ts        the files whose path contains a text
 */
import { parseArgs } from 'node:util'
import { mutateFile, type Survivor } from './mutateFile.ts'
import { targets } from './targets.ts'

/** The share of mutants that must be noticed. */
const noticedMin = 0.9

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } })
let [total, noticed] = [0, 0]
const survivors: Survivor[] = []
console.log('| File | Mutants | Noticed | Not noticed | Seconds |\n| --- | --- | --- | --- | --- |')
for (const target of targets.filter(({ file }) => file.includes(values.only))) {
  const startedAt = performance.now()
  const result = await mutateFile(target)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  total += result.total
  noticed += result.total - result.survivors.length
  survivors.push(...result.survivors)
  const left = result.survivors.length
  console.log(`| ${target.file} | ${result.total} | ${result.total - left} | ${left} | ${seconds} |`)
}
console.log(`\n${noticed} of ${total} mutants noticed (${((100 * noticed) / total).toFixed(1)} %).\n`)
for (const { file, line, column, mutator, original, replacement, isCovered } of survivors)
  console.log(
    `- ${file}:${line}:${column} ${mutator}: \`${original}\` -> \`${replacement}\`${isCovered ? '' : ' (no test runs it)'}`,
  )
process.exitCode = total > 0 && noticed / total >= noticedMin ? 0 : 1
