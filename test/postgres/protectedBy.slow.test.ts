import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type pg from 'pg'
import { applyRecords } from '../../src/commands/import/applyRecords.ts'
import type { Database } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import {
  continueFeed,
  eventRetentionMs,
  lastPrunedEventId,
  pruneEvents,
  recordEvent,
} from '../../src/events/queries.ts'
import type { PetRecord } from '../../src/pets/record.ts'
import { pruneExpired } from '../../src/schedule.ts'
import { pruneDeliveries } from '../../src/webhooks/deliveries.ts'
import { dispatchEvents, hasUndispatchedEvents } from '../../src/webhooks/dispatch.ts'
import { createWebhook } from '../../src/webhooks/queries.ts'
import { webhooksMax } from '../../src/webhooks/webhook.ts'
import { openDatabaseFor, openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { heldWritesFor, type Side } from '../support/heldWrites.ts'
import { adminKey, makeAmpleKey, requestOk, servicesFor, tally } from '../support/instances.ts'
import { clientFor, untilWaiting, waitersOf } from '../support/lockWaiters.ts'
import { assertError } from '../support/responses.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { loopbackAllowed } from '../support/webhookReceiver.ts'

/** Two instances on one database, without HTTP, and a connection of its own. */
async function twoDatabasesFor(t: TestContext) {
  const undo = reverseCleanup(t)
  const { env, database: one } = await openDatabaseFor(undo)
  const two = await openTestDatabase(env)
  undo.after(() => two.close())
  return { one, two, client: await clientFor(undo, env) }
}

/** A write that has done its work and is open until it is released. */
async function holdOpen<T>(database: Database, work: (trx: Trx) => Promise<T>) {
  const worked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const write = database.write(async (trx) => {
    const value = await work(trx)
    worked.resolve()
    await released.promise
    return value
  })
  await Promise.race([worked.promise, write])
  return {
    release(): Promise<T> {
      released.resolve()
      return write
    },
  }
}

/** Holds the first write open until the second waits for it. */
async function secondWaits<A, B>(
  client: pg.Client,
  [first, second]: [Database, Database],
  work: (trx: Trx) => Promise<A>,
  otherWork: (trx: Trx) => Promise<B>,
): Promise<[A, B]> {
  const held = await holdOpen(first, work)
  const waiting = second.write(otherWork)
  await untilWaiting(client)
  return Promise.all([held.release(), waiting])
}

describe('orders that wait for a locked animal', () => {
  const orders = 30

  test('do not stop authentication, reads and other writes', async (t) => {
    const { all: services, first, databaseEnv } = await servicesFor(t, {}, {}, 2)
    const key = await makeAmpleKey(first)
    const { id: petId } = (await requestOk(first, 'POST', '/v1/pets', { name: 'Wanted', categoryId: 3 })).json
    const client = await clientFor(t, databaseEnv)
    const holder = await clientFor(t, databaseEnv)
    await holder.query('BEGIN')
    await holder.query('SELECT 1 FROM pets WHERE id = $1 FOR UPDATE', [petId])
    const waiting = Array.from({ length: orders }, (_, index) =>
      services[index % 2]?.request('POST', '/v1/store/orders', { key, body: { petId } }),
    )
    // Two of each instance: the others wait in their process.
    await untilWaiting(client, 4)
    // At the same time: the waits for the lock end after 2 s.
    const others = services.flatMap(({ request }, index) => [
      request('GET', '/v1/pets', { key }),
      request('GET', '/v1/events', { key }),
      request('GET', '/v1/pets', { key: 'unknown' }),
      request('POST', '/v1/pets', { key, body: { name: 'Other', categoryId: 3 } }),
      request('POST', '/v1/categories', {
        key,
        headers: { 'idempotency-key': `other-${index}` },
        body: { name: `Other ${index}` },
      }),
    ])
    const statuses = (await Promise.all(others)).map(({ status }) => status)
    assert.equal(await waitersOf(client), 4)
    await holder.query('COMMIT')
    assert.deepEqual(statuses, [200, 200, 401, 201, 201, 200, 200, 401, 201, 201])
    const responses = await Promise.all(waiting)
    assert.deepEqual(tally(responses.map((response) => response?.status)), { 201: 1, 409: orders - 1 })
  })

  test('do not stop authentication and reads, even if they use all connections that write', async (t) => {
    const poolMax = 4
    const env = { PETSTORE_DATABASE_POOL: String(poolMax) }
    const { first, databaseEnv } = await servicesFor(t, env, {}, 1)
    const key = await makeAmpleKey(first)
    const petIds: number[] = []
    while (petIds.length < orders)
      petIds.push((await requestOk(first, 'POST', '/v1/pets', { name: 'Wanted', categoryId: 3 })).json.id)
    const client = await clientFor(t, databaseEnv)
    const holder = await clientFor(t, databaseEnv)
    await holder.query('BEGIN; SELECT 1 FROM pets FOR UPDATE')
    const waiting = petIds.map((petId) => first.request('POST', '/v1/store/orders', { key, body: { petId } }))
    await untilWaiting(client, poolMax)
    const reads = Array.from({ length: 10 }, (_, turn) =>
      first.request('GET', turn % 2 === 0 ? '/v1/pets' : '/v1/events', { key }),
    )
    const statuses = (await Promise.all(reads)).map(({ status }) => status)
    assert.equal(await waitersOf(client), poolMax)
    await holder.query('COMMIT')
    assert.deepEqual(tally(statuses), { 200: 10 })
    const responses = await Promise.all(waiting)
    assert.deepEqual(tally(responses.map(({ status }) => status)), { 201: orders })
  })
})

describe('ids', () => {
  const draw = (count: number) => (trx: Trx) => trx.dialect.assignIds(trx, 'pets', count)
  const reserve = (upTo: number) => (trx: Trx) => trx.dialect.reserveIds(trx, 'pets', upTo)

  test('that are reserved are not assigned to others, before and after the commit', async (t) => {
    const { one, two, client } = await twoDatabasesFor(t)
    const meet = <A, B>(a: (trx: Trx) => Promise<A>, b: (trx: Trx) => Promise<B>) =>
      secondWaits(client, [one, two], a, b)
    assert.deepEqual((await meet(reserve(100), draw(1)))[1], [101])
    // A lower reservation that has waited does not move the sequence back.
    await meet(reserve(200), reserve(150))
    assert.deepEqual(await one.write(draw(1)), [201])
    // A reservation waits for those that have drawn, and takes effect after.
    const [drawn] = await meet(draw(3), reserve(300))
    assert.deepEqual(drawn, [202, 203, 204])
    assert.deepEqual(await two.write(draw(1)), [301])
    // One that is lower than what others have drawn changes nothing, and does not wait.
    const held = await holdOpen(one, draw(5))
    await two.write(reserve(304))
    assert.deepEqual(await two.write(draw(1)), [307])
    assert.deepEqual(await held.release(), [302, 303, 304, 305, 306])
  })

  test('are not lost if the reservation is rolled back', async (t) => {
    const { one, two, client } = await twoDatabasesFor(t)
    const failing = await holdOpen(one, async (trx) => {
      await reserve(100)(trx)
    })
    const waiting = two.write(draw(1))
    await untilWaiting(client)
    // Ends the connection of the reservation.
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
    )
    assert.deepEqual(await waiting, [1])
    await assert.rejects(failing.release())
  })

  test('are assigned once while two instances draw and reserve', async (t) => {
    const { one, two } = await twoDatabasesFor(t)
    const drawn: number[] = []
    let reserved = 0
    async function drawMany(database: Database) {
      for (let turn = 0; turn < 60; turn++) {
        const above = reserved
        const ids = await database.write(draw(3))
        for (const id of ids) assert.ok(id > above, `${id} was reserved, up to ${above}`)
        drawn.push(...ids)
      }
    }
    async function reserveMany(database: Database) {
      for (let turn = 0; turn < 30; turn++) {
        // Around the ids that are drawn at the same time.
        const upTo = Math.max(0, ...drawn) + (turn % 7) - 2
        await database.write(reserve(upTo))
        reserved = Math.max(reserved, upTo)
      }
    }
    await Promise.all([one, two, one, two].map(drawMany).concat([one, two].map(reserveMany)))
    assert.equal(new Set(drawn).size, drawn.length)
  })

  const record = (id: number | undefined): PetRecord => ({
    type: 'pet',
    id,
    name: 'Imported',
    categoryId: 9n,
    status: 'available',
  })
  const importing =
    (...ids: (number | undefined)[]) =>
    (trx: Trx) =>
      applyRecords(trx, ids.map(record), 0)
  const addPet = { name: 'Added', categoryId: 9 }

  test('of imported animals are not assigned to new ones', async (t) => {
    const { free, key, client, meet } = await heldWritesFor(t, 'before its last statement')
    const add = ({ service }: Side) => service.request('POST', '/v1/pets', { key, body: addPet })
    const first: number = (await add(free)).json.id
    // The import has the next id, and the new animal gets the one after.
    const importFirst = await meet(({ database }) => database.write(importing(first + 1)), add)
    assert.ok(importFirst.hasWaited)
    assert.equal(importFirst.results[1].json.id, first + 2)
    // The new animal has the next id, and the import replaces it.
    const addFirst = await meet(add, ({ database }) => database.write(importing(first + 3, undefined)))
    assert.ok(addFirst.hasWaited)
    assert.equal(addFirst.results[0].json.id, first + 3)
    const { rows } = await client.query('SELECT id::int, name FROM pets WHERE id > $1 ORDER BY id', [first])
    assert.deepEqual(rows.slice(0, 3), [
      { id: first + 1, name: 'Imported' },
      { id: first + 2, name: 'Added' },
      { id: first + 3, name: 'Imported' },
    ])
    assert.equal(rows.length, 4)
    assert.equal((await add(free)).status, 201)
  })
})

test('a new name of a category does not wait for animals that are added to it, nor they for it', async (t) => {
  const { free, key, meet } = await heldWritesFor(t, 'before its last statement')
  const { id } = (await requestOk(free.service, 'POST', '/v1/categories', { name: 'Dogs' })).json
  const add = ({ service }: Side) =>
    service.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: id } })
  const rename = ({ service }: Side) =>
    service.request('PATCH', `/v1/categories/${id}`, { key, body: { name: 'Cats' } })
  const renamedSecond = await meet(add, rename)
  assert.deepEqual([renamedSecond.isHeld, renamedSecond.hasWaited], [true, false])
  const renameBack = ({ service }: Side) =>
    service.request('PATCH', `/v1/categories/${id}`, { key, body: { name: 'Dogs' } })
  const addedSecond = await meet(renameBack, add)
  assert.deepEqual([addedSecond.isHeld, addedSecond.hasWaited], [true, false])
  for (const { status, text } of [...renamedSecond.results, ...addedSecond.results])
    assert.ok(status < 300, text)
})

test('the removal of a category in use does not wait for animals that are added to it', async (t) => {
  const { first, databaseEnv } = await servicesFor(t, {}, {}, 1)
  await requestOk(first, 'POST', '/v1/pets', { name: 'First', categoryId: 3 })
  const adding = await clientFor(t, databaseEnv)
  await adding.query('BEGIN; SELECT 1 FROM categories WHERE category_id = 3 FOR KEY SHARE')
  const removal = await first.request('DELETE', '/v1/categories/3', { key: adminKey })
  assertError(removal, 409, 'category_in_use')
  await adding.query('COMMIT')
})

test('the maximum number of webhooks holds if two instances register the last one', async (t) => {
  const { client, meet } = await heldWritesFor(t, 'before its last statement', { env: loopbackAllowed })
  // They start after all events: otherwise the held instance would wait while it dispatches events.
  await client.query(
    `INSERT INTO webhooks (url, events, from_event_id, status, secret, created_at)
      SELECT 'http://127.0.0.1:9/', '["pet.created"]', 1000000, 'paused', 'secret', 0 FROM generate_series(2, $1::int)`,
    [webhooksMax],
  )
  const register = ({ service }: Side) =>
    service.request('POST', '/v1/webhooks', {
      key: adminKey,
      body: { url: 'http://127.0.0.1:9/', events: ['pet.created'] },
    })
  const { results, hasWaited } = await meet(register, register)
  assert.ok(hasWaited)
  assert.equal(results[0].status, 201, results[0].text)
  assertError(results[1], 400, 'validation_failed')
  const { rows } = await client.query('SELECT count(*)::int AS count FROM webhooks')
  assert.deepEqual(rows, [{ count: webhooksMax }])
})

const recordMany = (database: Database, count: number, now = 0) =>
  database.write(async (trx) => {
    for (let id = 1; id <= count; id++) await recordEvent(trx, now, 'pet.deleted', { id })
  })

describe('two instances that dispatch events to webhooks', () => {
  const events = 10

  async function withEvents(t: TestContext) {
    const { one, two, client } = await twoDatabasesFor(t)
    const webhook = { url: 'http://127.0.0.1:9/', events: ['pet.deleted' as const] }
    await one.write((trx) => createWebhook(trx, webhook, 0, 0))
    await recordMany(one, events)
    const dispatch = (through: number) => (trx: Trx) => dispatchEvents(trx, 0, through)
    assert.equal(await one.readableThrough(), events)
    const assertOnce = async () => {
      while (await hasUndispatchedEvents(two.read, events)) await two.write(dispatch(events))
      const { rows } = await client.query('SELECT event_id::int AS id FROM webhook_deliveries ORDER BY id')
      assert.deepEqual(
        rows.map(({ id }) => id),
        Array.from({ length: events }, (_, index) => index + 1),
      )
    }
    return { one, two, client, dispatch, assertOnce }
  }

  test('create one delivery for each event', async (t) => {
    const { one, two, client, dispatch, assertOnce } = await withEvents(t)
    await secondWaits(client, [one, two], dispatch(events), dispatch(events))
    await assertOnce()
  })

  test('create one delivery for each event if one of them knows of fewer events', async (t) => {
    const { one, two, client, dispatch, assertOnce } = await withEvents(t)
    await secondWaits(client, [one, two], dispatch(events), dispatch(events / 2))
    await assertOnce()
  })
})

describe('two instances that prune', () => {
  const now = eventRetentionMs + 1

  test('delete each event once and in order', async (t) => {
    const { one, two, client } = await twoDatabasesFor(t)
    await recordMany(one, 1_500)
    await recordMany(one, 1, now)
    assert.equal(await one.readableThrough(), 1_501)
    const prune = (trx: Trx) => pruneEvents(trx, now)
    assert.deepEqual(await secondWaits(client, [one, two], prune, prune), [1_000, 500])
    assert.equal(await lastPrunedEventId(two.read), 1_500)
    const { rows } = await client.query('SELECT id::int FROM events')
    assert.deepEqual(rows, [{ id: 1_501 }])
  })

  test('delete deliveries without an error', async (t) => {
    const { one, two, client } = await twoDatabasesFor(t)
    await client.query(`
      INSERT INTO webhooks (url, events, from_event_id, status, secret, created_at) VALUES ('', '[]', 0, 'paused', '', 0);
      INSERT INTO webhook_deliveries (webhook_id, event_type, event_at, data, status, attempts, claimed_until, created_at)
      SELECT 1, 'pet.deleted', 0, '{}', 'delivered', 1, 0, 0 FROM generate_series(1, 1500)`)
    const prune = (trx: Trx) => pruneDeliveries(trx, now)
    await secondWaits(client, [one, two], prune, prune)
    await pruneExpired(two, () => now, undefined, assert.ifError)
    assert.equal((await client.query('SELECT 1 FROM webhook_deliveries')).rowCount, 0)
  })

  test('also delete events that no one has read', async (t) => {
    const { one, client } = await twoDatabasesFor(t)
    await recordMany(one, 10)
    await pruneExpired(one, () => now, undefined, assert.ifError)
    assert.equal((await client.query('SELECT 1 FROM events')).rowCount, 0)
    assert.equal(await lastPrunedEventId(one.read), 10)
  })

  test('never move the start of a feed back that continues another one', async (t) => {
    const { one, two, client } = await twoDatabasesFor(t)
    await recordMany(one, 10)
    await one.readableThrough()
    const [, pruned] = await secondWaits(
      client,
      [one, two],
      (trx) => continueFeed(trx, 5_000),
      (trx) => pruneEvents(trx, now),
    )
    assert.equal(pruned, 10)
    assert.equal(await lastPrunedEventId(one.read), 5_000)
    await recordMany(two, 1)
    assert.equal(await one.readableThrough(), 5_001)
  })
})

test('a change of another instance is noticed, also if it was open for longer than later ones', async (t) => {
  const { one, two } = await twoDatabasesFor(t)
  let noticed = 0
  two.onExternalChange(async () => {
    noticed = Math.max(noticed, await two.readableThrough())
  })
  await eventually('the first changes are noticed', async () => {
    await recordMany(one, 1)
    return noticed > 0
  })
  const held = await holdOpen(one, async (trx) => recordEvent(trx, 0, 'pet.deleted', { id: 1 }))
  await recordMany(one, 1)
  const before = await one.readableThrough()
  await eventually('the change after it is noticed', () => noticed >= before)
  await held.release()
  await eventually('the change that was open is noticed', () => noticed === before + 1)
})

test('ids that an import has reserved stay reserved, also if it changes nothing else', async (t) => {
  const { one, two } = await twoDatabasesFor(t)
  for (const table of ['pets', 'orders', 'api_keys'] as const) {
    await one.write((trx) => trx.dialect.reserveIds(trx, table, 500))
    assert.equal(await two.read.dialect.lastAssignedId(two.read, table), 500)
  }
})
