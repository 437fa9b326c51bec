import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ensureCategory, updateCategory } from '../../src/categories/queries.ts'
import { TransactionEndedError } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { SuiteCleanup } from '../support/servers.ts'

/** The ways in which a handler executes a statement. */
const statements: Record<string, (trx: Trx, id: bigint) => Promise<unknown>> = {
  'a query': (trx, id) => trx.insertInto('categories').values({ category_id: id, name: null }).execute(),
  'a prepared query': (trx, id) => ensureCategory(trx, id, 0),
  'a statement without a result': (trx, id) => updateCategory(trx, { id: id - 1n, name: `late ${id}` }, 0),
}

let opened: Awaited<ReturnType<typeof openDatabaseFor>>
const cleanup = new SuiteCleanup()
before(async () => {
  opened = await openDatabaseFor(cleanup)
})
after(() => cleanup.end())

let lastId = 0n
for (const [what, execute] of Object.entries(statements)) {
  for (const outcome of ['fails', 'succeeds']) {
    test(`${what} of a write that ${outcome} does not run in the next transaction`, async () => {
      const { database } = opened
      const [one, two, three] = [++lastId, ++lastId, ++lastId]
      const ended = Promise.withResolvers<void>()
      let late: Promise<unknown> = Promise.resolve()
      const first = database.write(async (trx) => {
        await ensureCategory(trx, one, 0)
        late = ended.promise.then(() => execute(trx, three))
        late.catch(() => {})
        if (outcome === 'fails')
          await Promise.all([late, Promise.reject(new Error('The first branch failed.'))])
      })
      if (outcome === 'fails') await assert.rejects(first, /The first branch failed/)
      else await first
      await database.write(async (trx) => {
        await ensureCategory(trx, two, 0)
        ended.resolve()
        await late.catch(() => {})
      })
      await assert.rejects(late, TransactionEndedError)
      const all = await database.read.selectFrom('categories').selectAll().orderBy('category_id').execute()
      const rows = all.filter(({ category_id }) => category_id >= one)
      const expected = outcome === 'fails' ? [two] : [one, two]
      assert.deepEqual(
        rows.map(({ category_id, name }) => [category_id, name]),
        expected.map((id) => [id, null]),
      )
    })
  }
}
