import type { Selectable } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { effectiveLimits } from '../keys/key.ts'
import type { KeyLimits, Limits, Plan } from '../keys/plans.ts'
import { ownLimits } from '../keys/queries.ts'
import {
  environmentOf,
  hashApiKey,
  isWellFormed,
  type KeyEnvironment,
  keyPrefixes,
  looksLikeApiKey,
} from './apiKey.ts'

/** What a request needs to know of its key. */
export type ApiKeyRecord = {
  readonly id: number
  readonly name: string
  readonly plan: Plan
  readonly limits: Limits
  readonly scopes: ReadonlySet<string>
  readonly origins: readonly string[]
  readonly environment: KeyEnvironment | undefined
  readonly expiresAt: number
  readonly secretExpiresAt: number
  readonly revokedAt: number | undefined
  readonly unbannedAt: number
}

/** What the store has of a key beyond what every request needs. */
type StoredKey = ApiKeyRecord & { readonly limits: KeyLimits }

type Lookup = { key: StoredKey } | { problem: string }

type KeyDirectoryOptions = {
  /** Asked before a key is refused: whether the store has just changed, so that the key has to be looked up again. */
  isStale?(token: string): Promise<boolean>
}

const keysKeptMax = 10_000
const never = Number.POSITIVE_INFINITY

/** A key as the store has it, with the end of the secret that it was found by. */
export type KeyRow = Pick<
  Selectable<Tables['api_keys']>,
  | 'id'
  | 'name'
  | 'plan'
  | 'per_minute'
  | 'per_day'
  | 'scopes'
  | 'origins'
  | 'expires_at'
  | 'revoked_at'
  | 'unbanned_at'
> & { secret_expires_at: number | null }

export function toApiKeyRecord(row: KeyRow, token: string): ApiKeyRecord {
  const plan = row.plan as Plan
  return {
    id: row.id,
    name: row.name,
    plan,
    limits: effectiveLimits({ plan, limits: ownLimits({ ...row, streams: null }) }),
    scopes: new Set(JSON.parse(row.scopes)),
    origins: JSON.parse(row.origins),
    environment: environmentOf(token),
    expiresAt: row.expires_at ?? never,
    secretExpiresAt: row.secret_expires_at ?? never,
    revokedAt: row.revoked_at ?? undefined,
    unbannedAt: row.unbanned_at,
  }
}

/**
 * Finds keys by their secret. What it finds is kept, by the secret as it was sent, so that a known key costs one look
 * into a map; a change of any key, here or by another process, empties it.
 */
export class ApiKeyCache {
  readonly #database: Database
  readonly #environment: KeyEnvironment
  readonly #known = new Map<string, StoredKey>()
  readonly #isStale: (token: string) => Promise<boolean>
  #origins: Promise<ReadonlySet<string>> | undefined
  /** The origins as they were last read, for while the store cannot be read. */
  #lastOrigins: ReadonlySet<string> | undefined
  #generation = 0

  constructor(database: Database, environment: KeyEnvironment, { isStale }: KeyDirectoryOptions = {}) {
    this.#database = database
    this.#environment = environment
    this.#isStale = isStale ?? (async () => false)
    database.onForeignChange(() => this.forget())
  }

  forget(): void {
    this.#generation++
    this.#known.clear()
    this.#origins = undefined
  }

  /** A key that was found before and can be used now. */
  known(token: string, now: number): ApiKeyRecord | undefined {
    const key = this.#known.get(token)
    return key && this.problemOf(key, now) === undefined ? key : undefined
  }

  async find(token: string, now: number): Promise<Lookup> {
    const found = await this.#find(token, now)
    return 'problem' in found && (await this.#isStale(token)) ? this.#find(token, now) : found
  }

  async #find(token: string, now: number): Promise<Lookup> {
    return this.#lookup(this.#known.get(token) ?? (await this.#load(token)), now)
  }

  /** The same, as the store has it now: what is remembered may be half a second old. */
  async findStored(token: string, now: number): Promise<Lookup> {
    return this.#lookup(await this.#load(token), now)
  }

  #lookup(key: StoredKey | undefined, now: number): Lookup {
    const problem = key ? this.problemOf(key, now) : this.unknown()
    return key && problem === undefined ? { key } : { problem: problem ?? this.unknown() }
  }

  /** Keys that the operator chose may be of any form, and then of any environment. */
  isOfThisEnvironment(environment: KeyEnvironment | undefined): boolean {
    return environment === undefined || environment === this.#environment
  }

  /** Why a key cannot be used, where it cannot. */
  problemOf(key: ApiKeyRecord, now: number): string | undefined {
    if (!this.isOfThisEnvironment(key.environment)) {
      return `This API key is of the ${key.environment} environment, and this is ${this.#environment}: use the other base address, or a key of this one.`
    }
    if (key.revokedAt !== undefined) return 'This API key has been revoked: ask the operator for a new one.'
    if (now >= key.expiresAt) return 'This API key has expired: ask the operator for a new one.'
    if (now >= key.secretExpiresAt) return 'This API key has been rotated: use the new secret.'
    return undefined
  }

  /** Whether any living key is locked to this origin. */
  async isKnownOrigin(origin: string): Promise<boolean> {
    this.#origins ??= this.#loadOrigins().catch((error: unknown) => {
      // A look that failed is not kept: the next one tries anew.
      this.#origins = undefined
      if (this.#lastOrigins) return this.#lastOrigins
      throw error
    })
    return (await this.#origins).has(origin)
  }

  async #load(token: string): Promise<StoredKey | undefined> {
    if (looksLikeApiKey(token) && !isWellFormed(token)) return undefined
    const generation = this.#generation
    const row = await this.#database.read
      .selectFrom('api_key_secrets')
      .innerJoin('api_keys', 'api_keys.id', 'api_key_secrets.key_id')
      .selectAll('api_keys')
      .select('api_key_secrets.expires_at as secret_expires_at')
      .where('hash', '=', hashApiKey(token))
      .executeTakeFirst()
    if (!row) return undefined
    const plan = row.plan as Plan
    const key = { ...toApiKeyRecord(row, token), limits: effectiveLimits({ plan, limits: ownLimits(row) }) }
    // What was read before a change must not outlive it.
    if (generation === this.#generation) {
      if (this.#known.size >= keysKeptMax) this.#known.delete(this.#known.keys().next().value as string)
      this.#known.set(token, key)
    }
    return key
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

  /** What to say of a key that does not exist. */
  unknown(): string {
    const prefix = keyPrefixes[this.#environment]
    return `This API key is not valid here: check that it is whole, and that it begins with ${prefix}, as the keys of this environment do.`
  }
}
