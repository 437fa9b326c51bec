/** The result of one check. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'problem'
  readonly message: string
  /** What to do. */
  readonly advice?: string
}

export const ok = (check: string, message: string): Finding => ({ check, status: 'ok', message })
export const warning = (check: string, message: string, advice: string): Finding => ({
  check,
  status: 'warning',
  message,
  advice,
})
export const problem = (check: string, message: string, advice: string): Finding => ({
  check,
  status: 'problem',
  message,
  advice,
})
