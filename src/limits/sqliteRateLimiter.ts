import { addressGroup } from '../api/clientAddress.ts'
import type { Db } from '../database/db.ts'
import { SharedRun } from '../database/sharedRun.ts'
import type { MaybePromise } from '../maybePromise.ts'
import { findLimitState, type KeyLimitState, saveLimitStates } from './queries.ts'
import type { RateLimiter, RateLimiterOptions } from './rateLimiter.ts'
import { TransientLimiter } from './transientLimiter.ts'
import {
  addressLimits,
  countRequest,
  type Decision,
  emptyLimitState,
  exemptLimits,
  type LimitedKey,
  type LimitState,
  peekKey,
} from './window.ts'

type CountedKey = LimitedKey & { readonly id: number }
type Entry = { state: LimitState; lastUsedAt: number }

export type SqliteRateLimiterOptions = RateLimiterOptions & {
  readonly keysMax?: number
  /** Whether the database is still the one that was counted for: a restore replaces it. */
  readonly isSameDatabase?: (db: Db) => Promise<boolean>
}

const defaultKeysMax = 100_000
const addressesMax = 100_000
const rowsPerWrite = 100

/**
 * The rate limiter of a single instance. Counts are exact, because one thread counts in memory. Counts of keys are
 * written to the database in the background. A key leaves memory only after its count is in the database, and is loaded
 * from there again, so an open window is never lost. Counts of addresses are never written.
 */
export class SqliteRateLimiter implements RateLimiter {
  readonly #options: SqliteRateLimiterOptions
  readonly #keys = new Map<number, Entry>()
  readonly #loading = new Map<number, Promise<void>>()
  /** Keys whose count has changed since it was written. */
  readonly #dirty = new Set<number>()
  readonly #addresses = new TransientLimiter<string>(addressLimits, addressesMax)
  readonly #exempt = new TransientLimiter<number>(exemptLimits, addressesMax)
  readonly #flushes = new SharedRun(() => this.#flushAll())

  constructor(options: SqliteRateLimiterOptions) {
    this.#options = options
  }

  /** Counts one request for a key. */
  consume(key: CountedKey, now: number): MaybePromise<Decision> {
    return this.#withEntry(key.id, (entry) => {
      const { state, decision } = countRequest(entry.state, key, now, this.#options.banAfterRejections)
      entry.state = state
      entry.lastUsedAt = now
      this.#dirty.add(key.id)
      return decision
    })
  }

  /** The windows and the ban of a key. Counts nothing. */
  peek(key: CountedKey, now: number): MaybePromise<Decision> {
    return this.#withEntry(key.id, ({ state }) => peekKey(state, key, now))
  }

  /** Counts one exempt request for a key. Returns false if its allowance of exempt requests is used up. */
  consumeExempt(keyId: number, now: number): boolean {
    return this.#exempt.consume(keyId, now).outcome === 'admitted'
  }

  consumeAddress(address: string, now: number): Decision {
    return this.#addresses.consume(addressGroup(address), now)
  }

  peekAddress(address: string) {
    const now = this.#options.clock()
    return { now, windows: this.#addresses.peek(addressGroup(address), now) }
  }

  forgetKeys(): void {
    this.#keys.clear()
    this.#dirty.clear()
  }

  async sweep(): Promise<void> {}

  /** One flush runs at a time, so an older count never overwrites a newer one. */
  flush(): Promise<void> {
    return this.#flushes.run()
  }

  /** Calls `use` in the same turn in which the entry is found: an entry held across an await may have been evicted. */
  #withEntry(id: number, use: (entry: Entry) => Decision): MaybePromise<Decision> {
    const entry = this.#keys.get(id)
    if (entry) return use(entry)
    return (this.#loading.get(id) ?? this.#load(id)).then(() => this.#withEntry(id, use))
  }

  #load(id: number): Promise<void> {
    const loading = findLimitState(this.#options.database.read, id)
      .then((stored) => {
        this.#keys.set(id, { state: stored?.state ?? emptyLimitState, lastUsedAt: stored?.lastUsedAt ?? 0 })
        const keysMax = this.#options.keysMax ?? defaultKeysMax
        if (this.#keys.size > keysMax) this.#evict(keysMax / 2)
      })
      .finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return loading
  }

  /** Drops the oldest entries, except those whose counts are not in the database yet. */
  #evict(count: number): void {
    let left = count
    for (const id of this.#keys.keys()) {
      if (left-- <= 0) return
      if (!this.#dirty.has(id)) this.#keys.delete(id)
    }
  }

  async #flushAll(): Promise<void> {
    const ids = [...this.#dirty]
    for (let start = 0; start < ids.length; start += rowsPerWrite) {
      await this.#flushSome(ids.slice(start, start + rowsPerWrite))
    }
  }

  async #flushSome(ids: readonly number[]): Promise<void> {
    const rows: KeyLimitState[] = ids.flatMap((id) => {
      const entry = this.#keys.get(id)
      return entry ? [{ id, ...entry }] : []
    })
    const { database, isSameDatabase } = this.#options
    const isWritten = await database.write(async (trx) => {
      if (isSameDatabase && !(await isSameDatabase(trx))) return false
      await saveLimitStates(trx, rows)
      return true
    })
    if (!isWritten) return this.forgetKeys()
    // A key that was counted during the write stays dirty.
    for (const { id, state } of rows) if (this.#keys.get(id)?.state === state) this.#dirty.delete(id)
  }
}
