import { parseArgs } from 'node:util'

export const usage = `npm run bench -- [options]

  --quick            fewer and shorter rounds, 300,000 animals in place of 10,000,000; under two minutes
  --rows 1,4         only these rows of the table
  --rounds N         how many rounds (15; quick: 3)
  --seconds N        how long a measurement takes (1.5; quick: 0.6)
  --load NAME        wrk or autocannon (wrk where it is installed)
  --service DIR      the service to measure, such as a checkout of the last release (this one)
  --out DIR          also writes DIR/performance.md, and figures and chart into DIR/performance; of a full run only
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

export const rowsAll = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] as const

export class UsageError extends Error {}

export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      rows: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      load: { type: 'string' },
      service: { type: 'string' },
      out: { type: 'string' },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) throw new UsageError(usage)
  if (values.out !== undefined && (values.quick || values.rows !== undefined))
    throw new UsageError('--out is for full runs: leave --quick and --rows out.')
  const { load } = values
  if (load !== undefined && load !== 'wrk' && load !== 'autocannon') throw new UsageError(usage)
  const rows = new Set(values.rows?.split(',').map((text) => positive(text)) ?? rowsAll)
  for (const row of rows) if (!rowsAll.some((known) => known === row)) throw new UsageError(usage)
  return {
    isQuick: values.quick,
    rows,
    rounds: positive(values.rounds ?? (values.quick ? '3' : '15')),
    seconds: positive(values.seconds ?? (values.quick ? '0.6' : '1.5')),
    firstWarmUpSeconds: values.quick ? 0.6 : 3,
    warmUpSeconds: values.quick ? 0.1 : 0.5,
    load,
    service: values.service,
    out: values.out,
    isCheck: values.check,
  }
}

function positive(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new UsageError(usage)
}
