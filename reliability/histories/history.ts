/** A response, as far as the checks need it. */
export type Response = {
  readonly status: number
  readonly etag?: string
  /** Whether it is a stored response to an earlier request with the same `Idempotency-Key`. */
  readonly isReplayed?: boolean
  readonly body?: unknown
}

/**
 * One request of a caller. Times are milliseconds of one monotonic clock. The outcome is
 * `known`: the response says what happened;
 * `failed`: there is no effect, because the request was not sent or the response says so;
 * `unknown`: the effect may be there, may come later, or may never come.
 */
export type Call = {
  readonly number: number
  readonly caller: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly ifMatch?: string
  readonly idempotencyKey?: string
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: 'known' | 'failed' | 'unknown'
  readonly response?: Response
}

/** Callers with this prefix read everything after all others have ended, one for each instance. */
export const finalPrefix = 'final '

export const isFinal = ({ caller }: Call): boolean => caller.startsWith(finalPrefix)

/** What is wrong, by the promise that it breaks. */
export type Problem = { readonly promise: PromiseName; readonly message: string }

/** The promises that histories are checked for. */
export const promises = {
  responses: 'Every response is one that the interface allows, and an ETag names one version of an animal',
  linearizable: 'Each animal with its orders behaves like one copy: every read shows all earlier changes',
  updates: 'Of several changes with the same If-Match, at most one is made',
  orders: 'An animal has at most one open order at every moment',
  replays: 'A repeated request with the same Idempotency-Key gets the first response and is done once',
  feed: 'The feed has each change once, in the order of the changes, without gap, and replays to the store',
  inventory: 'The inventory is equal to a count of the animals',
} as const
export type PromiseName = keyof typeof promises

/** A call in one line, for messages. */
export function describeCall({ number, caller, method, path, ifMatch, outcome, ...call }: Call): string {
  const condition = ifMatch === undefined ? '' : ` if ${ifMatch}`
  const sent = call.body === undefined ? '' : ` ${JSON.stringify(call.body)}`
  const { status, body } = call.response ?? {}
  const received = status === undefined ? outcome : `${status} ${shortened(body)}`
  const times = `${call.startedAt.toFixed(1)} to ${call.endedAt.toFixed(1)} ms`
  return `call ${number} of ${caller} (${times}): ${method} ${path}${condition}${sent} -> ${received}`
}

const shownMax = 200
const shortened = (body: unknown): string => {
  const text = body === undefined ? '' : JSON.stringify(body)
  return text.length > shownMax ? `${text.slice(0, shownMax)}...` : text
}
