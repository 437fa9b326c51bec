import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

export const usage = `npm run bench -- [options]

  --quick            fewer and shorter rounds, 300,000 animals in place of 10,000,000; under two minutes
  --rows 1,4         only these rows of the table, 1 to 11 and 13
  --rounds N         how many rounds (15; quick: 3)
  --seconds N        how long a measurement takes (1.5; quick: 0.6)
  --load NAME        wrk or autocannon (wrk where it is installed)
  --service DIR      the service to measure, such as a checkout of the last release (this one)
  --out DIR          also writes DIR/performance.md, and figures and chart into DIR/performance; of a full run only, as long as it is meant to be
  --check            exit status 1 if a ratio is below half of what it must be`

export type Options = {
  readonly isQuick: boolean
  readonly rows: ReadonlySet<number>
  readonly rounds: number
  readonly seconds: number
  /** Before the first round, and before each. */
  readonly firstWarmUpSeconds: number
  readonly warmUpSeconds: number
  readonly load: 'wrk' | 'autocannon' | undefined
  readonly service: string | undefined
  readonly out: string | undefined
  readonly isCheck: boolean
}

export const rowsAll = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13] as const

/** Whoever calls has made a mistake, and is told which. */
export class UsageError extends Error {
  constructor(problem: string) {
    super(`${problem}\nAll options: npm run bench -- --help`)
  }
}

/** Nothing where help was asked for. */
export function readOptions(args: string[]): Options | undefined {
  const values = parse(args)
  if (values.help) return undefined
  const isShaped =
    values.quick || [values.rows, values.rounds, values.seconds].some((value) => value !== undefined)
  if (values.out !== undefined && isShaped)
    throw new UsageError('--out publishes full runs: leave --quick, --rows, --rounds and --seconds out.')
  const { load, service } = values
  if (load !== undefined && load !== 'wrk' && load !== 'autocannon')
    throw new UsageError(`--load is wrk or autocannon, not ${load}.`)
  if (service !== undefined && !existsSync(join(service, 'bin', 'petstore.js')))
    throw new UsageError(`--service: there is no petstore in ${service}.`)
  return {
    isQuick: values.quick,
    rows: new Set(values.rows?.split(',').map(rowOf) ?? rowsAll),
    rounds: number(
      '--rounds',
      values.rounds ?? (values.quick ? '3' : '15'),
      /^[1-9]\d{0,3}$/,
      'a whole number',
    ),
    seconds: number(
      '--seconds',
      values.seconds ?? (values.quick ? '0.6' : '1.5'),
      secondsPattern,
      '0.1 or more',
    ),
    firstWarmUpSeconds: values.quick ? 1.2 : 3,
    warmUpSeconds: values.quick ? 0.1 : 0.5,
    load,
    service,
    out: values.out,
    isCheck: values.check,
  }
}

const secondsPattern = /^(?:[1-9]\d{0,3}(?:\.\d+)?|0\.[1-9]\d*)$/

function parse(args: string[]) {
  const options = {
    quick: { type: 'boolean', default: false },
    rows: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    load: { type: 'string' },
    service: { type: 'string' },
    out: { type: 'string' },
    check: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** `5a` is a part of row 5, which is measured as a whole. */
function rowOf(text: string): number {
  const row = Number(/^(\d+)[abc]?$/.exec(text.trim())?.[1])
  if (!rowsAll.some((known) => known === row))
    throw new UsageError(`--rows: there is no row "${text}"; they are 1 to 11 and 13.`)
  return row
}

function number(option: string, text: string, pattern: RegExp, wanted: string): number {
  if (!pattern.test(text)) throw new UsageError(`${option} must be ${wanted}, not ${text}.`)
  return Number(text)
}
