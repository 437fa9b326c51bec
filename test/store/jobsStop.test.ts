import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { IdempotencyRecords } from '../../src/api/idempotency.ts'
import type { Tables } from '../../src/database/tables.ts'
import { expireHolds, pruneExpired } from '../../src/schedule.ts'
import { UsageCounter } from '../../src/usage/usageCounter.ts'
import { openDatabaseFor } from '../support/engine.ts'

/** More than one step of each job. */
const rowsMany = 2_500
const stepMax = 1_000
const late = Date.UTC(2030, 0, 1)

const many = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rowsMany})`
const oldRows = `
  INSERT INTO events (type, created_at, data, is_private) ${many} SELECT 'pet.deleted', 0, '{}', 0 FROM numbers;
  INSERT INTO webhooks (url, events, from_event_id, status, secret, created_at) VALUES ('', '[]', 0, 'paused', '', 0);
  INSERT INTO webhook_deliveries (webhook_id, event_type, event_at, data, status, attempts, claimed_until, created_at)
    ${many} SELECT 1, 'pet.deleted', 0, '{}', 'delivered', 1, 0, 0 FROM numbers;
  INSERT INTO audit_entries (at, actor_command, action, subject) ${many} SELECT 0, 'import', 'a', 's' FROM numbers;
  INSERT INTO idempotency_records (key_id, idempotency_key, fingerprint, status, headers, body, created_at)
    ${many} SELECT n, 'a', '', 200, '{}', '', 0 FROM numbers;
  INSERT INTO usage_counts (key_id, bucket_ms, starts_at, name, count) ${many} SELECT n, 60000, 0, 'requests', 1 FROM numbers;
  INSERT INTO categories (category_id, name) VALUES (1, 'Cats');
  INSERT INTO pets (name, category_id, status) VALUES ('Milo', 1, 'pending');
  INSERT INTO orders (pet_id, status, placed_at, updated_at, hold_expires_at) VALUES (1, 'placed', 0, 0, 1)`

test('every job ends after its current step when the service stops, and a later run continues', async (t) => {
  const { database } = await openDatabaseFor(t)
  await database.migrate((_, runScript) => runScript(oldRows))
  const clock = () => late
  const usage = new UsageCounter({
    ...{ database, clock, flushIntervalMs: 1, readFlushIntervalMs: 1 },
    isSameDatabase: async () => true,
  })
  const runAll = async (signal?: AbortSignal) => {
    await pruneExpired(database, clock, signal)
    await new IdempotencyRecords(database).sweep(late, signal)
    await usage.sweep(signal)
    await expireHolds(database, clock, signal)
  }
  const count = async (table: keyof Tables) => {
    const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM ${sql.table(table)}`.execute(
      database.read,
    )
    return Number(rows[0]?.count)
  }
  const tables = [
    'events',
    'webhook_deliveries',
    'audit_entries',
    'idempotency_records',
    'usage_counts',
  ] as const
  const heldOrders = async () =>
    (await database.read.selectFrom('orders').selectAll().where('hold_expires_at', 'is not', null).execute())
      .length
  await runAll(AbortSignal.abort())
  for (const table of tables) assert.ok((await count(table)) >= rowsMany - stepMax, table)
  assert.equal(await heldOrders(), 1)
  await runAll()
  assert.equal(await heldOrders(), 0)
  // The expired hold has an event, and it is recent.
  for (const table of tables) assert.ok((await count(table)) <= 2, table)
})
