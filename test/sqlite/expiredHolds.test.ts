import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expireDueHolds, listOrders } from '../../src/orders/queries.ts'
import { openDatabaseFor } from '../support/engine.ts'

const now = Date.UTC(2030, 0, 1)

// On SQLite only expireDueHolds reads the clock here, so the test knows how often.
test('a batch of expired holds has at most 500 and ends after 200 ms, but not before the first', async (t) => {
  const { database } = await openDatabaseFor(t)
  const { read } = database
  await database.write(async (trx) => {
    await trx.insertInto('categories').values({ category_id: 1n, name: 'Cats' }).execute()
    const pet = { name: 'Nala', category_id: 1n, status: 'pending' }
    const pets = await trx
      .insertInto('pets')
      .values(Array.from({ length: 504 }, () => pet))
      .returning('id')
      .execute()
    // The hold of the last one expires first.
    const times = { status: 'placed', placed_at: now, updated_at: now }
    const orders = pets.map(({ id }, n) => ({ ...times, pet_id: id, hold_expires_at: now - n }))
    await trx.insertInto('orders').values(orders).execute()
  })
  const expireAfter = (stepMs: number) =>
    database.write((trx) => {
      let time = 0
      const clock = t.mock.method(performance, 'now', () => (time += stepMs))
      return expireDueHolds(trx, now).finally(() => clock.mock.restore())
    })
  const open = async () => (await listOrders(read, 600, undefined, { status: 'placed' })).length
  assert.equal(await expireAfter(1000), 1)
  assert.equal(await open(), 503)
  assert.equal(await expireAfter(100), 3)
  const newest = await listOrders(read, 1, undefined, {})
  assert.deepEqual([newest[0]?.status, await open()], ['cancelled', 500])
  assert.equal(await expireAfter(0), 500)
  assert.equal(await open(), 0)
})
