import { sql } from 'kysely'
import type { Trx } from '../database/db.ts'
import { toFts5Query } from './query.ts'
import type { SearchIndex } from './searchIndex.ts'

/** Pages of the index that one call merges. */
const mergePages = 16

/** An FTS5 table without content. */
export const sqliteSearchIndex: SearchIndex = {
  // No more, because a step blocks the event loop.
  petsPerLateStep: 100,
  oldestWithoutId: sql`SELECT NULL`,
  // The sum keeps SQLite from compiling the statement for each limit, which it does for a virtual table.
  find: (conditions, belowId, limit) => sql`
    SELECT rowid AS id FROM listing_terms WHERE listing_terms MATCH ${toFts5Query(conditions)} AND rowid < ${belowId}
    ORDER BY rowid DESC LIMIT ${limit} + 0`,
  findAbove: (conditions, aboveId, limit) => sql`
    SELECT rowid AS id FROM listing_terms WHERE listing_terms MATCH ${toFts5Query(conditions)} AND rowid > ${aboveId}
    ORDER BY rowid LIMIT ${limit} + 0`,
  async replace(trx, rows) {
    for (const { id, terms } of rows)
      await sql`INSERT OR REPLACE INTO listing_terms (rowid, terms) VALUES (${id}, ${terms.join(' ')})`.execute(
        trx,
      )
  },
  async delete(trx, ids) {
    for (const id of ids) await sql`DELETE FROM listing_terms WHERE rowid = ${id}`.execute(trx)
  },
  async clear(trx) {
    await sql`INSERT INTO listing_terms (listing_terms) VALUES ('delete-all')`.execute(trx)
    return false
  },
  // Automatic merges are off, because single writes would take up to 150 ms.
  async merge(trx) {
    const before = await totalChanges(trx)
    await sql`INSERT INTO listing_terms (listing_terms, rank) VALUES ('merge', ${mergePages})`.execute(trx)
    // As FTS5 documents it: a merge that had nothing to do makes one change.
    return (await totalChanges(trx)) - before > 1
  },
}

async function totalChanges(trx: Trx): Promise<number> {
  const { rows } = await sql<{ changes: number }>`SELECT total_changes() AS changes`.execute(trx)
  return rows[0]?.changes ?? 0
}
