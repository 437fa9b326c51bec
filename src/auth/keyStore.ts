import type { Credentials } from '../api/authentication.ts'
import type { RateLimitResult } from '../limits/rateLimiter.ts'
import type { MaybePromise } from '../maybePromise.ts'
import type { ApiKey } from './apiKeyCache.ts'

/** The key of the token, usable or not, and the decisions on the request. */
export type KeyResult = RateLimitResult & { readonly key?: ApiKey | undefined }

/** Finds keys and counts requests. Both are one operation, because PostgreSQL does both in one statement. */
export type KeyStore = {
  /**
   * Finds the key of a token and counts the request for it, or for the client's address if the key is not usable. A
   * request that is rate limit exempt is counted for its address if the key is banned or has no exempt requests left.
   * Counts are exact under concurrency.
   */
  consume(token: string | undefined, credentials: Credentials): MaybePromise<KeyResult>
  /** The key of a token, if it is not revoked or expired. Counts nothing. */
  find(token: string): MaybePromise<ApiKey | undefined>
}
