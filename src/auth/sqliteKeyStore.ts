import { type Credentials, isOriginAllowed } from '../api/authentication.ts'
import type { Clock } from '../clock.ts'
import type { SqliteRateLimiter } from '../limits/sqliteRateLimiter.ts'
import { chain } from '../maybePromise.ts'
import type { ApiKey, ApiKeyCache } from './apiKeyCache.ts'
import type { KeyStore } from './keyStore.ts'

/** For one instance with SQLite: cached keys, and counts in memory. */
export function sqliteKeyStore(cache: ApiKeyCache, limiter: SqliteRateLimiter, clock: Clock): KeyStore {
  function count(key: ApiKey | undefined, { address, origin, rateLimitExempt }: Credentials) {
    const now = clock()
    if (!key || cache.rejectionReason(key, now) !== undefined || !isOriginAllowed(key, origin))
      return { now, key, addressDecision: limiter.consumeAddress(address, now) }
    if (!rateLimitExempt) return chain(limiter.consume(key, now), (decision) => ({ now, key, decision }))
    return chain(limiter.peek(key, now), (decision) =>
      decision.outcome !== 'banned' && limiter.consumeExempt(key.id, now)
        ? { now, key, decision }
        : { now, key, decision, addressDecision: limiter.consumeAddress(address, now) },
    )
  }

  return {
    consume: (token, credentials) =>
      token === undefined
        ? count(undefined, credentials)
        : chain(cache.find(token, clock()), (key) => count(key, credentials)),
    find: (token) =>
      chain(cache.find(token, clock()), (key) =>
        key && cache.rejectionReason(key, clock()) === undefined ? key : undefined,
      ),
  }
}
