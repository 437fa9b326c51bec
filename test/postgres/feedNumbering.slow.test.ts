import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import type { Database } from '../../src/database/database.ts'
import { eventsAfter, recordEvent } from '../../src/events/queries.ts'
import { type DatabaseEnv, openDatabaseFor, openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { ownPostgresFor } from '../support/separatePostgres.ts'

/** The most that one call of number_events_1 numbers. */
const batchMax = 10_000

async function clientFor(t: { after(end: () => unknown): void }, env: DatabaseEnv): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end().catch(() => {}))
  return client
}

/** Adds events in one transaction, as another program would. */
const addEvents = (client: pg.Client, count: number) =>
  client.query(
    `INSERT INTO events (type, created_at, data, is_private)
      SELECT 'pet.deleted', 0, '{"id":' || n || '}', 0 FROM generate_series(1, $1::bigint) n ORDER BY n`,
    [count],
  )

async function numberEvents(client: pg.Client): Promise<number> {
  const { rows } = await client.query('SELECT number_events_1() AS id')
  return Number(rows[0].id)
}

/** All events that have an id, by id. */
async function numbered(client: pg.Client): Promise<{ id: number; data: string }[]> {
  const { rows } = await client.query('SELECT id, data FROM events WHERE id IS NOT NULL ORDER BY id')
  return rows.map(({ id, data }) => ({ id: Number(id), data }))
}

/** Events whose id is not their place in the order of their sequence numbers. */
async function outOfOrder(client: pg.Client): Promise<number> {
  const { rows } = await client.query(`
    SELECT count(*) FROM (SELECT id, row_number() OVER (ORDER BY seq) AS place FROM events) AS e
    WHERE id IS DISTINCT FROM place`)
  return Number(rows[0].count)
}

test('many events get their ids in batches, without gaps, in the order in which they were added', async (t) => {
  const { env, database } = await openDatabaseFor(t)
  const client = await clientFor(t, env)
  const count = 30 * batchMax
  await addEvents(client, count)
  const ids: number[] = []
  for (let id = await numberEvents(client); id !== ids.at(-1); id = await numberEvents(client)) ids.push(id)
  assert.deepEqual(
    ids,
    Array.from({ length: count / batchMax }, (_, index) => (index + 1) * batchMax),
  )
  assert.equal(await outOfOrder(client), 0)

  // A reader waits for one batch. A caller that needs all of them calls it until all committed events have an id.
  await addEvents(client, 2 * batchMax + 1)
  assert.equal(await database.readableThrough(), count + batchMax)
  assert.equal(await database.allReadableThrough(), count + 2 * batchMax + 1)
  assert.equal(await outOfOrder(client), 0)
})

/** The number of pages that numbering the events reads, with the settings of the service. */
async function pagesRead({ read }: Database): Promise<number> {
  const { rows } = await sql<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>`
    EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT number_events_1()`.execute(read)
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan as Record<string, number>
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
}

/** Waits for transactions of other tests, which share the server: a search starts at the oldest that was open. */
async function settleFeed(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SELECT pg_current_xact_id()::text AS xid')
  await eventually('no earlier transaction is open', async () => {
    const query = 'SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS is_over'
    return (await client.query(query, [rows[0].xid])).rows[0].is_over
  })
  await addEvents(client, 1)
  await numberEvents(client)
}

for (const hasSnapshot of [false, true]) {
  const state = hasSnapshot ? 'during an old snapshot' : 'with many events that have an id'
  test(`numbering reads only a few pages ${state}`, async (t) => {
    const { env, database } = await openDatabaseFor(t)
    const client = await clientFor(t, env)
    await addEvents(client, 1)
    await numberEvents(client)
    if (hasSnapshot) {
      const reader = await clientFor(t, env)
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM events')
    }
    // 100,000 events in 100 transactions, and numbered 100 times.
    await client.query(`DO $$ BEGIN FOR n IN 1..100 LOOP
      INSERT INTO events (type, created_at, data, is_private)
      SELECT 'pet.deleted', 0, '{"id":1}', 0 FROM generate_series(1, 1000);
      COMMIT;
      PERFORM number_events_1();
      COMMIT;
    END LOOP; END $$`)
    assert.equal(await outOfOrder(client), 0)
    await settleFeed(client)
    const looks: number[] = []
    const steps: number[] = []
    // PostgreSQL may change the plan after a few calls of one connection.
    for (let turn = 0; turn < 12; turn++) {
      await database.write(async (trx) => recordEvent(trx, 0, 'pet.deleted', { id: turn }))
      steps.push(await pagesRead(database))
      looks.push(await pagesRead(database))
    }
    t.diagnostic(`pages read: ${looks.join()} without an event to number, ${steps.join()} with one`)
    assert.equal(await outOfOrder(client), 0)
    // The table has thousands of pages. The first call of a connection also reads the catalog, and there may be two.
    assert.ok((looks.toSorted((a, b) => b - a)[2] as number) < 50)
    assert.ok((steps.toSorted((a, b) => b - a)[2] as number) < 150)
  })
}

test('an event that is committed while another instance numbers gets the next id', async (t) => {
  const { env } = await openDatabaseFor(t)
  const [first, second, writer] = await Promise.all([clientFor(t, env), clientFor(t, env), clientFor(t, env)])
  await addEvents(writer, 2)
  await first.query('BEGIN')
  assert.equal(await numberEvents(first), 2)
  // The second sees events without an id, and waits for the first.
  const waiting = numberEvents(second)
  await eventually('the second waits', async () => {
    const { rows } = await writer.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    return rows.length > 0
  })
  await addEvents(writer, 1)
  await first.query('COMMIT')
  assert.equal(await waiting, 3)
  assert.equal(await outOfOrder(writer), 0)
})

test('an event that is committed after later ones gets an id after theirs, and no reader misses it', async (t) => {
  const { env, database } = await openDatabaseFor(t)
  const [early, later] = await Promise.all([clientFor(t, env), clientFor(t, env)])
  await early.query('BEGIN')
  await addEvents(early, 1)
  await addEvents(later, 2)
  assert.equal(await database.readableThrough(), 2)
  // Nothing to do, however often it is called.
  assert.equal(await database.readableThrough(), 2)
  await early.query('COMMIT')
  assert.equal(await database.readableThrough(), 3)
  const { rows } = await later.query('SELECT id FROM events ORDER BY seq')
  assert.deepEqual(
    rows.map(({ id }) => Number(id)),
    [3, 1, 2],
  )
})

test('two instances that number at the same time give each id once, and both show the same feed', async (t) => {
  const { env, database: one } = await openDatabaseFor(t)
  const two = await openTestDatabase(env)
  t.after(() => two.close())
  let isOver = false
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let turn = 0; turn < 60; turn++)
      await (turn % 2 ? one : two).write(async (trx) =>
        recordEvent(trx, 0, 'pet.deleted', { id: writer * 1_000 + turn }),
      )
  })
  async function follow(database: Database) {
    const seen: { id: number; data: string }[] = []
    for (;;) {
      const wasOver = isOver
      const through = await database.readableThrough()
      const page = await eventsAfter(database.read, seen.at(-1)?.id ?? 0, 1_000, true, through)
      seen.push(...page.map(({ id, data }) => ({ id, data })))
      if (wasOver && page.length === 0) return seen
    }
  }
  const followers = [follow(one), follow(two), follow(one), follow(two)]
  await Promise.all(writers)
  isOver = true
  const seen = await Promise.all(followers)
  const client = await clientFor(t, env)
  const feed = await numbered(client)
  assert.deepEqual(
    feed.map(({ id }) => id),
    Array.from({ length: 8 * 60 }, (_, index) => index + 1),
  )
  for (const each of seen) assert.deepEqual(each, feed)
})

test('a crash gives no id to another event after a reader has seen it, even if commits are not synchronous by default', async (t) => {
  const undo = reverseCleanup(t)
  const { databaseEnv, databaseName, administer, children } = await ownPostgresFor(undo)
  await (await openTestDatabase(databaseEnv)).close()
  await administer(`ALTER DATABASE ${databaseName} SET synchronous_commit = off`)
  // Without this process only a synchronous commit writes the log.
  const { rows } = await administer("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
  const walWriter: number = rows[0].pid
  assert.ok(children().includes(walWriter))
  const client = await clientFor(undo, databaseEnv)
  const setting = await client.query('SHOW synchronous_commit')
  assert.deepEqual(setting.rows, [{ synchronous_commit: 'off' }])
  process.kill(walWriter, 'SIGSTOP')

  await client.query(`SELECT append_changes_1('{pet.deleted}', '{0}', '{"{\\"id\\":1}"}', '{0}')`)
  assert.equal(await numberEvents(client), 1)
  const seen = await numbered(client)
  // Not written before the crash: it shows that the crash has lost what was not synchronous.
  await client.query(`SELECT append_changes_1('{pet.deleted}', '{0}', '{"{\\"id\\":2}"}', '{0}')`)
  assert.equal((await client.query('SELECT 1 FROM events')).rowCount, 2)

  process.kill(walWriter, 'SIGKILL')
  const after = await eventually(
    'PostgreSQL has recovered',
    async () => {
      const next = new pg.Client({ connectionString: databaseEnv.DATABASE_URL })
      next.on('error', () => {})
      try {
        await next.connect()
        const isSame = (await next.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"))
          .rows
        if (isSame[0]?.pid !== undefined && isSame[0].pid !== walWriter) return next
      } catch {
        // Not yet.
      }
      await next.end().catch(() => {})
      return undefined
    },
    60_000,
  )
  undo.after(() => after.end())
  assert.equal((await after.query('SELECT 1 FROM events')).rowCount, 1, 'the crash has lost the second event')
  await after.query(`SELECT append_changes_1('{pet.deleted}', '{0}', '{"{\\"id\\":3}"}', '{0}')`)
  assert.equal(await numberEvents(after), 2)
  const feed = await numbered(after)
  assert.deepEqual(feed.slice(0, 1), seen)
  assert.deepEqual(
    feed.map(({ id, data }) => [id, data]),
    [
      [1, '{"id":1}'],
      [2, '{"id":3}'],
    ],
  )
})
