import { PostgresRateLimiter, type PostgresRateLimiterOptions } from '../limits/postgresRateLimiter.ts'
import { SqliteRateLimiter, type SqliteRateLimiterOptions } from '../limits/sqliteRateLimiter.ts'
import type { KeyEnvironment } from './apiKey.ts'
import { ApiKeyCache } from './apiKeyCache.ts'
import { type AuthenticatorOptions, createAuthenticator } from './authenticator.ts'
import { createKnownSecrets } from './knownSecrets.ts'
import { postgresKeyStore } from './postgresKeyStore.ts'
import { sqliteKeyStore } from './sqliteKeyStore.ts'

type AuthOptions = Pick<AuthenticatorOptions, 'whenStarted' | 'onBan'> &
  Pick<SqliteRateLimiterOptions, 'isSameDatabase'> &
  PostgresRateLimiterOptions & {
    readonly environment: KeyEnvironment
    /** One instance with SQLite counts in memory. Instances that share a database count in PostgreSQL. */
    readonly isSqlite: boolean
    isStale(token: string): Promise<boolean>
  }

/** Creates the authenticator for the engine of the database. */
export function createAuth(options: AuthOptions) {
  const { database, environment, clock, isSqlite, isStale } = options
  const cache = new ApiKeyCache(database, environment, isStale)
  const limiter = isSqlite ? new SqliteRateLimiter(options) : new PostgresRateLimiter(options)
  const keys =
    limiter instanceof SqliteRateLimiter
      ? sqliteKeyStore(cache, limiter, clock)
      : postgresKeyStore(cache, limiter, createKnownSecrets(database))
  return { cache, limiter, authenticator: createAuthenticator({ ...options, keys, cache, limiter }) }
}
