import type { Kysely } from 'kysely'
import { addressGroup } from '../api/clientAddress.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import type { MaybePromise } from '../maybePromise.ts'
import { findUsage, type KeyUsage, putUsage } from './queries.ts'
import { isPublishable, type LimitedKey, type RateLimiter } from './rateLimiter.ts'
import { TransientLimiter } from './transientLimiter.ts'
import {
  addressLimits,
  advance,
  clearBan,
  consume,
  type Decision,
  decide,
  exemptLimits,
  isBanned,
  noUsage,
  recordRejection,
  type Usage,
} from './window.ts'

type Entry = { usage: Usage; lastUsedAt: number }

type MemoryRateLimiterOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly banAfterRejections: number
  readonly keysMax?: number
  /** Whether the database is still the one that was counted for: a restore replaces it. */
  readonly isSameDatabase?: (db: Kysely<Tables>) => Promise<boolean>
}

const defaultKeysMax = 100_000
const addressesMax = 100_000
const rowsPerWrite = 100

/**
 * The rate limiter of a single instance. Counts are exact, because one thread counts in memory. Counts of keys are
 * written to the database in the background. A key leaves memory only after its count is in the database, and is loaded
 * from there again, so an open window is never lost. Counts of addresses are never written.
 */
export class MemoryRateLimiter implements RateLimiter {
  readonly #database: Database
  readonly #clock: Clock
  readonly #banAfterRejections: number
  readonly #keysMax: number
  readonly #isSameDatabase: (db: Kysely<Tables>) => Promise<boolean>
  readonly #keys = new Map<number, Entry>()
  readonly #loading = new Map<number, Promise<void>>()
  /** Keys whose count has changed since it was written. */
  readonly #dirty = new Set<number>()
  readonly #addresses = new TransientLimiter<string>(addressLimits, addressesMax)
  readonly #exempt = new TransientLimiter<number>(exemptLimits, addressesMax)
  #flushing: Promise<void> = Promise.resolve()
  #nextFlush: Promise<void> | undefined

  constructor(options: MemoryRateLimiterOptions) {
    this.#database = options.database
    this.#clock = options.clock
    this.#banAfterRejections = options.banAfterRejections
    this.#keysMax = options.keysMax ?? defaultKeysMax
    this.#isSameDatabase = options.isSameDatabase ?? (async () => true)
  }

  /** Counts one request for a key. */
  consume(key: LimitedKey, now: number): MaybePromise<Decision> {
    return this.#withEntry(key.id, (entry) => {
      const { limits } = key
      const isBannable = !isPublishable(key)
      entry.lastUsedAt = now
      this.#dirty.add(key.id)
      entry.usage = advance(clearBan(entry.usage, key.unbannedAt), now)
      if (isBannable && isBanned(entry.usage, now)) return decide(entry.usage, limits, now, 'banned')
      const consumed = consume(entry.usage, limits, now)
      if (consumed) {
        entry.usage = consumed
        return decide(consumed, limits, now, 'admitted')
      }
      if (!isBannable) return decide(entry.usage, limits, now, 'limited')
      entry.usage = recordRejection(entry.usage, limits, now, this.#banAfterRejections)
      const isNewBan = isBanned(entry.usage, now)
      return decide(entry.usage, limits, now, isNewBan ? 'banned' : 'limited', isNewBan)
    })
  }

  /** The windows and ban of a key. Counts nothing. */
  peek(key: LimitedKey, now: number): MaybePromise<Decision> {
    return this.#withEntry(key.id, (entry) => {
      const usage = advance(clearBan(entry.usage, key.unbannedAt), now)
      const outcome = !isPublishable(key) && isBanned(usage, now) ? 'banned' : 'admitted'
      return decide(usage, key.limits, now, outcome)
    })
  }

  /** Counts one exempt request for a key. Returns false if its allowance of exempt requests is used up. */
  consumeExempt(keyId: number, now: number): boolean {
    return this.#exempt.consume(keyId, now).outcome === 'admitted'
  }

  consumeAddress(address: string, now: number): Decision {
    return this.#addresses.consume(addressGroup(address), now)
  }

  peekAddress(address: string) {
    const now = this.#clock()
    return { now, windows: this.#addresses.peek(addressGroup(address), now) }
  }

  forgetKeys(): void {
    this.#keys.clear()
    this.#dirty.clear()
  }

  async sweep(): Promise<void> {}

  /** One flush runs at a time, so an older count never overwrites a newer one. */
  flush(): Promise<void> {
    // Calls that arrive during a flush share the next one.
    this.#nextFlush ??= this.#flushing
      .catch(() => {})
      .then(() => {
        this.#nextFlush = undefined
        this.#flushing = this.#flushAll()
        return this.#flushing
      })
    return this.#nextFlush
  }

  /** Calls `use` in the same turn in which the entry is found: an entry held across an await may have been evicted. */
  #withEntry(id: number, use: (entry: Entry) => Decision): MaybePromise<Decision> {
    const entry = this.#keys.get(id)
    if (entry) return use(entry)
    return (this.#loading.get(id) ?? this.#load(id)).then(() => this.#withEntry(id, use))
  }

  #load(id: number): Promise<void> {
    const loading = findUsage(this.#database.read, id)
      .then((stored) => {
        this.#keys.set(id, { usage: stored?.usage ?? noUsage, lastUsedAt: stored?.lastUsedAt ?? 0 })
        if (this.#keys.size > this.#keysMax) this.#evict()
      })
      .finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return loading
  }

  /** Drops the older half of the entries, except those whose counts are not in the database yet. */
  #evict(): void {
    let left = this.#keysMax / 2
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
    const rows: KeyUsage[] = ids.flatMap((id) => {
      const entry = this.#keys.get(id)
      return entry ? [{ id, ...entry }] : []
    })
    const isWritten = await this.#database.write(async (trx) => {
      if (!(await this.#isSameDatabase(trx))) return false
      await putUsage(trx, rows)
      return true
    })
    if (!isWritten) return this.forgetKeys()
    // A key that was counted during the write stays dirty.
    for (const { id, usage } of rows) if (this.#keys.get(id)?.usage === usage) this.#dirty.delete(id)
  }
}
