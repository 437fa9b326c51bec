import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '../../src/database/database.ts'
import type { Db } from '../../src/database/db.ts'
import { claimDelivery } from '../../src/webhooks/attempts.ts'
import {
  applyCutoffs,
  deleteWebhookAndDeliveries,
  deliveriesPerBatchMax,
  failPendingDeliveries,
} from '../../src/webhooks/cutoffs.ts'
import { createWebhook, markWebhookDeleted, updateWebhook } from '../../src/webhooks/queries.ts'
import { engine, openDatabaseFor, openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { SuiteCleanup } from '../support/servers.ts'
import { startOfTests, startTestService } from '../support/service.ts'
import { loopbackAllowed, registerWebhook, startWebhookReceiver } from '../support/webhookReceiver.ts'

/** One batch, and the attempt that disables a webhook. */
const perTransactionMax = deliveriesPerBatchMax + 1
const backlog = 1_600

/** A transaction that changes or deletes more deliveries than `max` fails. */
const limitTransactions = (
  database: Database,
  max: number,
  also: (db: Db) => Promise<void> = async () => {},
): Promise<void> =>
  database.migrate(async (db, runScript) => {
    await runScript(engine === 'sqlite' ? sqliteLimit(max) : postgresLimit(max))
    await also(db)
  })

const removeLimit = (database: Database): Promise<void> =>
  database.migrate((_, runScript) =>
    runScript(
      engine === 'sqlite'
        ? 'DROP TRIGGER limit_UPDATE; DROP TRIGGER limit_DELETE'
        : 'DROP TRIGGER limit_changes ON webhook_deliveries',
    ),
  )

/** SQLite has no number of the transaction: the count starts again when the position of a cutoff changes. */
const sqliteLimit = (max: number) => `
  CREATE TABLE changed (rows integer NOT NULL);
  INSERT INTO changed VALUES (0);
  ${['UPDATE', 'DELETE']
    .map(
      (action) => `
  CREATE TRIGGER limit_${action} AFTER ${action} ON webhook_deliveries BEGIN
    UPDATE changed SET rows = rows + 1;
    SELECT RAISE(ABORT, 'too many deliveries in one transaction') FROM changed WHERE rows > ${max};
  END;
  CREATE TRIGGER restart_${action} AFTER ${action} ON cursors BEGIN UPDATE changed SET rows = 0; END;`,
    )
    .join('')}`

const postgresLimit = (max: number) => `
  CREATE FUNCTION limit_changes() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    rows int := coalesce(nullif(current_setting('test.rows', true), ''), '0')::int + 1;
  BEGIN
    IF rows > ${max} THEN RAISE 'too many deliveries in one transaction'; END IF;
    PERFORM set_config('test.rows', rows::text, true);
    RETURN NULL;
  END $$;
  CREATE TRIGGER limit_changes AFTER UPDATE OR DELETE ON webhook_deliveries FOR EACH ROW EXECUTE FUNCTION limit_changes()`

/** Changes of the deliveries of one webhook fail. */
const failUpdates = (webhookId: number) =>
  engine === 'sqlite'
    ? `CREATE TRIGGER broken BEFORE UPDATE ON webhook_deliveries WHEN OLD.webhook_id = ${webhookId}
        BEGIN SELECT RAISE(ABORT, 'broken'); END`
    : `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
      CREATE TRIGGER broken BEFORE UPDATE ON webhook_deliveries FOR EACH ROW
        WHEN (OLD.webhook_id = ${webhookId}) EXECUTE FUNCTION broken()`

/** Adds pending deliveries with one statement, of these types in turn, and half of them to be retried much later. */
const addBacklog = (database: Database, webhookId: number, types: readonly string[], now: number) =>
  database.write(async (trx) => {
    const type = sql.join(
      types.map(
        (name, index) => sql`WHEN n % ${sql.lit(types.length)} = ${sql.lit(index)} THEN ${sql.lit(name)}`,
      ),
      sql` `,
    )
    const [id, at] = [sql.lit(webhookId), sql.lit(now)]
    await sql`
      INSERT INTO webhook_deliveries (webhook_id, event_id, event_type, event_at, data, status, attempts,
        next_attempt_at, claimed_until, created_at)
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${sql.lit(backlog)})
      SELECT ${id}, n, CASE ${type} END, ${at}, '{"name":"old"}', 'pending', n % 2, ${at} + n % 2 * 3600000, 0, ${at}
      FROM numbers`.execute(trx)
  })

async function stage(t: TestContext, events: readonly string[] = ['pet.created', 'pet.updated']) {
  const receiver = await startWebhookReceiver()
  const service = await startTestService(loopbackAllowed)
  t.after(async () => {
    await receiver.stop()
    await service.stop()
  })
  const database = await service.openDatabase()
  const { id } = await registerWebhook(service, receiver.url, events)
  const send = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { key: service.operatorKey, body })
  const path = `/v1/webhooks/${id}`
  /** The rows by status. */
  async function countRows(): Promise<Record<string, number>> {
    const rows = await sql<{ status: string; count: number }>`
      SELECT status, count(*) AS count FROM webhook_deliveries WHERE webhook_id = ${id} GROUP BY status`.execute(
      database.read,
    )
    return Object.fromEntries(rows.rows.map(({ status, count }) => [status, Number(count)]))
  }
  const cutoffs = async () =>
    (
      await database.read
        .selectFrom('cursors')
        .selectAll()
        .where('name', 'like', 'webhooks.cutoff.%')
        .execute()
    ).length
  const isApplied = () => eventually('the deliveries have failed', async () => (await cutoffs()) === 0)
  const addPet = (name: string) => send('POST', '/v1/pets', { name, categoryId: 1 })
  return { receiver, service, database, id, send, path, countRows, isApplied, addPet }
}

describe('with many pending deliveries, a transaction changes a bounded number of them', () => {
  test('when an event type is removed, and those of the type are not sent after it is added again', async (t) => {
    const { receiver, service, database, id, send, path, countRows, isApplied, addPet } = await stage(t)
    await send('PATCH', path, { status: 'paused' })
    await addBacklog(database, id, ['pet.created', 'pet.updated'], service.now())
    await limitTransactions(database, perTransactionMax)
    assert.equal((await send('PATCH', path, { events: ['pet.updated'] })).status, 200)
    const { json: shown } = await send('GET', `${path}/deliveries?limit=2`)
    const summary = shown.map((one: Record<string, unknown>) => [one.eventType, one.status, one.lastError])
    assert.deepEqual(summary.sort(), [
      ['pet.created', 'failed', 'The webhook was changed.'],
      ['pet.updated', 'pending', undefined],
    ])
    assert.equal((await send('PATCH', path, { events: ['pet.created', 'pet.updated'] })).status, 200)
    await isApplied()
    await send('PATCH', path, { status: 'enabled' })
    await addPet('new')
    assert.equal((await receiver.until(1)).data.name, 'new')
    await eventually('the new one is delivered', async () => (await countRows()).delivered === 1)
    assert.deepEqual(await countRows(), { delivered: 1, failed: backlog / 2, pending: backlog / 2 })
    assert.equal(receiver.received.length, 1)
  })

  test('when an endpoint is gone, and they are not sent after the webhook is enabled again', async (t) => {
    const { receiver, service, database, id, send, path, countRows, isApplied, addPet } = await stage(t)
    await send('PATCH', path, { status: 'paused' })
    await addBacklog(database, id, ['pet.created'], service.now())
    await limitTransactions(database, perTransactionMax)
    receiver.reply = 410
    await send('PATCH', path, { status: 'enabled' })
    await receiver.until(1)
    await eventually(
      'the webhook is disabled',
      async () => (await send('GET', path)).json.status === 'disabled',
    )
    // In SQLite, the count does not start again with a claim.
    await removeLimit(database)
    receiver.reply = 204
    assert.equal((await send('PATCH', path, { status: 'enabled' })).status, 200)
    await addPet('new')
    assert.equal((await receiver.until(2)).data.name, 'new')
    await isApplied()
    await eventually('the new one is delivered', async () => (await countRows()).delivered === 1)
    assert.deepEqual(await countRows(), { delivered: 1, failed: backlog })
    assert.equal(receiver.received.length, 2)
  })

  test('when a webhook is deleted, and it is gone at once', async (t) => {
    const { service, database, id, send, path, countRows } = await stage(t)
    await send('PATCH', path, { status: 'paused' })
    await addBacklog(database, id, ['pet.created'], service.now())
    const { json } = await send('GET', `${path}/deliveries?limit=1`)
    await limitTransactions(database, perTransactionMax)
    assert.equal((await send('DELETE', path)).status, 204)
    for (const [method, tail, body] of [
      ['GET', ''],
      ['GET', '/deliveries'],
      ['POST', `/deliveries/${json[0].id}/retry`],
      ['POST', '/test'],
      ['POST', '/rotate'],
      ['PATCH', '', { status: 'enabled' }],
      ['DELETE', ''],
    ] as const) {
      const response = await send(method, `${path}${tail}`, body)
      assert.deepEqual([response.status, response.json.code], [404, 'webhook_not_found'], `${method} ${tail}`)
    }
    assert.deepEqual((await send('GET', '/v1/webhooks')).json, [])
    const isGone = async () => (await database.read.selectFrom('webhooks').selectAll().execute()).length === 0
    await eventually('the rows are deleted', isGone)
    assert.deepEqual(await countRows(), {})
    const left = database.read.selectFrom('cursors').selectAll().where('name', 'like', 'webhooks.cutoff.%')
    assert.deepEqual(await left.execute(), [])
  })
})

test('an update that removes no event type changes no delivery', async (t) => {
  const { service, database, id, send, path, countRows } = await stage(t)
  await send('PATCH', path, { status: 'paused' })
  // A retry by hand can queue a delivery of a type that the webhook does not have.
  await addBacklog(database, id, ['pet.created', 'pet.deleted'], service.now())
  await limitTransactions(database, 0)
  const events = ['pet.created', 'pet.updated', 'pet.deleted']
  for (const change of [{ status: 'paused' }, { url: 'http://127.0.0.1:9/' }, { events }])
    assert.equal((await send('PATCH', path, change)).status, 200)
  assert.deepEqual(await countRows(), { pending: backlog })
})

describe('deliveries before a cutoff', () => {
  let database: Database
  let other: Database
  const cleanup = new SuiteCleanup()
  before(async () => {
    const opened = await openDatabaseFor(cleanup, startOfTests)
    database = opened.database
    other = await openTestDatabase(opened.env)
    cleanup.after(() => other.close())
  })
  after(() => cleanup.end())

  /** The state after the transaction of the change, with no service that continues. */
  async function interrupted() {
    const settings = { url: 'https://shelter.example/', events: ['pet.created', 'pet.updated'] as const }
    const { id } = await database.write((trx) => createWebhook(trx, settings, 0, 0))
    await addBacklog(database, id, ['pet.created', 'pet.updated'], startOfTests)
    await database.write((trx) => failPendingDeliveries(trx, id, startOfTests, ['pet.created']))
    const pending = async () => {
      const rows = database.read.selectFrom('webhook_deliveries').select('event_type')
      const ofWebhook = rows.where('webhook_id', '=', id).where('next_attempt_at', 'is not', null)
      return (await ofWebhook.execute()).map((row) => row.event_type)
    }
    return { id, pending }
  }
  const never = new AbortController().signal
  const rethrow = (error: unknown) => {
    throw error
  }

  test('are not claimed, and the others are', async () => {
    const { id, pending } = await interrupted()
    const claim = (lane: 'first' | 'retry', now: number) =>
      database.writeUnlogged((trx) => claimDelivery(trx, { webhookId: id, lane }, now))
    const before = await pending()
    assert.equal(await claim('first', startOfTests), 'failed')
    assert.equal((await pending()).length, before.length - 1)
    const retry = await claim('retry', startOfTests + 3_600_000)
    assert.ok(retry && retry !== 'failed')
    assert.equal(retry.delivery.event_type, 'pet.updated')
  })

  test('are marked as failed by several instances at once, each in batches', async () => {
    const { pending } = await interrupted()
    assert.equal((await pending()).length, backlog - deliveriesPerBatchMax / 2)
    await Promise.all([database, other].map((one) => applyCutoffs(one, () => startOfTests, never, rethrow)))
    assert.deepEqual(new Set(await pending()), new Set(['pet.updated']))
    assert.equal((await pending()).length, backlog / 2)
  })

  test('are marked as failed after the next start if the service stops in between', async () => {
    const { pending } = await interrupted()
    const stopped = AbortSignal.abort()
    await applyCutoffs(database, () => startOfTests, stopped, rethrow)
    assert.equal((await pending()).length, backlog - deliveriesPerBatchMax / 2)
    await applyCutoffs(other, () => startOfTests, never, rethrow)
    assert.equal((await pending()).length, backlog / 2)
  })

  test('include those that a second change adds before the first is complete', async () => {
    const { id, pending } = await interrupted()
    await database.write((trx) => failPendingDeliveries(trx, id, startOfTests))
    await applyCutoffs(database, () => startOfTests, never, rethrow)
    assert.deepEqual(await pending(), [])
  })

  test('are deleted with their webhook, also if an instance of version 1.0.0 enables it in between', async () => {
    const { id } = await interrupted()
    await database.write(async (trx) => {
      await markWebhookDeleted(trx, id)
      await deleteWebhookAndDeliveries(trx, id, startOfTests)
    })
    // Version 1.0.0 does not know the status "deleted".
    await database.write((trx) => updateWebhook(trx, id, { status: 'enabled' }))
    await applyCutoffs(database, () => startOfTests, never, rethrow)
    const { read } = database
    assert.deepEqual(await read.selectFrom('webhooks').selectAll().where('id', '=', id).execute(), [])
    const deliveries = read.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', id)
    assert.deepEqual(await deliveries.execute(), [])
  })

  test('are marked as failed, also if that fails for another webhook', async () => {
    const [{ id }, { id: otherId }] = [await interrupted(), await interrupted()]
    await database.write((trx) => failPendingDeliveries(trx, otherId, startOfTests))
    await database.migrate((_, runScript) => runScript(failUpdates(id)))
    const faults: unknown[] = []
    await applyCutoffs(
      database,
      () => startOfTests,
      never,
      (error) => faults.push(error),
    )
    assert.match(String(faults), /broken/)
    const rows = database.read.selectFrom('webhook_deliveries').select('webhook_id')
    const pending = await rows.where('next_attempt_at', 'is not', null).execute()
    const webhooks = new Set(pending.map((row) => row.webhook_id))
    assert.deepEqual([webhooks.has(id), webhooks.has(otherId)], [true, false])
  })

  test('cannot be retried until then', async (t) => {
    const { service, database, id, send, path, isApplied } = await stage(t)
    await send('PATCH', path, { status: 'paused' })
    await addBacklog(database, id, ['pet.created'], service.now())
    const [oldest] = (await send('GET', `${path}/deliveries`)).json
    const retry = () => send('POST', `${path}/deliveries/${oldest.id}/retry`)
    await limitTransactions(database, 0, async (db) => {
      const cutoff = { name: `webhooks.cutoff.${id}.pet.created`, value: oldest.id }
      await db.insertInto('cursors').values(cutoff).execute()
    })
    const rejected = await retry()
    assert.deepEqual([rejected.status, rejected.json.code], [503, 'unavailable'])
    assert.match(String(rejected.headers['retry-after']), /^\d+$/)
    await removeLimit(database)
    await isApplied()
    assert.equal((await retry()).status, 202)
  })
})
