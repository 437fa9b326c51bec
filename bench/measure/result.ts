import type { Spread } from '../statistics.ts'
import type { Row } from '../targets.ts'

/** The result of a row, or the reason why it has none. */
export type Result = {
  readonly row: Row
  readonly measured?: Spread
  /** The same ratio by the server's CPU time, which hardly depends on other processes. */
  readonly byCpuTime?: number
  /** The load generator was the bottleneck. */
  readonly isLoadBound?: boolean
  /** Other processes used the server's core. */
  readonly isDisturbed?: boolean
  /** The underlying rates, times and shares. */
  readonly detail: string
  readonly problem?: string
}

export const failedResult = (row: Row, error: unknown): Result => ({
  row,
  detail: '',
  problem: error instanceof Error ? error.message : String(error),
})
