import type { Database } from '../database/database.ts'
import { BoundedMap } from '../limits/boundedMap.ts'
import { effectiveLimits, type Plan } from '../limits/plans.ts'
import type { KeyColumns } from '../limits/postgresQueries.ts'
import type { MaybePromise } from '../maybePromise.ts'
import { environmentOf, hashApiKey, isPossibleApiKey, type KeyEnvironment, keyPrefixes } from './apiKey.ts'

const keysMax = 10_000
const never = Number.POSITIVE_INFINITY

/** What a request needs to know about its key. */
export type ApiKey = Readonly<ReturnType<typeof toApiKey>>

export function toApiKey(id: number, row: KeyColumns, token: string) {
  const plan = row.plan as Plan
  return {
    id,
    name: row.name,
    plan,
    limits: effectiveLimits(plan, { perMinute: row.per_minute, perDay: row.per_day }),
    scopes: new Set(JSON.parse(row.scopes)) as ReadonlySet<string>,
    origins: JSON.parse(row.origins) as readonly string[],
    /** Undefined for a key that the operator chose: it has any form and is valid in any environment. */
    environment: environmentOf(token),
    expiresAt: row.expires_at ?? never,
    secretExpiresAt: row.secret_expires_at ?? never,
    revokedAt: row.revoked_at ?? undefined,
    unbannedAt: row.unbanned_at,
  }
}

type StoredApiKey = ApiKey & { readonly streamsMax: number }

/** Finds keys by token and caches them. A change of any key, in this process or another, clears the cache. */
export class ApiKeyCache {
  readonly #database: Database
  readonly #environment: KeyEnvironment
  readonly #isStale: (token: string) => Promise<boolean>
  readonly #keys = new BoundedMap<string, StoredApiKey>(keysMax)
  #origins: Promise<ReadonlySet<string>> | undefined
  /** The origins that were read last, for while the database cannot be read. */
  #lastOrigins: ReadonlySet<string> | undefined
  #generation = 0

  /**
   * `isStale` is called before a key is rejected. If it returns true, the database has just changed and the key is looked
   * up again.
   */
  constructor(
    database: Database,
    environment: KeyEnvironment,
    isStale = async (_token: string): Promise<boolean> => false,
  ) {
    this.#database = database
    this.#environment = environment
    this.#isStale = isStale
    database.onExternalChange(() => this.invalidate())
  }

  invalidate(): void {
    this.#generation++
    this.#keys.clear()
    this.#origins = undefined
  }

  /** The key of a token, usable or not. Synchronous for a usable key in the cache, to avoid allocating a promise. */
  find(token: string, now: number): MaybePromise<ApiKey | undefined> {
    const key = this.#keys.get(token)
    return key && this.rejectionReason(key, now) === undefined ? key : this.#find(token, now)
  }

  /** The key of a token as it is in the database now. */
  async load(token: string): Promise<StoredApiKey | undefined> {
    if (!isPossibleApiKey(token)) return undefined
    const generation = this.#generation
    const row = await this.#database.read
      .selectFrom('api_key_secrets')
      .innerJoin('api_keys', 'api_keys.id', 'api_key_secrets.key_id')
      .selectAll('api_keys')
      .select('api_key_secrets.expires_at as secret_expires_at')
      .where('hash', '=', hashApiKey(token))
      .executeTakeFirst()
    if (!row) return undefined
    const { streams } = effectiveLimits(row.plan as Plan, { streams: row.streams })
    const key = { ...toApiKey(row.id, row, token), streamsMax: streams }
    // A key that was read before a change must not be cached after it.
    if (generation === this.#generation) this.#keys.set(token, key)
    return key
  }

  /** Why a key cannot be used; undefined if it can. */
  rejectionReason(key: ApiKey | undefined, now: number): string | undefined {
    const environment = this.#environment
    if (!key)
      return `This API key is not valid. Check that it is complete and starts with ${keyPrefixes[environment]}.`
    if (key.environment !== undefined && key.environment !== environment)
      return `This API key belongs to the ${key.environment} environment. Use a ${environment} key, or the base URL of ${key.environment}.`
    if (key.revokedAt !== undefined) return 'This API key has been revoked. Ask the operator for a new one.'
    if (now >= key.expiresAt) return 'This API key has expired. Ask the operator for a new one.'
    if (now >= key.secretExpiresAt) return 'This API key has been rotated. Use the new secret.'
    return undefined
  }

  isOtherEnvironment(token: string): boolean {
    const environment = environmentOf(token)
    return environment !== undefined && environment !== this.#environment
  }

  /** Whether any key that is not revoked has this origin. */
  async isKnownOrigin(origin: string): Promise<boolean> {
    this.#origins ??= this.#loadOrigins().catch((error: unknown) => {
      // A failure is not cached: the next call tries again.
      this.#origins = undefined
      if (this.#lastOrigins) return this.#lastOrigins
      throw error
    })
    return (await this.#origins).has(origin)
  }

  async #find(token: string, now: number): Promise<ApiKey | undefined> {
    const key = this.#keys.get(token) ?? (await this.load(token))
    const isRejected = this.rejectionReason(key, now) !== undefined
    return isRejected && (await this.#isStale(token)) ? this.load(token) : key
  }

  async #loadOrigins(): Promise<ReadonlySet<string>> {
    const rows = await this.#database.read
      .selectFrom('api_keys')
      .select('origins')
      .distinct()
      .where('origins', '<>', '[]')
      .where('revoked_at', 'is', null)
      .execute()
    this.#lastOrigins = new Set(rows.flatMap((row) => JSON.parse(row.origins) as string[]))
    return this.#lastOrigins
  }
}
