export type RunOptions = {
  /** A short run for CI. */
  readonly isQuick: boolean
  readonly engines: readonly ('sqlite' | 'postgres')[]
  /** Random choices are derived from it. */
  readonly seed: number
  /** Prints a line about the progress. */
  readonly log: (line: string) => void
}

/** A row of the table: whether a promise was held. */
export type Verdict = {
  /** The name of the check. */
  readonly check?: string
  readonly promise: string
  /** How it was tested. */
  readonly method: string
  /** What was counted or measured. */
  readonly figures: string
  readonly isHeld: boolean
  readonly isMeasurement?: boolean
  /** Why a promise was not held, or what limits the figure. */
  readonly explanation?: string
}

/** One part of the run. */
export type Check = {
  readonly name: string
  /** Its verdicts depend on the speed of the machine: in a short run they are shown, but do not fail it. */
  readonly isMeasurement?: boolean
  /** It takes long and needs little: the checks after it run at the same time. */
  readonly isBackground?: boolean
  /** Throws if a program is missing. Called before the first check runs. */
  assertRunnable?(options: RunOptions): void
  run(options: RunOptions): Promise<Verdict[]>
}
