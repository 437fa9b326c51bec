import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sql } from 'kysely'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { nextInLane } from '../../src/webhooks/attempts.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { startOfTests } from '../support/service.ts'

test('the next delivery of a lane is found by an index alone', async (t) => {
  const { env, database } = await openDatabaseFor(t, startOfTests)
  const connection = new DatabaseSync(databaseFile(env.PETSTORE_DATA_DIR), { readOnly: true })
  t.after(() => connection.close())
  for (const [lane, index] of [
    ['first', 'deliveries_first'],
    ['retry', 'deliveries_retry'],
  ] as const) {
    const deliveries = database.read.selectFrom('webhook_deliveries')
    const { sql: text } = nextInLane(deliveries, sql`${1}`, lane, startOfTests)
      .select('claimed_until')
      .compile()
    const plan = connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all()
    const details = plan.map(({ detail }) => String(detail)).join('; ')
    assert.match(details, new RegExp(`SEARCH .*USING (?:COVERING )?INDEX ${index}`))
    assert.doesNotMatch(details, /SCAN|TEMP B-TREE/)
  }
})
