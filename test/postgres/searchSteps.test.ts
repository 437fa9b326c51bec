import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { postgresSearchIndex } from '../../src/listings/searchIndex.postgres.ts'
import { openDatabaseFor } from '../support/engine.ts'

/** More than one step of a search reads: 3,000 rows, then 4,000 matches of the index. */
const count = 12_000
/** How many of the animals have a term: all, one in 2,500, only the oldest 6,000, only the newest 6,000, none. */
const terms = ['all', 'rare', 'oldest', 'newest', 'absent'] as const

test('every step of a search finds what reading all rows finds, in both directions', async (t) => {
  const { database } = await openDatabaseFor(t)
  const db = database.read
  await sql`
    INSERT INTO listing_terms (id, terms)
    SELECT id, array_to_tsvector(array_remove(ARRAY[
      'w_all',
      CASE WHEN id % 2500 = 0 THEN 'w_rare' END,
      CASE WHEN id <= ${count / 2} THEN 'w_oldest' ELSE 'w_newest' END
    ], NULL)) FROM generate_series(1, ${count}::int) AS ids (id)`.execute(db)
  await sql`ANALYZE listing_terms`.execute(db)
  const idsOf = async (query: ReturnType<typeof postgresSearchIndex.find>) =>
    (await sql<{ id: number }>`${query}`.execute(db)).rows.map(({ id }) => Number(id))
  for (const term of terms) {
    const { rows } = await sql<{ id: string }>`
      SELECT id FROM listing_terms WHERE terms::text LIKE ${`%'w_${term}'%`} ORDER BY id`.execute(db)
    const matching = rows.map(({ id }) => Number(id))
    for (const at of [0, 1, 2_500, 5_990, 6_010, 11_990, count + 1])
      for (const limit of [1, 25]) {
        const conditions = [{ anyOf: [`w_${term}`] }]
        const above = matching.filter((id) => id > at).slice(0, limit)
        const below = matching
          .filter((id) => id < at)
          .toReversed()
          .slice(0, limit)
        assert.deepEqual(
          await idsOf(postgresSearchIndex.findAbove(conditions, at, limit)),
          above,
          `${term} > ${at}`,
        )
        assert.deepEqual(
          await idsOf(postgresSearchIndex.find(conditions, at, limit)),
          below,
          `${term} < ${at}`,
        )
      }
  }
})
