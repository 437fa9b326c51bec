/** The result of one check. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'problem'
  readonly message: string
  /** What to do. */
  readonly advice?: string
}

/** Functions that create the findings of one check. */
export const findingsOf = (check: string) => ({
  ok: (message: string): Finding => ({ check, status: 'ok', message }),
  warning: (message: string, advice: string): Finding => ({ check, status: 'warning', message, advice }),
  problem: (message: string, advice: string): Finding => ({ check, status: 'problem', message, advice }),
})
