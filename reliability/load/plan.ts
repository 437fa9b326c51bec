/** A request that callers repeat: `{id}` in the path is an id from 1 to `ids`, `{n}` the number of the request. */
export type RequestKind = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly ids: number
  readonly body?: string
}

/** Callers that use the addresses, the keys and the kinds of requests in turn. */
export type CallerGroup = {
  readonly name: string
  readonly addresses: readonly string[]
  readonly keys: readonly string[]
  readonly kinds: readonly RequestKind[]
  /** New callers, which do not wait for each other. */
  readonly perSecond: number
  /** Callers that send one request after another. */
  readonly callers?: number
  /** Whether to measure the time from the end of the load until a request is served. */
  readonly isRecoveryMeasured?: boolean
}

export type ArrivalPlan = {
  readonly port: number
  readonly seconds: number
  readonly groups: readonly CallerGroup[]
}

export type GroupReport = {
  readonly name: string
  readonly perSecond: number
  readonly sent: number
  /** Responses with 2xx or 304 within the time limit. */
  readonly good: number
  readonly goodPerSecond: number
  /** By the second of the run. */
  readonly bySecond: readonly number[]
  /** Responses by status, `timeout` and `closed`. */
  readonly statuses: Readonly<Record<string, number>>
  readonly goodP50Ms: number
  readonly goodP99Ms: number
  /** Null if none was rejected. */
  readonly rejectedP50Ms: number | null
  /** How late the requests were sent, because the process of the callers had no time. */
  readonly lateP99Ms: number
  /** Whether every 503 had a `Retry-After` of at least a second. */
  readonly hasRetryAfter: boolean
  readonly connections: number
  /** From the last arrival until a request was served. Null if that took too long, or was not measured. */
  readonly recoveryMs: number | null
}
