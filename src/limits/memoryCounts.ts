import type { Kysely } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import type { Limits } from '../keys/plans.ts'
import { findUsage, type KeyUsage, putUsage } from './queries.ts'
import type { Decision, Outcome } from './rateLimiter.ts'
import { advance, clearBan, consume, isBanned, noUsage, refuse, type Usage, windowsOf } from './window.ts'

type Entry = { usage: Usage; lastUsedAt: number }

/** How many of each stay in memory. */
export type Bounds = { readonly keysMax: number; readonly addressesMax: number }

/** Whether the store is still the one that the counts are of: a restore may have put another in its place. */
type IsSameStore = (db: Kysely<Tables>) => Promise<boolean>

const usualBounds: Bounds = { keysMax: 100_000, addressesMax: 100_000 }
const rowsPerWrite = 100

/**
 * The limiter of a single instance. Counting happens here, in one thread and hence exactly; the counts of keys are
 * written behind. A key that has not been seen for a while leaves the memory only once it is in the store, and comes
 * back from there: an open window is never forgotten. Addresses are many and anonymous: of those the least recently
 * seen are forgotten beyond a bound.
 */
export class MemoryCounts {
  readonly #database: Database
  readonly #banAfterRefusals: number
  readonly #bounds: Bounds
  readonly #isSameStore: IsSameStore
  readonly #keys = new Map<number, Entry>()
  readonly #loading = new Map<number, Promise<void>>()
  readonly #addresses = new Map<string, Usage>()
  readonly #dirty = new Set<number>()
  #flushing: Promise<void> = Promise.resolve()
  #nextFlush: Promise<void> | undefined

  constructor(
    database: Database,
    banAfterRefusals: number,
    bounds = usualBounds,
    isSameStore: IsSameStore = async () => true,
  ) {
    this.#database = database
    this.#banAfterRefusals = banAfterRefusals
    this.#bounds = bounds
    this.#isSameStore = isSameStore
  }

  admitKey(
    id: number,
    limits: Limits,
    unbannedAt: number,
    now: number,
    isBannable = true,
  ): Decision | Promise<Decision> {
    return this.#withEntry(id, (entry) => {
      entry.lastUsedAt = now
      const before = advance(clearBan(entry.usage, unbannedAt), now)
      if (isBannable && isBanned(before, now)) return this.#decide(id, entry, before, limits, now, 'banned')
      const taken = consume(before, limits, now)
      if (taken) return this.#decide(id, entry, taken, limits, now, 'admitted')
      if (!isBannable) return this.#decide(id, entry, before, limits, now, 'limited')
      const refused = refuse(before, limits, now, this.#banAfterRefusals)
      const isNewBan = isBanned(refused, now)
      const decided = this.#decide(id, entry, refused, limits, now, isNewBan ? 'banned' : 'limited')
      return { ...decided, isNewBan }
    })
  }

  lookAtKey(
    id: number,
    limits: Limits,
    unbannedAt: number,
    now: number,
    isBannable = true,
  ): Decision | Promise<Decision> {
    return this.#withEntry(id, (entry) => {
      const usage = advance(clearBan(entry.usage, unbannedAt), now)
      return decision(usage, limits, now, isBannable && isBanned(usage, now) ? 'banned' : 'admitted')
    })
  }

  /** Counts for an address, or for anything else that has windows but no row in the store. */
  admitAddress(address: string, limits: Limits, now: number): Decision {
    const before = this.#usageOfAddress(address, now)
    const taken = consume(before, limits, now)
    // Set anew, so that the order of the map is the order of use.
    this.#addresses.delete(address)
    this.#addresses.set(address, taken ?? before)
    if (this.#addresses.size > this.#bounds.addressesMax)
      this.#addresses.delete(this.#addresses.keys().next().value as string)
    return decision(taken ?? before, limits, now, taken ? 'admitted' : 'limited')
  }

  lookAtAddress(address: string, limits: Limits, now: number): Decision {
    return decision(this.#usageOfAddress(address, now), limits, now, 'admitted')
  }

  /** Forgets the counts of all keys: the store is another one, and what it says of them holds. */
  forgetKeys(): void {
    this.#keys.clear()
    this.#dirty.clear()
  }

  /** Writes what has changed to the store. One at a time, so that an older count never follows a newer one. */
  flush(): Promise<void> {
    // All who ask while one is under way share the next.
    this.#nextFlush ??= this.#flushing
      .catch(() => {})
      .then(() => {
        this.#nextFlush = undefined
        this.#flushing = this.#flushAll()
        return this.#flushing
      })
    return this.#nextFlush
  }

  #usageOfAddress(address: string, now: number): Usage {
    return advance(this.#addresses.get(address) ?? noUsage, now)
  }

  /**
   * Calls back with the key's entry while it is surely the one in memory: whoever held an entry over a wait could
   * find it evicted and loaded anew by another, and would count where nobody looks.
   */
  #withEntry(id: number, use: (entry: Entry) => Decision): Decision | Promise<Decision> {
    const entry = this.#keys.get(id)
    if (entry) return use(entry)
    return (this.#loading.get(id) ?? this.#load(id)).then(() => this.#withEntry(id, use))
  }

  #decide(id: number, entry: Entry, usage: Usage, limits: Limits, now: number, outcome: Outcome): Decision {
    entry.usage = usage
    this.#dirty.add(id)
    return decision(usage, limits, now, outcome)
  }

  #load(id: number): Promise<void> {
    const loading = findUsage(this.#database.read, id)
      .then((stored) => {
        this.#keys.set(id, { usage: stored?.usage ?? noUsage, lastUsedAt: stored?.lastUsedAt ?? 0 })
        if (this.#keys.size > this.#bounds.keysMax) this.#evict()
      })
      .finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return loading
  }

  /** Drops the half of the entries that came first, save those whose counts are not in the store yet. */
  #evict(): void {
    let left = this.#bounds.keysMax / 2
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
      return entry ? [{ id, usage: entry.usage, lastUsedAt: entry.lastUsedAt }] : []
    })
    const isWritten = await this.#database.write(async (trx) => {
      if (!(await this.#isSameStore(trx))) return false
      await putUsage(trx, rows)
      return true
    })
    if (!isWritten) return this.forgetKeys()
    // What was counted while the store was writing is for the next time.
    for (const { id, usage } of rows) if (this.#keys.get(id)?.usage === usage) this.#dirty.delete(id)
  }
}

const decision = (usage: Usage, limits: Limits, now: number, outcome: Outcome): Decision => ({
  outcome,
  windows: windowsOf(usage, limits, now),
  bannedUntil: outcome === 'banned' ? usage.bannedUntil : 0,
  isNewBan: false,
})
