import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findProgram } from './host/programs.ts'
import type { LoadName } from './load/load.ts'
import { type Operation, operations } from './servers/requests.ts'
import { rowNumbers } from './targets.ts'

export const usage = `npm run bench -- [options]

  --quick            fewer and shorter rounds, smaller databases; takes about two minutes
  --large            also measures row 16, which fills databases of 1,000,000 pets; takes an hour
  --rows 1,4         measures only these rows (${rowNumbers.join(', ')})
  --rounds N         number of rounds (11; quick: 3)
  --seconds N        duration of a measurement (1.5; quick: 0.6)
  --load NAME        wrk or autocannon (default: wrk if it is installed)
  --service DIR      measures another checkout of the service
  --out DIR          also updates DIR/performance.md and DIR/performance/; requires a full run
  --check            exits with status 1 if a ratio is below half of its "must"

  --compare DIR      compares this checkout with another one: CPU time per request and memory, interleaved.
                     Uses --rounds, --seconds, --load and:
  --operations list  only these operations (list, read, create)
  --bun              runs both on Bun`

export type Options = {
  readonly isQuick: boolean
  readonly isLarge: boolean
  readonly rows: ReadonlySet<number>
  readonly rounds: number
  readonly seconds: number
  /** Before the first round. */
  readonly initialWarmUpSeconds: number
  /** Before each round. */
  readonly warmUpSeconds: number
  readonly load: LoadName
  readonly serviceDir: string | undefined
  readonly outDir: string | undefined
  readonly isCheck: boolean
  readonly compareDir: string | undefined
  readonly operations: readonly Operation[]
  readonly isBun: boolean
}

export class UsageError extends Error {
  constructor(problem: string) {
    super(`${problem}\nFor all options: npm run bench -- --help`)
  }
}

/** Returns undefined for --help. */
export function readOptions(args: string[]): Options | undefined {
  const values = parse(args)
  if (values.help) return undefined
  const { quick } = values
  const isPartial = quick || [values.rows, values.rounds, values.seconds].some((value) => value !== undefined)
  if (values.out !== undefined && isPartial)
    throw new UsageError('--out requires a full run, without --quick, --rows, --rounds and --seconds.')
  return {
    isQuick: quick,
    isLarge: values.large,
    rows: new Set(values.rows?.split(',').map(parseRow) ?? rowNumbers),
    rounds: parseNumber('--rounds', values.rounds ?? (quick ? '3' : '11'), /^[1-9]\d{0,3}$/),
    seconds: parseNumber('--seconds', values.seconds ?? (quick ? '0.6' : '1.5'), secondsPattern),
    initialWarmUpSeconds: quick ? 1.2 : 3,
    warmUpSeconds: quick ? 0.1 : 0.5,
    load: parseLoad(values.load),
    serviceDir: checkoutDir('--service', values.service),
    outDir: values.out,
    isCheck: values.check,
    compareDir: checkoutDir('--compare', values.compare),
    operations: values.operations?.split(',').map(parseOperation) ?? operations,
    isBun: values.bun,
  }
}

const secondsPattern = /^(?:[1-9]\d{0,3}(?:\.\d+)?|0\.[1-9]\d*)$/

function parse(args: string[]) {
  const options = {
    quick: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    rows: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    load: { type: 'string' },
    service: { type: 'string' },
    out: { type: 'string' },
    check: { type: 'boolean', default: false },
    compare: { type: 'string' },
    operations: { type: 'string' },
    bun: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** `5a` selects row 5, whose parts are measured together. */
function parseRow(text: string): number {
  const row = Number(/^(\d+)[a-z]?$/.exec(text.trim())?.[1])
  if (!rowNumbers.includes(row))
    throw new UsageError(`--rows: unknown row "${text}". Rows: ${rowNumbers.join(', ')}.`)
  return row
}

function parseOperation(text: string): Operation {
  const operation = operations.find((name) => name === text.trim())
  if (!operation) throw new UsageError(`--operations: unknown operation "${text}".`)
  return operation
}

function parseNumber(option: string, text: string, pattern: RegExp): number {
  if (!pattern.test(text)) throw new UsageError(`${option}: invalid value "${text}".`)
  return Number(text)
}

function parseLoad(name: string | undefined): LoadName {
  const isInstalled = findProgram('wrk') !== undefined
  if (name === undefined) return isInstalled ? 'wrk' : 'autocannon'
  if (name !== 'wrk' && name !== 'autocannon') throw new UsageError(`--load: unknown name "${name}".`)
  if (name === 'wrk' && !isInstalled) throw new UsageError('--load: wrk is not installed.')
  return name
}

function checkoutDir(option: string, dir: string | undefined): string | undefined {
  if (dir !== undefined && !existsSync(join(dir, 'bin', 'petstore.js')))
    throw new UsageError(`${option}: ${dir} has no bin/petstore.js.`)
  return dir
}
