import type { PetstoreError } from './errors.ts'
import type { Submission } from './submission.ts'

export type PetstoreOptions = {
  /** The address of the API, such as `https://pets.example/v1`. If it is undefined, the constructor throws. */
  baseUrl: string | undefined
  /** If it is undefined, the constructor throws. */
  apiKey: string | undefined
  /** Replaces the global `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** The maximum time of one attempt, including its response body. The default is 30 seconds. */
  timeoutMs?: number | undefined
  /** How often a failed request is repeated, if that is safe. The default is 5. */
  maxRetries?: number | undefined
  /** The maximum number of concurrent requests. Others wait. The default is 8. More than 50 requires `throttle`. */
  maxConcurrent?: number | undefined
  /** The maximum time of one wait for the rate limit. A request that would wait longer fails. The default is two minutes. */
  maxWaitMs?: number | undefined
  /** Sends no more than what is left of the rate limit, so that no request is rejected. */
  throttle?: boolean | undefined
  /** `false`: a 429 does not pause the other requests of this client. The program decides what it sends. */
  pauseOnRateLimit?: boolean | undefined
  /** Ends all requests and streams of this client, except requests with `keepalive`. */
  signal?: AbortSignal | undefined
  /** Called with the error of each request whose API key the service rejects (status 401). */
  onKeyRejected?: ((error: PetstoreError) => void) | undefined
}

export type RequestOptions = {
  /** Ends the request. It then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  maxRetries?: number | undefined
  /** More headers, such as `Prefer` or `X-Request-Id`. */
  headers?: Record<string, string> | undefined
  /** A browser completes the request even if the page is closed. The `signal` of the client does not end it. */
  keepalive?: boolean | undefined
}

export type CreateOptions = RequestOptions & {
  /** The default is a new random key for each call. All attempts of a call have the same key. */
  idempotencyKey?: string | undefined
  /** The form that is sent. As long as the outcome is unknown, the same request has the same key in each call. */
  submission?: Submission | undefined
}

export type ChangeOptions = RequestOptions & {
  /** The ETag that the resource must still have. Without one, or with `null`, the change has no condition. */
  ifMatch?: string | null | undefined
}
