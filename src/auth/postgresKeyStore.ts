import type { PostgresRateLimiter } from '../limits/postgresRateLimiter.ts'
import { hashApiKey, isPossibleApiKey } from './apiKey.ts'
import { type ApiKeyCache, toApiKey } from './apiKeyCache.ts'
import type { KeyStore } from './keyStore.ts'

/** For instances that share a PostgreSQL database. */
export const postgresKeyStore = (cache: ApiKeyCache, limiter: PostgresRateLimiter): KeyStore => ({
  async consume(token, credentials) {
    if (token === undefined || !isPossibleApiKey(token)) return limiter.consumeAddress(credentials.address)
    const { keyRow, ...result } = await limiter.consume({
      ...credentials,
      secretHash: hashApiKey(token),
      isOtherEnvironment: cache.isOtherEnvironment(token),
    })
    if (!keyRow) return result
    return { ...result, key: toApiKey(keyRow.key_id as number, keyRow, token) }
  },
  async find(token) {
    const key = await cache.load(token)
    return key && cache.rejectionReason(key, limiter.now()) === undefined ? key : undefined
  },
})
