import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { benchDir } from '../host/programs.ts'
import type { BenchContext } from '../measure/context.ts'
import type { Result } from '../measure/result.ts'
import { renderChart } from './chart.ts'
import { describeRun, formatNotes } from './run.ts'
import { formatDetails, formatTable } from './table.ts'

export const resultsDir = join(benchDir, 'results')

/** Writes the table, the values as JSON and a chart to bench/results. Returns the table. */
export function writeReport(context: BenchContext, results: readonly Result[], seconds: number): string {
  const { options } = context
  const run = describeRun(context, seconds)
  const text = [
    formatTable(results, options.isQuick),
    formatDetails(results),
    formatNotes(run, results),
  ].join('\n\n')
  const values = results.map(({ row, ...result }) => ({ ...row, ...result }))
  mkdirSync(resultsDir, { recursive: true })
  writeFileSync(join(resultsDir, 'table.md'), `${text}\n`)
  writeFileSync(join(resultsDir, 'latest.json'), `${JSON.stringify({ run, rows: values }, null, 2)}\n`)
  writeFileSync(join(resultsDir, 'chart.svg'), renderChart(results))
  if (options.outDir !== undefined) publish(resolve(options.outDir), text)
  return text
}

const beginMarker = '<!-- begin: npm run bench -- --out docs -->'
const endMarker = '<!-- end: npm run bench -- --out docs -->'

/** Replaces the part of performance.md between the markers. */
function publish(dir: string, text: string): void {
  for (const name of ['latest.json', 'chart.svg'])
    cpSync(join(resultsDir, name), join(dir, 'performance', name))
  const file = join(dir, 'performance.md')
  const page = existsSync(file) ? readFileSync(file, 'utf8') : `${beginMarker}\n${endMarker}\n`
  const [begin, end] = [page.indexOf(beginMarker), page.indexOf(endMarker)]
  if (begin === -1 || end === -1) throw new Error(`${file} has no markers for the table.`)
  writeFileSync(file, `${page.slice(0, begin)}${beginMarker}\n\n${text}\n\n${page.slice(end)}`)
}
