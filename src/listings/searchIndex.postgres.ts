import { sql } from 'kysely'
import { toTsquery } from './query.ts'
import type { SearchIndex } from './searchIndex.ts'

/** A table of `tsvector`, with a GIN index. */
export const postgresSearchIndex: SearchIndex = {
  async find(db, conditions, belowId, limit) {
    const query = sql<{ id: number }>`
      SELECT id FROM find_listings_1(${toTsquery(conditions)}::tsquery, ${belowId}, ${limit}) AS hits (id)`
    return (await query.execute(db)).rows.map(({ id }) => id)
  },
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
  async clear(trx) {
    await sql`TRUNCATE listing_terms`.execute(trx)
  },
}
