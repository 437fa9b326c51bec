import type { Checkout } from '../data/checkout.ts'
import type { Cores } from '../host/cores.ts'
import type { LoadGenerator } from '../load/load.ts'
import type { Options } from '../options.ts'
import { numberOf, type Row } from '../targets.ts'
import type { Result } from './result.ts'

/** What each measurement receives. */
export type BenchContext = {
  readonly options: Options
  readonly cores: Cores
  readonly load: LoadGenerator
  readonly checkout: Checkout
  progress(text: string): void
}

/** Measures some rows. Results of rows that are not selected are dropped. */
export type Measurement = {
  readonly rows: readonly Row[]
  run(context: BenchContext): Promise<Result[]>
}

export const isSelected = ({ options }: Pick<BenchContext, 'options'>, row: Row): boolean =>
  options.rows.has(numberOf(row)) &&
  !(options.isQuick && row.isFullRunOnly) &&
  (options.isLarge || !row.isLargeRunOnly)
