import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { MemoryRateLimiter } from '../limits/memoryRateLimiter.ts'
import { PostgresRateLimiter } from '../limits/postgresRateLimiter.ts'
import type { KeyEnvironment } from './apiKey.ts'
import { ApiKeyCache } from './apiKeyCache.ts'
import { type AuthenticatorOptions, createAuthenticator } from './authenticator.ts'
import { embeddedKeyStore } from './embeddedKeyStore.ts'
import { postgresKeyStore } from './postgresKeyStore.ts'

type AuthOptions = Pick<AuthenticatorOptions, 'whenStarted' | 'onBan'> & {
  readonly database: Database
  readonly environment: KeyEnvironment
  readonly clock: Clock
  readonly limitClock: Clock | undefined
  readonly banAfterRejections: number
  /** One instance with an embedded database counts in memory. Instances that share a database count in PostgreSQL. */
  readonly isEmbedded: boolean
  isSameDatabase(db: Database['read']): Promise<boolean>
  isStale(token: string): Promise<boolean>
}

/** Creates the authenticator for the engine of the database. */
export function createAuth({ isEmbedded, isSameDatabase, limitClock, ...options }: AuthOptions) {
  const { database, environment, clock } = options
  const cache = new ApiKeyCache(database, environment, options.isStale)
  const { limiter, keys } = isEmbedded ? embedded() : shared()
  return { cache, limiter, authenticator: createAuthenticator({ ...options, keys, cache, limiter }) }

  function embedded() {
    const limiter = new MemoryRateLimiter({ ...options, isSameDatabase })
    return { limiter, keys: embeddedKeyStore(cache, limiter, clock) }
  }
  function shared() {
    const limiter = new PostgresRateLimiter({ ...options, limitClock })
    return { limiter, keys: postgresKeyStore(cache, limiter) }
  }
}
