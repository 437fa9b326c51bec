import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sql } from 'kysely'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { nextInLane } from '../../src/webhooks/attempts.ts'
import { deleteWebhookAndDeliveries, failPendingDeliveries } from '../../src/webhooks/cutoffs.ts'
import { createWebhook, markWebhookDeleted } from '../../src/webhooks/queries.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { startOfTests } from '../support/service.ts'
import { withQueryListener } from '../support/statements.ts'

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

test('the deliveries of one batch are found by the index on the webhook and the id', async (t) => {
  const { env, database } = await openDatabaseFor(t, startOfTests)
  const connection = new DatabaseSync(databaseFile(env.PETSTORE_DATA_DIR), { readOnly: true })
  t.after(() => connection.close())
  const texts = new Set<string>()
  await database.write(async (trx) => {
    const { id } = await createWebhook(trx, { url: '', events: ['pet.created'] }, 0, 0)
    const recorder = withQueryListener(trx, (query) => texts.add(query.sql))
    await failPendingDeliveries(recorder, id, 0, ['pet.created'])
    await markWebhookDeleted(recorder, id)
    await deleteWebhookAndDeliveries(recorder, id, 0)
  })
  const onDeliveries = [...texts].filter((text) => text.includes('"webhook_deliveries"'))
  // The newest, the boundary of the batch, the update and the deletion.
  assert.equal(onDeliveries.length, 4)
  for (const text of onDeliveries) {
    const details = connection
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({ detail }) => String(detail))
    assert.match(details.join('; '), /deliveries_by_webhook \(webhook_id=\? AND id>\? AND id<\?\)/)
    assert.doesNotMatch(details.join('; '), /SCAN|TEMP B-TREE/)
  }
})
