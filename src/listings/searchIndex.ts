import type { Db, Trx } from '../database/db.ts'
import type { Condition } from './query.ts'

type IndexedTerms = { readonly id: number; readonly terms: readonly string[] }

/** The inverted index of one engine: the terms of each pet. */
export type SearchIndex = {
  /** The pets below an id that meet the conditions, newest first. */
  find(db: Db, conditions: readonly Condition[], belowId: number, limit: number): Promise<number[]>
  replace(trx: Trx, rows: readonly IndexedTerms[]): Promise<void>
  delete(trx: Trx, ids: readonly number[]): Promise<void>
  clear(trx: Trx): Promise<void>
  /** Work that keeps later writes fast, a bounded amount of it. To be called once in a few writes. */
  maintain(trx: Trx): Promise<void>
}
