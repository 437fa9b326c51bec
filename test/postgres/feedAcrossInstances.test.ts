import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createCategory } from '../../src/categories/queries.ts'
import type { Database } from '../../src/database/database.ts'
import { dispatchEvents } from '../../src/webhooks/dispatch.ts'
import { createWebhook } from '../../src/webhooks/queries.ts'
import { administer, openDatabaseFor, openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'

const recordOne = (database: Database, name: string) => database.write((trx) => createCategory(trx, name, 0))

test('a reader finds every event that was committed before, also if another instance gives it its id at the same time', async (t) => {
  const undo = reverseCleanup(t)
  const { env, database } = await openDatabaseFor(undo)
  await recordOne(database, 'Rabbits')
  const other = new pg.Client({ connectionString: env.DATABASE_URL })
  await other.connect()
  undo.after(() => other.end())
  // The reader has to wait when it looks for events without an id.
  await other.query('BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE')
  const reading = database.readableThrough()
  const databaseName = new URL(env.DATABASE_URL as string).pathname.slice(1)
  await eventually('the reader waits', async () => {
    const { rows } = await administer(
      `SELECT 1 FROM pg_stat_activity WHERE datname = '${databaseName}' AND wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  })
  const { rows } = await other.query('SELECT number_events_1() AS last_id')
  await other.query('COMMIT')
  assert.equal(await reading, Number(rows[0].last_id))
  assert.equal(await reading, 1)
})

test('an instance that has read less of the feed than another one does not dispatch events again', async (t) => {
  const undo = reverseCleanup(t)
  const { env, database } = await openDatabaseFor(undo)
  const other = await openTestDatabase(env)
  undo.after(() => other.close())
  await database.write((trx) =>
    createWebhook(trx, { url: 'https://example.com', events: ['category.created'] }, 0, 0),
  )
  await recordOne(database, 'Rabbits')
  const before = await database.readableThrough()
  await recordOne(database, 'Cats')
  const after = await other.readableThrough()
  assert.ok(after > before)
  await other.write((trx) => dispatchEvents(trx, 0, after))
  await database.write((trx) => dispatchEvents(trx, 0, before))
  await other.write((trx) => dispatchEvents(trx, 0, after))
  const deliveries = await database.read
    .selectFrom('webhook_deliveries')
    .select('event_id')
    .orderBy('id')
    .execute()
  assert.deepEqual(
    deliveries.map(({ event_id }) => event_id),
    [before, after],
  )
})
