import { type Credentials, isOriginAllowed } from '../api/authentication.ts'
import { addressGroup } from '../api/clientAddress.ts'
import type { Clock } from '../clock.ts'
import { Batcher } from '../database/batcher.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { BoundedMap } from './boundedMap.ts'
import {
  type AddressRow,
  type AdmitRow,
  addressDecisionAt,
  addressState,
  admitAddress,
  admitRequests,
  decisionAt,
  deleteExpiredAddresses,
  deleteRowsMax,
} from './postgresQueries.ts'
import type { RateLimiter, RateLimiterOptions, RateLimitResult } from './rateLimiter.ts'
import {
  addressLimits,
  advance,
  currentWindows,
  emptyLimitState,
  type LimitState,
  minuteMs,
  toDecision,
} from './window.ts'

const cachedMax = 10_000
const secretBounds = { batchMax: 1_000, batchesMax: 2 }
/** All batches of an address lock the same row. */
const addressBounds = { batchMax: 1_000, batchesMax: 1 }

export type PostgresRateLimiterOptions = RateLimiterOptions & {
  /** Replaces the clock of the database. */
  readonly limitClock: Clock | undefined
}

type CountedCaller = Pick<Credentials, 'address' | 'isChange'>
type HashedRequest = Credentials & {
  readonly secretHash: string
  /** The secret belongs to another environment, so its key is not usable here. */
  readonly isOtherEnvironment: boolean
}

type AddressResult = Required<Pick<RateLimitResult, 'now' | 'addressDecision'>>

/** `keyRow` is the key of the secret, usable or not. */
type PostgresResult = RateLimitResult & { readonly keyRow?: AdmitRow }

/**
 * The rate limiter of instances that share a PostgreSQL database. One statement finds the key and counts, by the clock
 * of the database. Keys are not cached, so a change of a key takes effect immediately on every instance.
 */
export class PostgresRateLimiter implements RateLimiter {
  readonly #options: PostgresRateLimiterOptions
  readonly #addresses = new BoundedMap<string, LimitState>(cachedMax)
  /** By the hash of the secret. */
  readonly #exemptUsedUpUntil = new BoundedMap<string, number>(cachedMax)
  readonly #batcher = new Batcher(
    (batch: readonly HashedRequest[]) => this.#consumeBatch(batch),
    secretBounds,
  )
  readonly #addressBatcher = new Batcher(
    (batch: readonly string[]) => this.#consumeAddressBatch(batch),
    addressBounds,
  )
  readonly addressWaiters = { read: 0, write: 0 }
  /** How far the clock of the database is ahead of the local clock, as of the last response. */
  #clockOffsetMs = 0

  constructor(options: PostgresRateLimiterOptions) {
    this.#options = options
  }

  /** The time by the clock of the database, as far as it is known here. */
  now(): number {
    return this.#options.clock() + this.#clockOffsetMs
  }

  /** Counts a request without a key, or with an unknown or malformed one, for its address. */
  async consumeAddress({ address, isChange }: CountedCaller): Promise<AddressResult> {
    const group = addressGroup(address)
    const rejected = this.#rejectFromCache(group)
    if (rejected) return rejected
    const lane = isChange ? 'write' : 'read'
    this.addressWaiters[lane]++
    try {
      return await this.#addressBatcher.add(group, group)
    } finally {
      this.addressWaiters[lane]--
    }
  }

  /** Whether an address is known to have no requests left. */
  isExhausted(address: string): boolean {
    return this.#rejectFromCache(addressGroup(address)) !== undefined
  }

  /** Finds the key and counts the request for it, or for its address if the key is not usable. */
  async consume(request: HashedRequest): Promise<PostgresResult> {
    const { secretHash, rateLimitExempt } = request
    if (rateLimitExempt && this.#isExemptUsedUp(secretHash)) {
      const rejected = this.#rejectFromCache(addressGroup(request.address))
      if (rejected) return { ...rejected, isKeyUnchecked: true }
    }
    return this.#batcher.add(request, `${rateLimitExempt} ${secretHash}`)
  }

  peekAddress(address: string) {
    const now = this.now()
    const state = advance(this.#addresses.get(addressGroup(address)) ?? emptyLimitState, now)
    return { now, windows: currentWindows(state, addressLimits, now) }
  }

  async flush(): Promise<void> {}

  async sweep(signal?: AbortSignal): Promise<void> {
    const { database, limitClock } = this.#options
    const deleteSome = () => database.writeUnlogged((trx) => deleteExpiredAddresses(trx, limitClock?.()))
    while (!signal?.aborted && (await deleteSome()) >= deleteRowsMax);
  }

  forgetKeys(): void {}

  /** All requests of a batch have the same key, and all are exempt or none is. */
  async #consumeBatch(batch: readonly HashedRequest[]): Promise<MaybePromise<PostgresResult>[]> {
    const { database, clock, limitClock, banAfterRejections } = this.#options
    const [{ secretHash, isOtherEnvironment, rateLimitExempt, address }] = batch as [HashedRequest]
    const sentOrigins = batch.flatMap(({ origin }) => origin ?? [])
    // The address of a single request is counted with it, if the request is not counted for the key. Counting an address
    // locks its row, so one that has no requests left is not counted.
    const group = addressGroup(address)
    const countedGroup = batch.length === 1 && !this.#rejectFromCache(group) ? group : undefined
    const [row] = await admitRequests(
      database.read,
      secretHash,
      isOtherEnvironment,
      batch.length,
      sentOrigins.length > 0 ? sentOrigins : null,
      rateLimitExempt,
      countedGroup ?? null,
      banAfterRejections,
      limitClock?.() ?? null,
    )
    if (!row) throw new Error('Invariant violated: admit_1 returned no row.')
    this.#clockOffsetMs = row.at - clock()
    if (row.free_used_up_until > 0) this.#exemptUsedUpUntil.set(secretHash, row.free_used_up_until)
    const origins: string[] = row.key_id === null ? [] : JSON.parse(row.origins)
    let index = 0
    return batch.map((request) => {
      const isCounted = row.admitted !== null && isOriginAllowed({ origins }, request.origin)
      return this.#result(row, request, isCounted ? index++ : undefined, countedGroup)
    })
  }

  /** All requests of a batch have the same address. */
  async #consumeAddressBatch(batch: readonly string[]): Promise<AddressResult[]> {
    const [group = ''] = batch
    // The batch before may have used up the address.
    const rejected = this.#rejectFromCache(group)
    if (rejected) return batch.map(() => rejected)
    const { database, clock, limitClock } = this.#options
    const [row] = await admitAddress(database.unknownCallerDb, group, batch.length, limitClock?.() ?? null)
    if (!row) throw new Error('Invariant violated: admit_address_1 returned no row.')
    this.#clockOffsetMs = row.at - clock()
    return batch.map((_, index) => this.#addressResult(row, group, index))
  }

  #result(
    row: AdmitRow,
    request: HashedRequest,
    index: number | undefined,
    /** The group of the address, if the request was counted for it. */
    countedGroup: string | undefined,
  ): MaybePromise<PostgresResult> {
    const { rateLimitExempt } = request
    const result = {
      now: row.at,
      ...(row.key_id !== null && { keyRow: row }),
      decision: index === undefined ? undefined : decisionAt(row, rateLimitExempt ? 0 : index),
      databaseVersion: row.database_version,
    }
    if (index !== undefined && (!rateLimitExempt || index < row.free)) return result
    const counted =
      countedGroup === undefined ? this.consumeAddress(request) : this.#addressResult(row, countedGroup, 0)
    return chain<AddressResult, PostgresResult>(counted, (byAddress) => ({ ...result, ...byAddress }))
  }

  #addressResult(row: AddressRow, address: string, index: number): AddressResult {
    const state = addressState(row)
    // Results of concurrent calls can arrive out of order. Within one window the highest count is the newest.
    const cached = this.#addresses.get(address)
    const isOlder = cached?.minute_ends_at === state.minute_ends_at && cached.minute_used > state.minute_used
    if (!isOlder) this.#addresses.set(address, state)
    return { now: row.at, addressDecision: addressDecisionAt(row, index) }
  }

  /** Rejects without a round trip if the address is known to have no requests left. */
  #rejectFromCache(address: string): AddressResult | undefined {
    const now = this.now()
    const state = this.#addresses.get(address)
    // If a clock was set back, the database has to decide.
    if (!state || advance(state, now) !== state) return undefined
    const addressDecision = toDecision(state, addressLimits, now, 'limited')
    const { minute, day } = addressDecision.windows
    return minute.remaining === 0 || day.remaining === 0 ? { now, addressDecision } : undefined
  }

  #isExemptUsedUp(secretHash: string): boolean {
    const leftMs = (this.#exemptUsedUpUntil.get(secretHash) ?? 0) - this.now()
    return leftMs > 0 && leftMs <= minuteMs
  }
}
