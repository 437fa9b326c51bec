import { MemoryRateLimiter, type MemoryRateLimiterOptions } from '../limits/memoryRateLimiter.ts'
import { PostgresRateLimiter, type PostgresRateLimiterOptions } from '../limits/postgresRateLimiter.ts'
import type { KeyEnvironment } from './apiKey.ts'
import { ApiKeyCache } from './apiKeyCache.ts'
import { type AuthenticatorOptions, createAuthenticator } from './authenticator.ts'
import { embeddedKeyStore } from './embeddedKeyStore.ts'
import { KnownSecrets } from './knownSecrets.ts'
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
  const limiter = isEmbedded ? new MemoryRateLimiter(options) : new PostgresRateLimiter(options)
  const keys =
    limiter instanceof MemoryRateLimiter
      ? embeddedKeyStore(cache, limiter, clock)
      : postgresKeyStore(cache, limiter, new KnownSecrets(database))
  return { cache, limiter, authenticator: createAuthenticator({ ...options, keys, cache, limiter }) }
}
