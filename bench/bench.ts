/** Entry point of `npm run bench`. README.md describes the rows and the method, `--help` the options. */
import { checkResults, isChecked } from './check.ts'
import { compareCheckouts } from './compareCheckouts.ts'
import { openCheckout } from './data/checkout.ts'
import { removeRunDirs, removeStaleDirs } from './data/databases.ts'
import { assignCores, moveTo } from './host/cores.ts'
import { killChildren } from './host/processes.ts'
import { repositoryDir } from './host/programs.ts'
import { createLoadGenerator } from './load/load.ts'
import { type BenchContext, isSelected } from './measure/context.ts'
import { failedResult, type Result } from './measure/result.ts'
import { type Options, readOptions, UsageError, usage } from './options.ts'
import { resultsDir, writeReport } from './report/report.ts'
import { measurements } from './rows/measurements.ts'
import { startService } from './servers/service.ts'
import { allRows, numberOf } from './targets.ts'

const startedAt = performance.now()
const elapsedSeconds = () => (performance.now() - startedAt) / 1000

/** On a terminal one line that is overwritten, otherwise a line per message. */
function progress(text: string): void {
  const line = `[${elapsedSeconds().toFixed(0).padStart(4)} s] ${text}`
  const { isTTY, columns } = process.stderr
  process.stderr.write(isTTY ? `\r\u001b[K${line.slice(0, (columns || 80) - 1)}` : `${line}\n`)
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2))
  if (!options) {
    console.log(usage)
    return 0
  }
  if (options.isCheck && !allRows.some((row) => isSelected({ options }, row) && isChecked(row)))
    throw new UsageError('--check: none of these rows is checked.')
  const context = createContext(options)
  // Keeps the bench and its tools off the server's core.
  moveTo(context.cores, context.cores.load)
  removeStaleDirs()
  // The first start after an update fills the compile cache, and uses more memory.
  await (await startService(context.cores, context.checkout)).stop()
  if (options.compareDir !== undefined) {
    const table = await compareCheckouts(context, options.compareDir)
    clearProgress()
    console.log(table)
    return 0
  }
  const results = await measure(context)
  clearProgress()
  console.log(writeReport(context, results, elapsedSeconds()))
  process.stderr.write(`\nResults are in ${resultsDir}.\n`)
  if (options.isCheck) return check(context, results)
  return results.some(({ problem }) => problem !== undefined) ? 1 : 0
}

function createContext(options: Options): BenchContext {
  const cores = assignCores()
  return {
    options,
    cores,
    load: createLoadGenerator(options.load, cores),
    checkout: openCheckout(options.serviceDir ?? repositoryDir),
    progress,
  }
}

const clearProgress = () => {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
}

/** A row that fails is reported with its error. The others are still measured. */
async function measure(context: BenchContext): Promise<Result[]> {
  const results: Result[] = []
  for (const { rows, run } of measurements) {
    const selected = rows.filter((row) => isSelected(context, row))
    if (selected.length === 0) continue
    try {
      results.push(...(await run(context)).filter(({ row }) => isSelected(context, row)))
    } catch (error) {
      results.push(...selected.map((row) => failedResult(row, error)))
    }
  }
  const position = ({ row }: Result) => allRows.findIndex(({ id }) => id === row.id)
  return results.toSorted((a, b) => position(a) - position(b))
}

/** Rows that fail are measured again in twice as many rounds. Only a row that fails both times fails the check. */
async function check(context: BenchContext, results: readonly Result[]): Promise<number> {
  const first = checkResults(results)
  console.log(`\n${first.text}`)
  if (first.failed.length === 0) return 0
  const options = {
    ...context.options,
    rows: new Set(first.failed.map(numberOf)),
    rounds: context.options.rounds * 2,
  }
  const repeated = await measure({ ...context, options })
  const failedIds = first.failed.map(({ id }) => id)
  const second = checkResults(repeated.filter(({ row }) => failedIds.includes(row.id)))
  console.log(`\nSecond attempt:\n${second.text}`)
  return second.failed.length === 0 ? 0 : 1
}

process.on('exit', () => {
  killChildren()
  removeRunDirs()
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    process.stderr.write('\nStopped.\n')
    process.exit(130)
  })

// Exits explicitly, because timers of started servers may be pending.
process.exit(
  await main().catch((error: unknown) => {
    console.error(error instanceof UsageError ? error.message : error)
    return error instanceof UsageError ? 2 : 1
  }),
)
