import { sql } from 'kysely'
import { toTsquery } from './query.ts'
import type { SearchIndex } from './searchIndex.ts'

const rowsPerClear = 1_000

/** A table of `tsvector`, with a GIN index. */
export const postgresSearchIndex: SearchIndex = {
  petsPerLateStep: 200,
  // Uses the index events_without_id, as number_events_1 does. These events follow all events with an id in the feed.
  oldestWithoutId: sql`
    SELECT created_at FROM events WHERE id IS NULL AND xid >= (
      SELECT CASE WHEN settled <= pg_snapshot_xmax(pg_current_snapshot()) THEN settled ELSE '0' END FROM feed_head
    ) ORDER BY xid, seq LIMIT 1`,
  find: (conditions, belowId, limit) => sql`
    SELECT id FROM find_listings_1(${toTsquery(conditions)}::tsquery, ${belowId}, ${limit}) AS hits (id)`,
  findAbove: (conditions, aboveId, limit) => sql`
    SELECT id FROM find_listings_above_1(${toTsquery(conditions)}::tsquery, ${aboveId}, ${limit}) AS hits (id)`,
  async replace(trx, rows) {
    if (rows.length === 0) return
    await sql`
      INSERT INTO listing_terms (id, terms)
      SELECT (added->>'id')::bigint, array_to_tsvector(ARRAY(SELECT jsonb_array_elements_text(added->'terms')))
      FROM jsonb_array_elements(${JSON.stringify(rows)}::jsonb) AS added
      ON CONFLICT (id) DO UPDATE SET terms = excluded.terms`.execute(trx)
  },
  async delete(trx, ids) {
    if (ids.length > 0) await sql`DELETE FROM listing_terms WHERE id = ANY(${ids})`.execute(trx)
  },
  // Not by TRUNCATE: a search with an older snapshot would see a complete index without rows.
  async clear(trx) {
    const first = sql`SELECT id FROM listing_terms ORDER BY id LIMIT ${rowsPerClear}`
    const deleted = await sql`DELETE FROM listing_terms WHERE id = ANY (ARRAY (${first}))`.execute(trx)
    return Number(deleted.numAffectedRows) === rowsPerClear
  },
}
