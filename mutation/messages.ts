/** What `host.ts` gets, in a file. */
export type Job = {
  /** The file that is mutated, and its instrumented source. */
  readonly url: string
  readonly source: string
  /** URLs of tests. */
  readonly tests: readonly string[]
  /** How many tests of each file pass without a mutant. Without it, the host counts them and reports a `Control`. */
  readonly passed?: Readonly<Record<string, number>>
  readonly mutants: readonly { readonly mutant: string; readonly tests: readonly string[] }[]
  /** A mutant that has a process of its own: it is selected before the modules load. */
  readonly staticMutant?: string
}

/** What the tests do without a mutant. */
export type Control = {
  readonly kind: 'control'
  readonly passed: Readonly<Record<string, number>>
  /** Mutants of code that runs when the modules load. */
  readonly staticMutants: readonly string[]
  /** The mutants of code that the tests of a file run. */
  readonly covered: Readonly<Record<string, readonly string[]>>
}

export type HostMessage =
  | Control
  | { readonly kind: 'start'; readonly mutant: string }
  | { readonly kind: 'result'; readonly mutant: string; readonly by: string | undefined }
  /** `isSame`: without a mutant, the same tests pass as before. */
  | { readonly kind: 'end'; readonly isSame: boolean }
