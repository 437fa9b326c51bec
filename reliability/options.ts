import { statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { RunOptions } from './verdict.ts'

export const usage = `npm run reliability -- [options]

Without options it runs everything, at most 60 minutes, on a machine without other work. The check histories needs
HAProxy for PostgreSQL.
The exit status is 1 if a promise was not held, and 2 if an option is wrong or a program is missing.
With --quick, rows of overload, slowCallers and soak do not affect it.

  --quick            a short run of every check, at most 4 minutes on 2 cores: overload and soak on one engine,
                     crashes with neither uploads nor faults of PostgreSQL
  --only NAME,...    only these checks: overload, slowCallers, soak, histories, crashes
  --engine NAME      only on sqlite or postgres; otherwise slowCallers runs on SQLite, the others on both
  --seed N           repeats the random choices of a run; the times differ
  --out DIR          also writes DIR/reliability.md; with --only, replaces only these checks;
                     not with --quick or --engine`

export class UsageError extends Error {
  constructor(problem: string) {
    super(`${problem}\nFor all options: npm run reliability -- --help`)
  }
}

export type Options = Omit<RunOptions, 'log'> & {
  /** The names of the checks to run, or all. */
  readonly only: readonly string[] | undefined
  readonly outDir: string | undefined
}

/** Returns undefined for --help. */
export function readOptions(args: string[]): Options | undefined {
  const values = parse(args)
  if (values.help) return undefined
  const { quick: isQuick, only, engine, seed, out: outDir } = values
  if (engine !== undefined && engine !== 'sqlite' && engine !== 'postgres')
    throw new UsageError(`--engine must be sqlite or postgres, but is "${engine}".`)
  if (seed !== undefined && !/^\d{1,9}$/.test(seed)) throw new UsageError('--seed must be a number.')
  if (outDir !== undefined && (isQuick || engine !== undefined))
    throw new UsageError('--out requires a run without --quick and --engine.')
  // Before the run, which can take an hour.
  if (outDir !== undefined && !statSync(outDir, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--out must be a folder that exists, but is "${outDir}".`)
  return {
    isQuick,
    only: only?.split(','),
    engines: engine === undefined ? ['sqlite', 'postgres'] : [engine],
    seed: Number(seed ?? Date.now() % 1_000_000),
    outDir,
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string' },
        engine: { type: 'string' },
        seed: { type: 'string' },
        out: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
