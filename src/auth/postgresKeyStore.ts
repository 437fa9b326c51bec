import type { PostgresRateLimiter } from '../limits/postgresRateLimiter.ts'
import { hashApiKey, isPossibleApiKey } from './apiKey.ts'
import { type ApiKeyCache, toApiKey } from './apiKeyCache.ts'
import type { KeyStore } from './keyStore.ts'
import type { KnownSecrets } from './knownSecrets.ts'

/** For instances that share a PostgreSQL database. */
export const postgresKeyStore = (
  cache: ApiKeyCache,
  limiter: PostgresRateLimiter,
  knownSecrets: KnownSecrets,
): KeyStore => ({
  async consume(token, credentials) {
    const { address } = credentials
    if (token === undefined || !isPossibleApiKey(token)) return limiter.consumeAddress(credentials)
    const secretHash = hashApiKey(token)
    const exists =
      knownSecrets.isKnown(secretHash) ||
      (await knownSecrets.lookUp(secretHash, limiter.isExhausted(address)))
    if (!exists) return limiter.consumeAddress(credentials)
    const isOtherEnvironment = cache.isOtherEnvironment(token)
    const { keyRow, ...result } = await limiter.consume({ ...credentials, secretHash, isOtherEnvironment })
    if (keyRow) return { ...result, key: toApiKey(keyRow.key_id as number, keyRow, token) }
    if (!result.isKeyUnchecked) knownSecrets.forget(secretHash)
    return result
  },
  async find(token) {
    const key = await cache.load(token)
    return key && cache.rejectionReason(key, limiter.now()) === undefined ? key : undefined
  },
})
