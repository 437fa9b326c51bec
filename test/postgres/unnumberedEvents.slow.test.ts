import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import type { Bounds } from '../../src/bounds.ts'
import { openEventStream } from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { startTestService } from '../support/service.ts'
import { loopbackAllowed, registerWebhook, startWebhookReceiver } from '../support/webhookReceiver.ts'

/** The most that one query gives ids to. */
const batchMax = 10_000
const backlog = 2.5 * batchMax

/** A service whose feed has many events without an id, and a client of its database. */
async function stage(test: TestContext, bounds: Partial<Bounds> = {}) {
  const t = reverseCleanup(test)
  const service = await startTestService(loopbackAllowed, { bounds })
  t.after(() => service.stop())
  const connect = async () => {
    const client = new pg.Client({ connectionString: service.databaseEnv.DATABASE_URL })
    await client.connect()
    t.after(() => client.end())
    return client
  }
  const client = await connect()
  await addEvents(client, 'old', backlog)
  const numbered = async () => {
    const { rows } = await client.query('SELECT count(id)::int AS numbered, count(*)::int AS all FROM events')
    return rows[0] as { numbered: number; all: number }
  }
  return { service, client, connect, numbered }
}

const addEvents = (client: pg.Client, name: string, count = 1) =>
  client.query(
    `INSERT INTO events (type, created_at, data, is_private)
      SELECT 'pet.created', 0, '{"name":"' || $1::text || '"}', 0 FROM generate_series(1, $2::bigint)`,
    [name, count],
  )

test('a read of the feed waits for one batch of the events without an id, and leaves no gap', async (t) => {
  const { service, numbered } = await stage(t)
  const read = (after: number) =>
    service.request('GET', `/v1/events?after=${after}&limit=1000`, { key: service.operatorKey })
  const { all: total } = await numbered()
  const first = await read(0)
  assert.deepEqual(await numbered(), { numbered: batchMax, all: total })
  assert.equal(first.headers['last-event-id'], String(batchMax))
  const ids: number[] = []
  for (let pages = 0; ids.length < total && pages < total / 500; pages++)
    ids.push(...(await read(ids.at(-1) ?? 0)).json.map(({ id }: { id: number }) => id))
  assert.deepEqual(
    ids,
    Array.from({ length: total }, (_, index) => index + 1),
  )
})

test('events get their ids even if another instance needs longer for a batch than a read may take', async (t) => {
  const { service, client, connect } = await stage(t)
  const other = await connect()
  await other.query('BEGIN; SELECT FROM feed_head FOR UPDATE')
  const read = service.request('GET', '/v1/events', { key: service.operatorKey })
  await eventually('the read waits', async () => {
    const { rowCount } = await client.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return rowCount === 1
  })
  // Longer than a query for a read, and than it waits for a lock.
  await other.query('SELECT pg_sleep(2.6); COMMIT')
  const { status, headers } = await read
  assert.deepEqual([status, headers['last-event-id']], [200, String(batchMax)])
})

test('a stream without a position starts after all events that were committed before it', async (t) => {
  const { service, client, connect, numbered } = await stage(t)
  const late = await connect()
  await late.query('BEGIN')
  await addEvents(late, 'late')
  await addEvents(client, 'old', 10)
  const { all: total } = await numbered()
  const stream = await openEventStream(service.base, { key: service.operatorKey })
  t.after(stream.disconnect)
  assert.deepEqual(await numbered(), { numbered: total, all: total })
  assert.equal(stream.headers['last-event-id'], String(total))
  await late.query('COMMIT')
  await service.request('POST', '/v1/pets', {
    key: service.operatorKey,
    body: { name: 'new', categoryId: 1 },
  })
  const received = await stream.until(3)
  assert.deepEqual(
    received.map(({ type, data }) => [type, (data as { name?: string }).name]),
    [
      ['pet.created', 'late'],
      // The pet is the first of its category.
      ['category.created', undefined],
      ['pet.created', 'new'],
    ],
  )
})

test('a stream whose start is not known in time is rejected, and its events are numbered all the same', async (t) => {
  const { service, numbered } = await stage(t, { startWaitMaxMs: 0 })
  const open = () => openEventStream(service.base, { key: service.operatorKey })
  const stream = await open()
  t.after(stream.disconnect)
  assert.equal(stream.status, 503)
  assert.match(String(stream.headers['retry-after']), /^\d+$/)
  assert.equal((await numbered()).numbered, batchMax)
  const resumed = await openEventStream(service.base, {
    key: service.operatorKey,
    path: '/v1/events?after=0',
  })
  t.after(resumed.disconnect)
  assert.equal(resumed.status, 200)
})

test('a new webhook does not wait for the ids of events, and receives exactly the events after its registration', async (t) => {
  const { service, client, connect, numbered } = await stage(t)
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  const { numbered: before } = await numbered()
  // The events that have an id when the webhook is added.
  await client.query(`
    CREATE TABLE seen (numbered bigint);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO seen SELECT count(id) FROM events;
      RETURN NEW;
    END $$;
    CREATE TRIGGER see BEFORE INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION see()`)
  // Its event is before others in the order of the feed, but it is committed after the registration.
  const late = await connect()
  await late.query('BEGIN')
  await addEvents(late, 'late')
  await addEvents(client, 'old', 10)
  await registerWebhook(service, receiver.url)
  await late.query('COMMIT')
  await service.request('POST', '/v1/pets', {
    key: service.operatorKey,
    body: { name: 'new', categoryId: 1 },
  })
  await receiver.until(2)
  const { rows } = await client.query('SELECT numbered::int FROM seen')
  assert.deepEqual(rows, [{ numbered: before }])
  const isForgotten = async () =>
    (await client.query(`SELECT 1 FROM metadata WHERE name LIKE 'webhooks.start.%'`)).rowCount === 0
  await eventually('the start is forgotten', isForgotten)
  const { rows: events } = await client.query(
    `SELECT events.data::json->>'name' AS name FROM events JOIN webhook_deliveries ON event_id = events.id ORDER BY event_id`,
  )
  assert.deepEqual(
    events.map(({ name }) => name),
    ['late', 'new'],
  )
  assert.equal(receiver.received.length, 2)
})

test('a webhook that is enabled again receives exactly the events from then on', async (t) => {
  const { service, client, connect } = await stage(t)
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  const { id } = await registerWebhook(service, receiver.url)
  await client.query(`UPDATE webhooks SET status = 'disabled'`)
  await addEvents(client, 'old', backlog)
  const late = await connect()
  await late.query('BEGIN')
  await addEvents(late, 'late')
  await addEvents(client, 'old', 10)
  const body = { status: 'enabled' }
  const enabled = await service.request('PATCH', `/v1/webhooks/${id}`, { key: service.operatorKey, body })
  assert.equal(enabled.status, 200)
  await late.query('COMMIT')
  assert.equal((await receiver.until(1)).data.name, 'late')
  await service.request('POST', '/v1/pets', {
    key: service.operatorKey,
    body: { name: 'new', categoryId: 1 },
  })
  assert.equal((await receiver.until(2)).data.name, 'new')
})
