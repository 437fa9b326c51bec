import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { after, before, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { type PetFilter, petsPageQuery } from '../../src/pets/queries.ts'
import { openTestDatabase, temporaryFolder } from '../support/engine.ts'

const animals = 10_000
const categories = 200

let folder: string
let database: Database
let connection: DatabaseSync

before(async () => {
  folder = temporaryFolder()
  database = await openTestDatabase({ PETSTORE_DATA_DIR: folder })
  connection = new DatabaseSync(databaseFile(folder), { timeout: 10_000 })
  connection.exec(`
    PRAGMA synchronous = OFF;
    PRAGMA foreign_keys = OFF;
    BEGIN;
    INSERT INTO categories (category_id)
      WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${categories - 1}) SELECT i FROM n;
    INSERT INTO pets (id, name, category_id, status)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${animals})
      SELECT i, 'Pet', i % ${categories}, CASE i % 7 WHEN 0 THEN 'sold' WHEN 1 THEN 'pending' ELSE 'available' END FROM n;
    COMMIT;
  `)
})
after(async () => {
  connection.close()
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

const bound = (parameters: readonly unknown[]): SQLInputValue[] =>
  parameters.map((value) => (typeof value === 'number' ? BigInt(value) : value) as SQLInputValue)

const hundredIds = Array.from({ length: 100 }, (_, index) => BigInt(animals - index * 97))
const filters: Record<string, PetFilter> = {}
for (const status of [undefined, 'available', 'sold'] as const) {
  for (const categoryId of [undefined, 7n]) {
    for (const ids of [undefined, [BigInt(animals)], hundredIds]) {
      const words = [status, categoryId !== undefined && 'category', ids && `${ids.length} ids`]
      filters[words.filter(Boolean).join(' + ') || 'no filter'] = { status, categoryId, id: ids }
    }
  }
}

for (const [what, filter] of Object.entries(filters)) {
  for (const [where, belowId] of [
    ['first page', undefined],
    ['page in the middle', animals / 2],
    ['last page', 50],
  ] as const) {
    test(`the ${where} of ${what} is found by an index alone, with no sorting`, () => {
      const query = petsPageQuery(database.read, 101, belowId, filter).compile()
      const plan = connection.prepare(`EXPLAIN QUERY PLAN ${query.sql}`).all(...bound(query.parameters))
      const steps = plan.map(({ detail }) => String(detail))
      const text = steps.join('\n')
      assert.ok(
        steps.some((step) => /^SEARCH pets USING (COVERING )?(INDEX|INTEGER PRIMARY KEY)/.test(step)),
        text,
      )
      // The list of ids is a parameter, which is scanned.
      for (const step of steps) assert.doesNotMatch(step, /\bSCAN\b(?! json_each )|TEMP B-TREE/, text)
    })
  }
}

test('each combination of status and category has an index that knows its order, and all that a page shows', () => {
  const used = (filter: PetFilter) => {
    const query = petsPageQuery(database.read, 101, animals / 2, filter).compile()
    const [step] = connection.prepare(`EXPLAIN QUERY PLAN ${query.sql}`).all(...bound(query.parameters))
    return String(step?.detail)
  }
  assert.match(used({}), /INTEGER PRIMARY KEY \(rowid<\?\)/)
  assert.match(used({ status: 'sold' }), /COVERING INDEX pets_by_status \(status=\? AND id<\?\)/)
  assert.match(used({ categoryId: 7n }), /COVERING INDEX pets_by_category \(category_id=\? AND id<\?\)/)
  assert.match(
    used({ status: 'sold', categoryId: 7n }),
    /COVERING INDEX pets_by_category_and_status \(category_id=\? AND status=\? AND id<\?\)/,
  )
})

test('every page of a list is correct', async () => {
  const page = await petsPageQuery(database.read, 3, animals / 2, {
    status: 'sold',
    categoryId: 7n,
  }).execute()
  const expected = Array.from({ length: animals / 2 - 1 }, (_, index) => animals / 2 - 1 - index)
    .filter((id) => id % 7 === 0 && id % categories === 7)
    .slice(0, 3)
  assert.deepEqual(
    page.map(({ id }) => id),
    expected,
  )
})
