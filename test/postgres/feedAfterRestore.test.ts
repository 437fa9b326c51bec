import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import type { Database } from '../../src/database/database.ts'
import { eventsAfter, recordEvent } from '../../src/events/queries.ts'
import { type DatabaseEnv, databaseFor, inDatabase } from '../support/engine.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'

const numberedCount = 3
const unnumberedCount = 5

type Ids = { readonly settled: string; readonly events: string }

const addEvent = ({ write }: Database, id: number) =>
  write((trx) => recordEvent(trx, 0, 'pet.deleted', { id }))

async function clientFor(t: Pick<TestContext, 'after'>, env: DatabaseEnv): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  await client.connect()
  t.after(() => client.end())
  return client
}

/**
 * A database as after pg_restore into a server with other transaction ids. Some events have no id. No process has it open.
 * `idsOf` gets the next transaction id of the server.
 */
async function restoredDatabase(t: Pick<TestContext, 'after'>, idsOf: (next: number) => Ids) {
  const env = await databaseFor(t)
  await inDatabase(env, async (database) => {
    for (let id = 1; id <= numberedCount; id++) await addEvent(database, id)
    await database.readableThrough()
    for (let id = 1; id <= unnumberedCount; id++) await addEvent(database, numberedCount + id)
  })
  const client = await clientFor(t, env)
  const { rows } = await client.query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next')
  const { settled, events } = idsOf(Number(rows[0].next))
  await client.query('UPDATE feed_head SET settled = $1::xid8', [settled])
  await client.query('UPDATE events SET xid = $1::xid8', [events])
  return { env, client }
}

/** The pets of all events, in the order of the feed. */
async function feed(database: Database): Promise<number[]> {
  const through = await database.readableThrough()
  const events = await eventsAfter(database.read, 0, 1_000, true, through)
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index + 1),
  )
  return events.map(({ data }) => JSON.parse(data).id)
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe('after a restore into another server, all events get their ids', { concurrency: 2 }, () => {
  const servers: [what: string, idsOf: (next: number) => Ids][] = [
    ['far fewer transactions', () => ({ settled: '4000000000000', events: '4000000000001' })],
    ['far more transactions', () => ({ settled: '3', events: '3' })],
    ['more transactions, and no event without an id was seen before', () => ({ settled: '0', events: '3' })],
    ['as many transactions', (next) => ({ settled: String(next), events: String(next) })],
    ['a few transactions less', (next) => ({ settled: String(next + 20), events: String(next + 21) })],
    // Not in a consistent dump, but the events must not be lost.
    ['transactions of no known order', () => ({ settled: '4000000000000', events: '3' })],
    ['transactions of no known order, with low ids', (next) => ({ settled: String(next), events: '3' })],
  ]
  for (const [what, idsOf] of servers) {
    test(`on a server with ${what}`, async (t) => {
      const { env } = await restoredDatabase(reverseCleanup(t), idsOf)
      const before = numberedCount + unnumberedCount
      await inDatabase(env, async (database) => {
        assert.deepEqual(await feed(database), upTo(before))
        for (let id = before + 1; id <= before + 100; id++) {
          await addEvent(database, id)
          assert.deepEqual(await feed(database), upTo(id))
        }
      })
    })
  }

  test('if the feed is first read after the server has reached the transaction of the dump', async (t) => {
    const undo = reverseCleanup(t)
    const { env, client } = await restoredDatabase(undo, (next) => ({
      settled: String(next + 50),
      events: String(next + 50),
    }))
    const before = numberedCount + unnumberedCount
    await inDatabase(env, async (database) => {
      await addEvent(database, before + 1)
      const late = await clientFor(undo, env)
      await late.query('BEGIN')
      await late.query(
        "INSERT INTO events (type, created_at, data, is_private) VALUES ('pet.deleted', 0, $1, 0)",
        [`{"id":${before + 2}}`],
      )
      for (let n = 0; n < 100; n++) await client.query('SELECT pg_current_xact_id()')
      assert.deepEqual(await feed(database), upTo(before + 1))
      await late.query('COMMIT')
      assert.deepEqual(await feed(database), upTo(before + 2))
    })
  })
})
