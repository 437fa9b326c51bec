export type RunOptions = {
  /** A short run for CI. */
  readonly isQuick: boolean
  readonly engines: readonly ('sqlite' | 'postgres')[]
  /** Random choices are derived from it. */
  readonly seed: number
  /** Prints a line about the progress. */
  readonly log: (line: string) => void
}

/** A row of the table: whether a promise was kept. */
export type Verdict = {
  readonly promise: string
  /** How it was tested. */
  readonly method: string
  /** What was counted or measured. */
  readonly figures: string
  readonly isHeld: boolean
  /** Why a promise was not kept, or what limits the figure. */
  readonly explanation?: string
}

/** One part of the run. */
export type Check = {
  readonly name: string
  run(options: RunOptions): Promise<Verdict[]>
}
