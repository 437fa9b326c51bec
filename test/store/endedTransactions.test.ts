import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureCategory, updateCategory } from '../../src/categories/queries.ts'
import { TransactionEndedError } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { openDatabaseFor } from '../support/engine.ts'

/** The ways in which a handler executes a statement. */
const statements: Record<string, (trx: Trx, id: bigint) => Promise<unknown>> = {
  'a query': (trx, id) => trx.insertInto('categories').values({ category_id: id, name: null }).execute(),
  'a prepared query': (trx, id) => ensureCategory(trx, id, 0),
  'a statement without a result': (trx, id) => updateCategory(trx, { id: 2n, name: `late ${id}` }, 0),
}

for (const [what, execute] of Object.entries(statements)) {
  for (const outcome of ['fails', 'succeeds']) {
    test(`${what} of a write that ${outcome} does not run in the next transaction`, async (t) => {
      const { database } = await openDatabaseFor(t)
      const ended = Promise.withResolvers<void>()
      let late: Promise<unknown> = Promise.resolve()
      const first = database.write(async (trx) => {
        await ensureCategory(trx, 1n, 0)
        late = ended.promise.then(() => execute(trx, 3n))
        late.catch(() => {})
        if (outcome === 'fails')
          await Promise.all([late, Promise.reject(new Error('The first branch failed.'))])
      })
      if (outcome === 'fails') await assert.rejects(first, /The first branch failed/)
      else await first
      await database.write(async (trx) => {
        await ensureCategory(trx, 2n, 0)
        ended.resolve()
        await late.catch(() => {})
      })
      await assert.rejects(late, TransactionEndedError)
      const rows = await database.read.selectFrom('categories').selectAll().orderBy('category_id').execute()
      const expected = outcome === 'fails' ? [2n] : [1n, 2n]
      assert.deepEqual(
        rows.map(({ category_id, name }) => [category_id, name]),
        expected.map((id) => [id, null]),
      )
    })
  }
}
