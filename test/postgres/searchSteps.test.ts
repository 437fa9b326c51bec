import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { ListingIndexer } from '../../src/listings/indexer.ts'
import { needsIndexing } from '../../src/listings/indexing.ts'
import { postgresSearchIndex } from '../../src/listings/searchIndex.postgres.ts'
import { createPets } from '../../src/pets/storedPets.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { clientFor, untilWaiting } from '../support/lockWaiters.ts'
import { startTestService, withIndexing } from '../support/service.ts'

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
        const conditions = [{ anyOf: [`w_${term}`], beginnings: [] }]
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

test('a search is unavailable if a change of more than 5 seconds ago has no event id yet', async (t) => {
  const service = await startTestService({}, { bounds: withIndexing })
  t.after(() => service.stop())
  const key = service.operatorKey
  const search = () => service.request('GET', '/v1/listings?q=milo', { key })
  const count = async () => (await search()).json.length
  const create = () => service.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } })
  await create()
  await eventually('the first one is found', async () => (await count()) === 1)
  const client = await clientFor(t, service.databaseEnv)
  // The statement that assigns event ids waits for this lock.
  await client.query('BEGIN; SELECT * FROM feed_head FOR UPDATE')
  assert.equal((await create()).status, 201)
  assert.equal((await search()).status, 200)
  service.advance(5_001)
  assert.equal((await search()).status, 503)
  await client.query('ROLLBACK')
  await eventually('the second one is found', async () => (await count()) === 2)
})

test('the age of the oldest change that is not indexed grows with each commit while the indexer waits', async (t) => {
  const { database, env } = await openDatabaseFor(t)
  let time = 1_000_000
  const clock = () => time
  const isIndexed = async () => !(await needsIndexing(database.read, await database.readableThrough()))
  const create = (name: string) => database.write((trx) => createPets(trx, [{ name, categoryId: 1n }], time))
  const client = await clientFor(t, env)
  // A step of the indexer waits for the first row. The statement that assigns event ids waits for the second.
  for (const row of ["cursors WHERE name = 'listings.followed.2'", 'feed_head'])
    for (const isReportedFirst of [true, false]) {
      const what = `${row}, the commit is reported ${isReportedFirst ? 'before' : 'after'} the indexer reads`
      const indexer = new ListingIndexer({ database, clock, onFault() {}, indexDelayMs: 100 })
      t.after(() => indexer.stop())
      await create('Milo')
      indexer.wake()
      await eventually('the first one is indexed', isIndexed)
      await client.query(`BEGIN; SELECT * FROM ${row} FOR UPDATE`)
      // A round of the timer: the change is made during its pause.
      if (isReportedFirst) indexer.wake()
      await create('Luna')
      if (isReportedFirst) indexer.onCommit()
      else indexer.wake()
      await untilWaiting(client)
      if (!isReportedFirst) indexer.onCommit()
      time += 2_000
      indexer.wake()
      assert.equal(indexer.behindMs, 0, `${what}: without commits, also if the database does not respond`)
      indexer.onCommit()
      assert.equal(indexer.behindMs, 2_000, what)
      await client.query('ROLLBACK')
      await eventually('it is indexed', isIndexed)
      indexer.wake()
      await eventually('nothing is pending', () => indexer.behindMs === 0)
      await indexer.stop()
    }
})
