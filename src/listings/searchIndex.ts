import type { Db, Trx } from '../database/db.ts'
import type { Condition } from './query.ts'

type IndexedTerms = { readonly id: number; readonly terms: readonly string[] }

/** The inverted index of one engine: the terms of each pet. */
export type SearchIndex = {
  /** The pets below an id that meet the conditions, newest first. */
  find(db: Db, conditions: readonly Condition[], belowId: number, limit: number): Promise<number[]>
  /** The pets above an id that meet the conditions, oldest first. */
  findAbove(db: Db, conditions: readonly Condition[], aboveId: number, limit: number): Promise<number[]>
  replace(trx: Trx, rows: readonly IndexedTerms[]): Promise<void>
  delete(trx: Trx, ids: readonly number[]): Promise<void>
  clear(trx: Trx): Promise<void>
  /**
   * Merges parts of the index, a bounded amount of work. Returns whether there may be more to do. Every write adds a part,
   * and a search reads all of them.
   */
  merge?(trx: Trx): Promise<boolean>
}
