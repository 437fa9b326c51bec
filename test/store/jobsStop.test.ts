import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '../../src/database/database.ts'
import type { Db } from '../../src/database/db.ts'
import { PostgresRateLimiter } from '../../src/limits/postgresRateLimiter.ts'
import { expireHolds, pruneExpired } from '../../src/schedule.ts'
import { applyCutoffs } from '../../src/webhooks/cutoffs.ts'
import { engine, openDatabaseFor } from '../support/engine.ts'

/** More than two batches of each job. */
const rowsMany = 2_500
const batchMax = 1_000
/** More than one batch, which has at most 500. */
const holds = 600
const late = Date.UTC(2030, 0, 1)
const clock = () => late

const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`
const many = numbers(rowsMany)
const oldRows = `
  INSERT INTO events (type, created_at, data, is_private) ${many} SELECT 'pet.deleted', 0, '{}', 0 FROM numbers;
  INSERT INTO webhooks (url, events, from_event_id, status, secret, created_at) VALUES ('', '[]', 0, 'paused', '', 0);
  INSERT INTO webhook_deliveries (webhook_id, event_type, event_at, data, status, attempts, claimed_until, created_at)
    ${many} SELECT 1, 'pet.deleted', 0, '{}', 'delivered', 1, 0, 0 FROM numbers;
  INSERT INTO audit_entries (at, actor_command, action, subject) ${many} SELECT 0, 'import', 'a', 's' FROM numbers;
  INSERT INTO idempotency_records (key_id, idempotency_key, fingerprint, status, headers, body, created_at)
    ${many} SELECT n, 'a', '', 200, '{}', '', 0 FROM numbers;
  INSERT INTO usage_counts (key_id, bucket_ms, starts_at, name, count) ${many} SELECT n, 60000, 0, 'requests', 1 FROM numbers;
  INSERT INTO webhook_deliveries
      (webhook_id, event_type, event_at, data, status, attempts, next_attempt_at, claimed_until, created_at)
    ${many} SELECT 1, 'pet.updated', 0, '{}', 'pending', 0, 0, 0, ${late} FROM numbers;
  INSERT INTO cursors (name, value) VALUES ('webhooks.cutoff.1.all', ${2 * rowsMany});
  INSERT INTO categories (category_id, name) VALUES (1, 'Cats');
  INSERT INTO pets (name, category_id, status) ${numbers(holds)} SELECT 'Milo', 1, 'pending' FROM numbers;
  INSERT INTO orders (pet_id, status, placed_at, updated_at, hold_expires_at)
    ${numbers(holds)} SELECT n, 'placed', 0, 0, 1 FROM numbers`
const oldAddresses = `
  INSERT INTO address_usage (address, minute_ends_at, minute_used, day_ends_at, day_used)
    ${many} SELECT n::text, 0, 1, 0, 1 FROM numbers`

type Job = {
  run(database: Database, signal: AbortSignal): Promise<void>
  /** Conditions that rows meet until the job has handled them. */
  readonly left: readonly string[]
  /** After how many transactions each of the stops occurs. */
  readonly stopsAfter?: readonly number[]
}

const rethrow = (error: unknown) => {
  throw error
}

const jobs: Record<string, Job> = {
  'expired rows': {
    run: (database, signal) => pruneExpired(database, clock, signal, rethrow),
    left: [
      'events WHERE created_at = 0',
      'webhook_deliveries WHERE created_at = 0',
      'audit_entries WHERE at = 0',
      'usage_counts',
      'idempotency_records',
    ],
    // A transaction that finds nothing ends the work on each table, so these are in the first batch of the tables.
    stopsAfter: [1, 4, 5, 6, 7],
  },
  holds: {
    run: (database, signal) => expireHolds(database, clock, signal),
    left: ['orders WHERE hold_expires_at IS NOT NULL'],
  },
  'deliveries before a cutoff': {
    run: (database, signal) => applyCutoffs(database, clock, signal, rethrow),
    left: ["webhook_deliveries WHERE status = 'pending'"],
  },
  ...(engine === 'postgres' && {
    'counts of addresses': {
      run: (database: Database, signal: AbortSignal) =>
        new PostgresRateLimiter({ database, banAfterRejections: 100, clock, limitClock: clock }).sweep(
          signal,
        ),
      left: ['address_usage'],
    },
  }),
}

/** The database, with a signal that is aborted as soon as this many transactions have ended. */
function stopping(database: Database, transactions: number) {
  const controller = new AbortController()
  let count = 0
  const counted =
    <T extends unknown[], R>(run: (...args: T) => Promise<R>) =>
    async (...args: T): Promise<R> => {
      const result = await run(...args)
      if (++count === transactions) controller.abort()
      return result
    }
  const { write, writeUnlogged } = database
  const observed = { ...database, write: counted(write), writeUnlogged: counted(writeUnlogged) } as Database
  return { observed, signal: controller.signal, count: () => count }
}

async function countRows(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM ${sql.raw(table)}`.execute(db)
  return Number(rows[0]?.count)
}

test('every job ends after its current batch when the service stops, and a later run continues', async (t) => {
  const { database } = await openDatabaseFor(t)
  await database.migrate((_, runScript) => runScript(oldRows))
  if (engine === 'postgres') await database.migrate((_, runScript) => runScript(oldAddresses))
  for (const [name, { run, left, stopsAfter = [1] }] of Object.entries(jobs)) {
    for (const [index, transactions] of stopsAfter.entries()) {
      const table = left[index] as string
      const before = await countRows(database.read, table)
      const { observed, signal, count } = stopping(database, transactions)
      await run(observed, signal)
      assert.equal(count(), transactions, `${name}: transactions until the stop`)
      const after = await countRows(database.read, table)
      assert.ok(after < before && after >= before - batchMax && after > 0, `${table}: ${before} to ${after}`)
    }
    await run(database, new AbortController().signal)
    for (const table of left) assert.equal(await countRows(database.read, table), 0, table)
  }
})

test('tables that cannot be pruned do not stop the others', async (t) => {
  const { database } = await openDatabaseFor(t)
  await database.migrate((_, runScript) => runScript(oldRows))
  const tables = jobs['expired rows']?.left ?? []
  const countAll = () => Promise.all(tables.map((table) => countRows(database.read, table)))
  const faults = [new Error('Events cannot be numbered.'), new Error('Deliveries cannot be pruned.')]
  const failures: unknown[] = []
  let transactions = 0
  const faulty: Database = {
    ...database,
    allReadableThrough: () => Promise.reject(faults[0]),
    async writeUnlogged(run) {
      if (transactions++ === 0) throw faults[1]
      return database.writeUnlogged(run)
    },
  }
  await pruneExpired(faulty, clock, undefined, (error) => void failures.push(error))
  assert.deepEqual(failures, faults)
  assert.deepEqual(await countAll(), [rowsMany, rowsMany, 0, 0, 0])
  await pruneExpired(database, clock, undefined, rethrow)
  assert.deepEqual(await countAll(), [0, 0, 0, 0, 0])
})
