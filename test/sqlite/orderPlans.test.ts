import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { after, before, test } from 'node:test'
import type { CompiledQuery } from 'kysely'
import { isCategoryUsed, listCategories } from '../../src/categories/queries.ts'
import type { Database } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { orderStatuses } from '../../src/orders/order.ts'
import {
  expireDueHolds,
  findOpenOrderForUpdate,
  findOrder,
  hasDueHolds,
  ordersPageQuery,
} from '../../src/orders/queries.ts'
import { openTestDatabase, temporaryFolder } from '../support/engine.ts'
import { withQueryListener } from '../support/statements.ts'

const orders = 50_000

let folder: string
let database: Database
let connection: DatabaseSync
before(async () => {
  folder = temporaryFolder()
  database = await openTestDatabase({ PETSTORE_DATA_DIR: folder })
  connection = new DatabaseSync(databaseFile(folder), { timeout: 10_000 })
  // None is open, so that animals may have many; none is due.
  connection.exec(`
    INSERT INTO orders (id, pet_id, status, placed_at, updated_at)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${orders})
    SELECT i, i % 100, CASE i % 5 WHEN 0 THEN 'cancelled' ELSE 'delivered' END, i, i FROM n`)
})
after(async () => {
  connection.close()
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

function planOf({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): string[] {
  const bound = parameters.map((value) => (typeof value === 'number' ? BigInt(value) : value))
  const plan = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...(bound as SQLInputValue[]))
  return plan.map(({ detail }) => String(detail))
}

function assertByIndex(steps: string[]): void {
  const text = steps.join('\n')
  assert.ok(steps.length > 0)
  for (const step of steps) assert.doesNotMatch(step, /\bSCAN\b|TEMP B-TREE/, text)
  assert.ok(
    steps.some((step) => /^SEARCH/.test(step)),
    text,
  )
}

for (const status of [undefined, ...orderStatuses]) {
  for (const petId of [undefined, 7n]) {
    for (const belowId of [undefined, orders / 2]) {
      const filter = [status ?? 'any status', petId === undefined ? 'any animal' : 'one animal'].join(', ')
      const where = belowId === undefined ? 'first page' : 'page in the middle'
      test(`the ${where} of orders of ${filter} is found by an index alone, with no sorting`, () => {
        assertByIndex(planOf(ordersPageQuery(database.read, 101, belowId, { status, petId }).compile()))
      })
    }
  }
}

test('each combination of filters has an index that knows its order', () => {
  const used = (filter: Parameters<typeof ordersPageQuery>[3]) =>
    planOf(ordersPageQuery(database.read, 101, orders / 2, filter).compile())[0] ?? ''
  assert.match(used({}), /INTEGER PRIMARY KEY \(rowid<\?\)/)
  assert.match(used({ status: 'delivered' }), /orders_by_status \(status=\? AND id<\?\)/)
  assert.match(used({ petId: 7n }), /orders_by_pet \(pet_id=\? AND id<\?\)/)
  assert.match(
    used({ status: 'delivered', petId: 7n }),
    /orders_by_pet_and_status \(pet_id=\? AND status=\? AND id<\?\)/,
  )
})

/** Runs the work and returns every query that it made. */
async function queriesOf(work: (trx: Trx) => Promise<unknown>): Promise<CompiledQuery[]> {
  const made: CompiledQuery[] = []
  await database.write((trx) => work(withQueryListener(trx, (query) => made.push(query))))
  return made
}

const others: [what: string, work: (trx: Trx) => Promise<unknown>][] = [
  ['one order', (db) => findOrder(db, 5)],
  ['the open order of an animal', (db) => findOpenOrderForUpdate(db, 7n)],
  ['whether a hold has expired', (db) => hasDueHolds(db, 0)],
  ['the holds that have expired', (db) => expireDueHolds(db, 0)],
  ['whether an animal uses a category', (db) => isCategoryUsed(db, 3n)],
  ['a page of categories', (db) => listCategories(db, 101, 3n)],
]
for (const [what, work] of others) {
  test(`${what}: found by an index alone, with no sorting`, async () => {
    const queries = await queriesOf(work)
    assert.ok(queries.length > 0)
    for (const query of queries) assertByIndex(planOf(query))
  })
}
