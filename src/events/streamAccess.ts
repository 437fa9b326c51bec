import { ApiError, apiErrors } from '../api/errors.ts'
import type { ApiKeyCache } from '../auth/apiKeyCache.ts'
import type { Clock } from '../clock.ts'
import { SharedRun } from '../database/sharedRun.ts'
import { eventsScope, privateEventsScope } from './event.ts'
import { eventErrors } from './schemas.ts'

const tooManyStreamsRetrySeconds = '5'

/** What an API key allows a stream at this time. */
export type StreamAccess = {
  readonly keyId: number
  readonly scopes: ReadonlySet<string>
  /** When the key, or the secret that was sent, expires. */
  readonly endsAt: number
  /** The maximum number of open streams per instance. */
  readonly streamsMax: number
}

/** Reads the access of a token from the database. Undefined if the token is not valid. */
export type FindStreamAccess = (token: string) => Promise<StreamAccess | undefined>

/** The current access of one token, shared by all streams that were opened with it. */
export class TokenAccess {
  readonly keyId: number
  readonly token: string
  readonly #reads: SharedRun<void>
  #current: StreamAccess | undefined
  streams = 0

  constructor(token: string, current: StreamAccess, find: FindStreamAccess) {
    this.keyId = current.keyId
    this.token = token
    this.#current = current
    this.#reads = new SharedRun(async () => {
      this.#current = await find(token)
    })
  }

  refresh(): Promise<void> {
    return this.#reads.run()
  }

  isAllowed(now: number): boolean {
    return this.#current?.scopes.has(eventsScope) === true && now < this.#current.endsAt
  }

  get includesPrivate(): boolean {
    return this.#current?.scopes.has(privateEventsScope) === true
  }
}

/** The access of every token that has open streams, and the number of these streams. */
export class TokenAccessRegistry {
  readonly #find: FindStreamAccess
  readonly #streamsMax: number
  readonly #byToken = new Map<string, TokenAccess>()

  constructor(find: FindStreamAccess, streamsMax: number) {
    this.#find = find
    this.#streamsMax = streamsMax
  }

  /** Counts a new stream. Throws if the token is no longer valid or a limit is reached. */
  async acquire(token: string): Promise<TokenAccess> {
    const current = await this.#find(token)
    if (!current)
      throw new ApiError(apiErrors.invalid_api_key, 'This API key expired or was revoked during the request.')
    this.#checkLimits(current)
    const access = this.#byToken.get(token) ?? new TokenAccess(token, current, this.#find)
    access.streams++
    this.#byToken.set(token, access)
    return access
  }

  release(access: TokenAccess): void {
    access.streams--
    if (access.streams === 0) this.#byToken.delete(access.token)
  }

  #checkLimits({ keyId, streamsMax }: StreamAccess): void {
    const headers = { 'Retry-After': tooManyStreamsRetrySeconds }
    const accesses = [...this.#byToken.values()]
    if (countStreams(accesses.filter((access) => access.keyId === keyId)) >= streamsMax) {
      const message = `This API key has reached its limit of ${streamsMax} open event streams: close one, or share one stream.`
      throw new ApiError(eventErrors.too_many_streams, message, { headers })
    }
    if (countStreams(accesses) >= this.#streamsMax)
      throw new ApiError(apiErrors.unavailable, undefined, { headers })
  }

  async refreshKeys(keyIds: ReadonlySet<number>): Promise<void> {
    for (const access of [...this.#byToken.values()]) if (keyIds.has(access.keyId)) await access.refresh()
  }
}

const countStreams = (accesses: readonly TokenAccess[]): number =>
  accesses.reduce((count, { streams }) => count + streams, 0)

/** Reads the key from the database, so a stream ends soon after its key changes. */
export const createFindStreamAccess =
  (cache: ApiKeyCache, clock: Clock): FindStreamAccess =>
  async (token) => {
    const key = await cache.load(token)
    if (!key || cache.rejectionReason(key, clock()) !== undefined) return undefined
    const { id: keyId, scopes, expiresAt, secretExpiresAt, streamsMax } = key
    return { keyId, scopes, endsAt: Math.min(expiresAt, secretExpiresAt), streamsMax }
  }
