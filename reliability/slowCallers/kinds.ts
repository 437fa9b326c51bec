export type CallerKind = 'headers' | 'bodies' | 'readers' | 'idle' | 'pipelining'

export type ClosedReport = {
  readonly opened: number
  /** How long after its opening the service closed each connection. */
  readonly closedMs: readonly number[]
  readonly responses: number
}

export type KindPlan = {
  readonly kind: CallerKind
  readonly description: string
  readonly count: number
  /** When the service closes such a connection, after it was opened. Undefined if it does not. */
  readonly boundMs?: number
  /** What limits the figure, if the promise is not held. */
  readonly explanation?: string
}

/** The service looks for slow callers at intervals. */
export const lateMaxMs = 2_500

export const kindPlans: readonly KindPlan[] = [
  { kind: 'headers', description: 'slow headers', count: 300, boundMs: 5_000 },
  { kind: 'bodies', description: 'slow bodies', count: 300, boundMs: 10_000 },
  { kind: 'readers', description: 'responses that are not read', count: 100, boundMs: 120_000 },
  { kind: 'idle', description: 'idle connections', count: 10_000, boundMs: 75_000 },
  {
    kind: 'pipelining',
    description: 'pipelining floods',
    count: 10,
    explanation:
      'Node parses all that it has read from a connection, up to 64 KB, before it serves others. Here these are about 480 requests.',
  },
]
