import { MemoryRateLimiter, type MemoryRateLimiterOptions } from '../limits/memoryRateLimiter.ts'
import { PostgresRateLimiter, type PostgresRateLimiterOptions } from '../limits/postgresRateLimiter.ts'
import type { KeyEnvironment } from './apiKey.ts'
import { ApiKeyCache } from './apiKeyCache.ts'
import { type AuthenticatorOptions, createAuthenticator } from './authenticator.ts'
import { embeddedKeyStore } from './embeddedKeyStore.ts'
import { postgresKeyStore } from './postgresKeyStore.ts'

type AuthOptions = Pick<AuthenticatorOptions, 'whenStarted' | 'onBan'> &
  Pick<MemoryRateLimiterOptions, 'isSameDatabase'> &
  PostgresRateLimiterOptions & {
    readonly environment: KeyEnvironment
    /** One instance with an embedded database counts in memory. Instances that share a database count in PostgreSQL. */
    readonly isEmbedded: boolean
    isStale(token: string): Promise<boolean>
  }

/** Creates the authenticator for the engine of the database. */
export function createAuth(options: AuthOptions) {
  const { database, environment, clock, isEmbedded, isStale } = options
  const cache = new ApiKeyCache(database, environment, isStale)
  const { limiter, keys } = isEmbedded ? embedded() : shared()
  return { cache, limiter, authenticator: createAuthenticator({ ...options, keys, cache, limiter }) }

  function embedded() {
    const limiter = new MemoryRateLimiter(options)
    return { limiter, keys: embeddedKeyStore(cache, limiter, clock) }
  }
  function shared() {
    const limiter = new PostgresRateLimiter(options)
    return { limiter, keys: postgresKeyStore(cache, limiter) }
  }
}
