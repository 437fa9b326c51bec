import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../src/database/tables.ts'
import { administer, type DatabaseEnv, databaseFor, openTestDatabase } from '../support/engine.ts'
import { tally } from '../support/instances.ts'
import { startTestService } from '../support/service.ts'

const levels = ['read committed', 'repeatable read', 'serializable']

/** An empty database whose transactions have another default isolation level. */
async function databaseWithDefault(
  t: TestContext,
  value: string,
  setting = 'default_transaction_isolation',
): Promise<DatabaseEnv> {
  const env = await databaseFor(t, { isBare: true })
  const name = new URL(env.DATABASE_URL as string).pathname.slice(1)
  await administer(`ALTER DATABASE ${name} SET ${setting} = '${value}'`)
  return env
}

async function levelIn(db: Kysely<Tables>): Promise<string> {
  const { rows } = await sql<{
    level: string
  }>`SELECT current_setting('transaction_isolation') AS level`.execute(db)
  return rows[0]?.level ?? ''
}

for (const level of levels) {
  describe(`if transactions are ${level} by default`, () => {
    test('each uses READ COMMITTED', async (t) => {
      const database = await openTestDatabase(await databaseWithDefault(t, level))
      t.after(() => database.close())
      assert.equal(await levelIn(database.read), 'read committed')
      assert.equal(await database.write(levelIn), 'read committed')
      assert.equal(await database.writeUnlogged(levelIn), 'read committed')
      assert.equal(await database.migrate(levelIn), 'read committed')
      assert.equal(await database.snapshot(levelIn), 'repeatable read')
    })

    test('limits and orders are exact over two instances, and nothing fails', async (t) => {
      const env = await databaseWithDefault(t, level)
      const one = await startTestService(env)
      t.after(() => one.stop())
      const two = await startTestService(env)
      t.after(() => two.stop())
      const { key } = await one.makeKey()
      const instances = [one, two]
      const listed = await Promise.all(
        Array.from({ length: 200 }, (_, n) => instances[n % 2]?.request('GET', '/v1/pets', { key })),
      )
      assert.deepEqual(tally(listed.map((response) => response?.status)), { 200: 60, 429: 140 })
      const { json } = await one.request('POST', '/v1/pets', {
        key: one.operatorKey,
        body: { name: 'Milo', categoryId: 3 },
      })
      const ordered = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          instances[n % 2]?.request('POST', '/v1/store/orders', {
            key: one.operatorKey,
            body: { petId: json.id },
          }),
        ),
      )
      assert.deepEqual(tally(ordered.map((response) => response?.status)), { 201: 1, 409: 39 })
    })
  })
}

for (const [value, used] of [
  ['off', 'on'],
  ['remote_apply', 'remote_apply'],
] as const) {
  test(`if synchronous_commit is ${value} by default, a write commits with ${used}`, async (t) => {
    const database = await openTestDatabase(await databaseWithDefault(t, value, 'synchronous_commit'))
    t.after(() => database.close())
    const { rows } = await database.write((trx) =>
      sql<{ used: string }>`SELECT current_setting('synchronous_commit') AS used`.execute(trx),
    )
    assert.deepEqual(rows, [{ used }])
  })
}
