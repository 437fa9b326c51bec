/** Entry point of `npm run reliability`. `--help` lists the options. */
import { resolve } from 'node:path'
import { bundleProgram } from '../test/support/programBundle.ts'
import { type Options, readOptions, UsageError, usage } from './options.ts'
import { formatTable, writeDocument } from './report.ts'
import { assertRunnable, runChecks } from './runChecks.ts'
import type { Verdict } from './verdict.ts'

/** A quick run takes less than 4 minutes on 2 cores. Slower machines get more time. */
const limitMs = { full: 60 * 60_000, quick: 10 * 60_000 }
const startedAt = performance.now()
const elapsedSeconds = () => (performance.now() - startedAt) / 1000

function log(line: string): void {
  process.stderr.write(`[${elapsedSeconds().toFixed(0).padStart(4)} s] ${line}\n`)
}

async function main({ only, outDir, ...options }: Options): Promise<number> {
  // Before the checks are loaded: they start this program.
  process.env.PETSTORE_TEST_PROGRAM ??= await bundleProgram()
  const { checks } = await import('./checks.ts')
  const unknown = only?.find((name) => !checks.some((check) => check.name === name))
  if (unknown !== undefined)
    throw new UsageError(`--only: "${unknown}" is none of ${checks.map(({ name }) => name).join(', ')}.`)
  const chosen = checks.filter(({ name }) => only === undefined || only.includes(name))
  assertRunnable(chosen, { ...options, log })
  log(
    `${options.isQuick ? 'a short run' : 'a full run, at most 60 minutes'} of ${chosen.map(({ name }) => name).join(', ')} on ${options.engines.join(' and ')}, seed ${options.seed}`,
  )
  const verdicts = await runChecks(
    chosen,
    { ...options, log },
    options.isQuick ? limitMs.quick : limitMs.full,
  )
  console.log(`\n${formatTable(verdicts)}`)
  const isTolerated = ({ isHeld, isMeasurement }: Verdict) => !isHeld && isMeasurement && options.isQuick
  const tolerated = verdicts.filter(isTolerated).length
  if (tolerated > 0)
    console.log(`\nRows that were not held, but do not affect the exit status of a quick run: ${tolerated}.`)
  if (outDir !== undefined)
    writeDocument(
      resolve(outDir),
      verdicts,
      options.seed,
      checks.map(({ name }) => name),
    )
  return verdicts.every((verdict) => verdict.isHeld || isTolerated(verdict)) ? 0 : 1
}

try {
  const options = readOptions(process.argv.slice(2))
  if (!options) console.log(usage)
  // What a check has left running must not keep the process alive.
  else process.exit(await main(options))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(error.message)
  process.exit(2)
}
