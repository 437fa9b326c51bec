import type { RequestLog } from '../api/authentication.ts'
import type { Clock } from '../clock.ts'
import { type Database, OutcomeUnknownError } from '../database/database.ts'
import type { Db } from '../database/db.ts'
import { SharedRun } from '../database/sharedRun.ts'
import { addUsage } from './queries.ts'
import { buckets, isRejection, totalsKeyId, type UsageRow } from './usage.ts'

type UsageCounterOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly flushIntervalMs: number
  /** Reads of the figures write them at most this often. */
  readonly readFlushIntervalMs: number
  /** Whether the database is still the one that was counted for: a restore replaces it. */
  isSameDatabase(db: Db): Promise<boolean>
  /** Keys and minutes between two flushes. */
  readonly entriesMax?: number
}

/** Keys beyond this number between two flushes are counted in the total only. */
const defaultEntriesMax = 10_000
/** Counts that wait for a database that cannot be written. Beyond that the oldest are dropped. */
const unwrittenMax = 100_000
const rowsPerWrite = 500

/** The requests of one key in one minute. */
type Counts = { requests: number; others: Map<string, number> | undefined }
/** The key `totalsKeyId` has the requests without a valid key. */
type Minute = { readonly startsAt: number; readonly countsByKey: Map<number, Counts> }

/**
 * Counts requests by key and minute in memory, and adds the counts to the database at an interval: no request writes.
 * The counts of all instances add up. A crash loses those since the last flush.
 */
export class UsageCounter {
  readonly #options: UsageCounterOptions
  /** Since the last flush, the current one last. */
  #minutes: Minute[] = []
  /** By their key in the table. */
  readonly #unwritten = new Map<string, UsageRow>()
  readonly #flushes = new SharedRun(() => this.#flushAll())
  #flushedAt = performance.now()

  constructor(options: UsageCounterOptions) {
    this.#options = options
  }

  /** Counts a request to the API, except a CORS preflight. */
  count({ method, page, principal, status, code, operation }: RequestLog): void {
    if (method === 'OPTIONS' || page) return
    const counts = this.#countsOf(principal?.keyId ?? totalsKeyId)
    counts.requests++
    if (status >= 500) counts.others = increment(counts.others, 'errors')
    else if (code !== undefined && isRejection(status))
      counts.others = increment(counts.others, `rejected.${code}`)
    if (operation?.deprecation) counts.others = increment(counts.others, `deprecated.${operation.id}`)
  }

  /** Flushes if the interval has passed. */
  async flushDue(): Promise<void> {
    if (performance.now() - this.#flushedAt >= this.#options.flushIntervalMs) await this.flush()
  }

  /** Flushes before the figures are read, so that they include the latest counts. If that fails, they are older. */
  async flushForRead(): Promise<void> {
    const isDue = performance.now() - this.#flushedAt >= this.#options.readFlushIntervalMs
    if (isDue) await this.flush().catch(() => {})
  }

  /** Writes all counts so far. */
  flush(): Promise<void> {
    return this.#flushes.run()
  }

  /** Drops the counts that are not written yet, because the database was replaced. */
  forget(): void {
    this.#minutes = []
    this.#unwritten.clear()
  }

  #countsOf(keyId: number): Counts {
    const { clock, entriesMax = defaultEntriesMax } = this.#options
    const { lengthMs } = buckets.minutes
    const now = clock()
    let minute = this.#minutes.at(-1)
    if (!minute || now < minute.startsAt || now >= minute.startsAt + lengthMs) {
      minute = { startsAt: startOf(now, lengthMs), countsByKey: new Map() }
      this.#minutes.push(minute)
    }
    const { countsByKey } = minute
    const known = countsByKey.get(keyId)
    if (known) return known
    const entries = this.#minutes.reduce((sum, { countsByKey }) => sum + countsByKey.size, 0)
    if (keyId !== totalsKeyId && entries >= entriesMax) return this.#countsOf(totalsKeyId)
    const counts = { requests: 0, others: undefined }
    countsByKey.set(keyId, counts)
    return counts
  }

  async #flushAll(): Promise<void> {
    this.#flushedAt = performance.now()
    this.#collect()
    const { database, isSameDatabase } = this.#options
    const rows = [...this.#unwritten].sort(([a], [b]) => (a < b ? -1 : 1))
    for (let start = 0; start < rows.length; start += rowsPerWrite) {
      const chunk = rows.slice(start, start + rowsPerWrite)
      try {
        await database.writeUnlogged(async (trx) => {
          const add = chunk.map(([, row]) => row)
          if (await isSameDatabase(trx)) await addUsage(trx, add)
        })
      } catch (error) {
        // Counts that may have been added are not added again.
        if (!(error instanceof OutcomeUnknownError)) throw error
      }
      for (const [id] of chunk) this.#unwritten.delete(id)
    }
  }

  /** Moves the counts to the rows to write. */
  #collect(): void {
    for (const { startsAt, countsByKey } of this.#minutes.splice(0)) {
      for (const [keyId, { requests, others = [] }] of countsByKey) {
        for (const [name, count] of [['requests', requests] as const, ...others]) {
          this.#add(totalsKeyId, startsAt, name, count)
          if (keyId !== totalsKeyId) this.#add(keyId, startsAt, name, count)
        }
      }
    }
    if (this.#unwritten.size > unwrittenMax) this.#dropOldest()
  }

  #dropOldest(): void {
    const byAge = [...this.#unwritten].sort(([, a], [, b]) => a.starts_at - b.starts_at)
    for (const [id] of byAge.slice(0, -unwrittenMax)) this.#unwritten.delete(id)
  }

  /** Adds a count of a minute to its buckets. */
  #add(key_id: number, minute: number, name: string, count: number): void {
    for (const { lengthMs } of Object.values(buckets)) {
      const starts_at = startOf(minute, lengthMs)
      const id = `${key_id} ${lengthMs} ${starts_at} ${name}`
      const row = this.#unwritten.get(id)
      if (row) row.count += count
      else this.#unwritten.set(id, { key_id, bucket_ms: lengthMs, starts_at, name, count })
    }
  }
}

const startOf = (ms: number, lengthMs: number): number => Math.floor(ms / lengthMs) * lengthMs

function increment(counts = new Map<string, number>(), name: string): Map<string, number> {
  return counts.set(name, (counts.get(name) ?? 0) + 1)
}
