import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AuthorizedRequest } from '../../src/api/authentication.ts'
import { respondWithEtag } from '../../src/api/etag.ts'
import { type ExecuteOptions, Executor } from '../../src/api/executor.ts'
import { IdempotencyRecords } from '../../src/api/idempotency.ts'
import { defineOperation } from '../../src/api/operation.ts'
import type { Database } from '../../src/database/database.ts'
import { preparedQuery } from '../../src/database/preparedQuery.ts'
import type { RowSource } from '../../src/database/tables.ts'
import { inDatabase, openDatabaseFor } from '../support/engine.ts'

const dependsOn: readonly RowSource[] = [
  { table: 'pets', column: 'id' },
  { table: 'orders', column: 'pet_id' },
]

const addPet = ({ write }: Pick<Database, 'write'>, id: number) =>
  write(async (trx) => {
    const categories = trx.insertInto('categories').values({ category_id: 1n, name: null })
    await categories.onConflict((conflict) => conflict.doNothing()).execute()
    await trx.insertInto('pets').values({ id, name: 'Milo', category_id: 1n, status: 'available' }).execute()
  })
const addOrder = ({ write }: Pick<Database, 'write'>, id: number, pet_id: number) =>
  write((trx) => {
    const order = { id, pet_id, status: 'delivered', placed_at: 0, updated_at: 0 }
    return trx.insertInto('orders').values(order).execute()
  })
const moveOrder = ({ write }: Database, id: number, pet_id: number) =>
  write((trx) => trx.updateTable('orders').set({ pet_id }).where('id', '=', id).execute())

test('a commit reports the ids that its changes concern: of every source, before and after the change', async (t) => {
  const { database } = await openDatabaseFor(t)
  const ids: number[] = []
  database.watchRows(dependsOn, (id) => ids.push(id))
  const reported = () => ids.splice(0)
  for (const id of [1, 2]) await addPet(database, id)
  assert.deepEqual(reported(), [1, 2])
  await addOrder(database, 5, 1)
  assert.deepEqual(reported(), [1])
  await moveOrder(database, 5, 2)
  assert.deepEqual(reported(), [1, 2])
  await database.write((trx) => trx.updateTable('orders').set({ note: 'x' }).where('id', '=', 5).execute())
  assert.deepEqual(reported(), [2])
  await database.write((trx) => trx.deleteFrom('orders').where('id', '=', 5).execute())
  assert.deepEqual(reported(), [2])
  await database.write((trx) => trx.deleteFrom('pets').where('id', '=', 1).execute())
  assert.deepEqual(reported(), [1])
  await database.write((trx) => trx.updateTable('categories').set({ name: 'Cats' }).execute())
  assert.deepEqual(reported(), [], 'no source')
})

const petWithOrders = preparedQuery<[id: number], { name: string; orders: number }>(
  (db) =>
    db
      .selectFrom('pets')
      .where('pets.id', '=', 0)
      .select('name')
      .select((eb) =>
        eb
          .selectFrom('orders')
          .whereRef('pet_id', '=', 'pets.id')
          .select(eb.fn.countAll<number>().as('n'))
          .as('orders'),
      ) as never,
)

/** Reads an animal and the number of its orders, which are cached together as a list. */
async function orderCounterFor(t: TestContext) {
  const { env, database } = await openDatabaseFor(t)
  let reads = 0
  const operation = defineOperation('countOrders', 'GET /pets/{petId}/orders', {
    tag: 'Pets',
    summary: '',
    responses: {},
    cachedRow: { id: ({ petId }) => Number(petId), dependsOn },
    read(_input, { db }) {
      reads++
      return respondWithEtag(200, petWithOrders(db, 1) as readonly object[])
    },
  })
  const executor = new Executor({
    operations: [operation],
    database,
    idempotencyRecords: new IdempotencyRecords(database),
    clock: () => 0,
    redact: String,
  } as Partial<ExecuteOptions> as ExecuteOptions)
  const request = { method: 'GET', target: '/v1/pets/1/orders', header: () => undefined }
  const call = { request, operation, common: {}, params: { petId: '1' } } as unknown as AuthorizedRequest
  const read = async () => JSON.parse(String((await executor.execute(call)).body))
  return { env, database, read, reads: () => reads }
}

test('a cached response of two tables is valid until a row of either changes', async (t) => {
  const { env, database, read, reads } = await orderCounterFor(t)
  for (const id of [1, 2]) await addPet(database, id)
  const expected = { name: 'Milo', orders: 0 }
  let readsBefore = 0
  const assertReadOnce = async (what: string) => {
    for (let n = 0; n < 3; n++) assert.deepEqual(await read(), [expected], what)
    assert.equal(reads(), ++readsBefore, what)
  }
  await assertReadOnce('at first')
  await addOrder(database, 5, 1)
  expected.orders = 1
  await assertReadOnce('an order was added')
  await moveOrder(database, 5, 2)
  expected.orders = 0
  await assertReadOnce('an order was moved away')
  await moveOrder(database, 5, 1)
  expected.orders = 1
  await assertReadOnce('an order was moved here')
  await database.write((trx) => trx.updateTable('pets').set({ name: 'Otis' }).where('id', '=', 1).execute())
  expected.name = 'Otis'
  await assertReadOnce('the animal was changed')
  await database.write((trx) => trx.deleteFrom('orders').where('id', '=', 5).execute())
  expected.orders = 0
  await assertReadOnce('an order was deleted')
  // Another process.
  await inDatabase(env, (other) => addOrder(other, 6, 1))
  expected.orders = 1
  await new Promise(setImmediate)
  await assertReadOnce('another process has added an order')
  await addOrder(database, 7, 2)
  for (let n = 0; n < 3; n++) assert.deepEqual(await read(), [expected])
  assert.equal(reads(), readsBefore, 'an order of another animal changes nothing')
})
