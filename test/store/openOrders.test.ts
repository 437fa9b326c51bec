import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findOrder, hasOpenOrders, statusesByOpenOrders } from '../../src/orders/queries.ts'
import { openDatabaseFor } from '../support/engine.ts'

const now = Date.UTC(2030, 0, 1)
/** The hold of the animal in the middle has expired. */
const rows = `
  INSERT INTO categories (category_id, name) VALUES (1, 'Cats');
  INSERT INTO pets (id, name, category_id, status)
    VALUES (1, 'Milo', 1, 'pending'), (2, 'Luna', 1, 'pending'), (3, 'Coco', 1, 'pending'), (4, 'Nala', 1, 'available');
  INSERT INTO orders (id, pet_id, status, placed_at, updated_at, hold_expires_at) VALUES
    (1, 1, 'placed', 0, 0, ${now + 1}), (2, 2, 'placed', 0, 0, 1), (3, 3, 'approved', 0, 0, NULL)`

test('orders of animals between the given ones are left as they are', async (t) => {
  const { database } = await openDatabaseFor(t)
  await database.migrate((_, runScript) => runScript(rows))
  const statusesOf = (petIds: number[]) =>
    database.write(async (trx) => [...(await statusesByOpenOrders(trx, petIds, now))])
  assert.deepEqual(await statusesOf([1, 4]), [[1, 'pending']])
  assert.equal((await findOrder(database.read, 2))?.status, 'placed')
  assert.equal(await hasOpenOrders(database.read, [0, 4]), false)
  assert.equal(await hasOpenOrders(database.read, [3, 4]), true)
  assert.deepEqual(await statusesOf([2]), [])
  assert.equal((await findOrder(database.read, 2))?.status, 'cancelled')
})
