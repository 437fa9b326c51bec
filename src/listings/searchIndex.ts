import type { RawBuilder } from 'kysely'
import type { Trx } from '../database/db.ts'
import type { Condition } from './query.ts'

type IndexedTerms = { readonly id: number; readonly terms: readonly string[] }

/** The inverted index of one engine: the terms of each pet. */
export type SearchIndex = {
  /** The most that one transaction indexes while the index is late: more than continuous changes add in that time. */
  readonly petsPerLateStep: number
  /** Selects when the oldest event was made that has no id yet. */
  readonly oldestWithoutId: RawBuilder<unknown>
  /** Selects the newest pets below an id that meet the conditions. */
  find(conditions: readonly Condition[], belowId: number, limit: number): RawBuilder<{ id: number }>
  /** Selects the pets next above an id that meet the conditions. */
  findAbove(conditions: readonly Condition[], aboveId: number, limit: number): RawBuilder<{ id: number }>
  replace(trx: Trx, rows: readonly IndexedTerms[]): Promise<void>
  delete(trx: Trx, ids: readonly number[]): Promise<void>
  /** Deletes everything, or a bounded part of it. Returns whether there may be more. */
  clear(trx: Trx): Promise<boolean>
  /**
   * Merges parts of the index, a bounded amount of work. Returns whether there may be more to do. Every write adds a part,
   * and a search reads all of them.
   */
  merge?(trx: Trx): Promise<boolean>
}
