/** Why tests need not notice a mutant. */
export type Reason = {
  readonly file: string
  /** A part of the line that is changed. */
  readonly code: string
  /** Only these changes of the line. */
  readonly replacements?: readonly string[]
  readonly reason: string
}

export const reasons: readonly Reason[] = []
