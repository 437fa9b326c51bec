/**
 * How fast the service is, against bare servers and against its peers. README.md beside this has what every row means,
 * docs/performance.md the figures; `npm run bench -- --help` the options.
 */
import { checkFigures, isChecked } from './check.ts'
import { type Figure, notRun, numberOf, order, rows } from './figures.ts'
import { chooseLoad, type Load } from './load.ts'
import { assignCores, type Cores, moveTo } from './machine.ts'
import { type Options, readOptions, UsageError, usage } from './options.ts'
import { killAll } from './processes.ts'
import { resultsFolder, writeReport } from './report.ts'
import { runners } from './rows.ts'
import { startService } from './servers.ts'
import { measureServiceIn, removeLeftovers, removeRunFolder } from './stores.ts'

/** What every row is given. */
export type Bench = {
  readonly options: Options
  readonly cores: Cores
  readonly load: Load
  progress(text: string): void
}

const started = performance.now()

/** On a terminal one line that changes; elsewhere, such as in CI, a line each. */
function progress(text: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(4)
  const line = `[${seconds} s] ${text}`
  process.stderr.write(
    process.stderr.isTTY ? `\r\u001b[K${line.slice(0, (process.stderr.columns || 80) - 1)}` : `${line}\n`,
  )
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (!options) return console.log(usage)
  if (
    options.isCheck &&
    !Object.values(rows).some((row) => options.rows.has(numberOf(row)) && isChecked(row))
  )
    throw new UsageError('--check: nothing in these rows can be checked.')
  if (options.service !== undefined) measureServiceIn(options.service)
  const cores = assignCores()
  const bench: Bench = { options, cores, load: chooseLoad(options.load, cores), progress }
  // The bench itself and what it starts to measure with stay off the server's core.
  moveTo(cores, cores.load)
  removeLeftovers()
  // The first start after an update compiles what all later ones find compiled.
  await (await startService(cores)).stop()
  const figures = await measure(bench)
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  console.log(writeReport(bench, figures, (performance.now() - started) / 1000))
  process.stderr.write(`\nWritten to ${resultsFolder}.\n`)
  if (options.isCheck) process.exitCode = await check(bench, figures)
  else if (figures.some(({ problem }) => problem !== undefined)) process.exitCode = 1
}

/** A row that could not be measured stands in the table with the reason, and the others are measured all the same. */
async function measure(bench: Bench): Promise<Figure[]> {
  const { options } = bench
  const found: Figure[] = []
  for (const { rows: numbers, run } of runners) {
    const wanted = numbers.filter((number) => options.rows.has(number))
    if (wanted.length === 0) continue
    try {
      found.push(...(await run(bench)))
    } catch (error) {
      const missing = Object.values(rows).filter((row) => wanted.includes(numberOf(row)))
      found.push(...missing.map((row) => notRun(row, error)))
    }
  }
  return found.toSorted((a, b) => order(a.row) - order(b.row))
}

/** What fails is measured once more, in more rounds: only what fails twice is an accident. */
async function check(bench: Bench, figures: readonly Figure[]): Promise<number> {
  const first = checkFigures(figures)
  console.log(`\n${first.text}`)
  if (first.failed.length === 0) return 0
  const again = new Set(first.failed.map(numberOf))
  const longer = { ...bench.options, rows: again, rounds: bench.options.rounds * 2 }
  const measured = await measure({ ...bench, options: longer })
  // A row has parts: those that were good are not judged again.
  const second = checkFigures(measured.filter(({ row }) => first.failed.some(({ id }) => id === row.id)))
  console.log(`\nOnce more, what failed:\n${second.text}`)
  return second.failed.length === 0 ? 0 : 1
}

function cleanUp(): void {
  killAll()
  removeRunFolder()
}

process.on('exit', cleanUp)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    process.stderr.write('\nStopped.\n')
    process.exit(130)
  })

await main().catch((error: unknown) => {
  console.error(error instanceof UsageError ? error.message : error)
  process.exitCode = error instanceof UsageError ? 2 : 1
})
// Timers that guard a start may still be running.
process.exit()
