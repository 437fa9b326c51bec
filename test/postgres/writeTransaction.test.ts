import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  eraseFromIdempotencyRecords,
  pruneIdempotencyRecords,
  recordRetentionMs,
} from '../../src/api/idempotency.ts'
import type { Database } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { recordEvent } from '../../src/events/queries.ts'
import { petStatuses } from '../../src/pets/pet.ts'
import { createPet } from '../../src/pets/queries.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { clientFor, untilWaiting } from '../support/lockWaiters.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'

const now = recordRetentionMs * 2

describe('an idempotency record that another transaction has replaced', () => {
  /** Replaces an expired record, runs the work until it waits for the record, and commits. Returns the record. */
  async function replacedDuring(t: TestContext, work: (database: Database) => Promise<unknown>) {
    const undo = reverseCleanup(t)
    const { env, database } = await openDatabaseFor(undo)
    const record = { key_id: 1, idempotency_key: 'once', fingerprint: 'f', status: 201, headers: '{}' }
    await database.write((trx) =>
      trx
        .insertInto('idempotency_records')
        .values({ ...record, body: 'expired', created_at: 0, subject_ref: 'order 1' })
        .execute(),
    )
    const [other, observer] = [await clientFor(undo, env), await clientFor(undo, env)]
    await other.query('BEGIN')
    await other.query("UPDATE idempotency_records SET body = 'new', created_at = $1", [now])
    const working = work(database)
    await untilWaiting(observer)
    await other.query('COMMIT')
    await working
    return database.read.selectFrom('idempotency_records').select(['body', 'created_at']).execute()
  }

  test('is not deleted as an expired record', async (t) => {
    const prune = (database: Database) => database.writeUnlogged((trx) => pruneIdempotencyRecords(trx, now))
    const records = await replacedDuring(t, prune)
    assert.deepEqual(records, [{ body: 'new', created_at: now }])
  })

  test('keeps its new response if customer data is erased from it', async (t) => {
    const erase = (trx: Trx) => eraseFromIdempotencyRecords(trx, 'order 1', (json) => `${json} without data`)
    const records = await replacedDuring(t, (database) => database.write(erase))
    assert.deepEqual(records, [{ body: 'new without data', created_at: now }])
  })
})

describe('a write that fails stores nothing', () => {
  const rowsOf = async ({ read }: Database) => ({
    pets: await read.selectFrom('pets').select('name').execute(),
    events: await read.selectFrom('events').select('type').execute(),
  })

  test('if it records an event without counting it in the version of the database', async (t) => {
    const { database } = await openDatabaseFor(t)
    const before = await rowsOf(database)
    await assert.rejects(
      database.writeUnlogged((trx) => createPet(trx, { name: 'Milo', categoryId: 1n }, now)),
      /Events need a logged transaction/,
    )
    assert.deepEqual(await rowsOf(database), before)
  })

  test('if a statement fails before it is sent, and the connection works afterwards', async (t) => {
    const { database } = await openDatabaseFor(t)
    const { id } = await database.write((trx) => createPet(trx, { name: 'Milo', categoryId: 1n }, now))
    const before = await rowsOf(database)
    const circular: { self?: unknown } = {}
    circular.self = circular
    await assert.rejects(
      database.write(async (trx) => {
        await trx.send(
          trx
            .updateTable('pets')
            .set({ name: circular as never })
            .where('id', '=', id),
        )
        await recordEvent(trx, now, 'pet.deleted', { id })
      }),
    )
    assert.deepEqual(await rowsOf(database), before)
    await database.write((trx) => createPet(trx, { name: 'Luna', categoryId: 1n }, now))
    assert.equal((await rowsOf(database)).pets.length, 2)
  })
})

test('animals that a migration adds, changes and removes are counted', async (t) => {
  const { database } = await openDatabaseFor(t)
  await database.migrate(async (_trx, runScript) => {
    await runScript(`
      INSERT INTO categories (category_id) VALUES (1);
      INSERT INTO pets (name, category_id, status) VALUES ('A', 1, 'available'), ('B', 1, 'sold'), ('C', 1, 'sold');
      UPDATE pets SET status = 'pending' WHERE name = 'A';
      DELETE FROM pets WHERE name = 'C'`)
  })
  assert.deepEqual(await database.read.dialect.counters(database.read, petStatuses), {
    available: 0,
    pending: 1,
    sold: 1,
  })
})
