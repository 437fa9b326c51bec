import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCursor } from '../../src/database/cursors.ts'
import { newDatabase, openTestDatabase, removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { serverFor } from '../support/servers.ts'

const events = 4_000
/** One event for each transaction: the more webhooks there are, the fewer events are dispatched together. */
const webhooks = 1_000

const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`
/** Paused, so that their messages are queued and not sent. The first is for the events. */
const addWebhooks = `
  INSERT INTO webhooks (url, events, from_event_id, status, secret, created_at)
  ${numbers(webhooks)}
  SELECT 'https://shelter.example/', CASE n WHEN 1 THEN '["pet.deleted"]' ELSE '["order.placed"]' END, 0, 'paused', '', 0
  FROM numbers`
const addEvents = `
  INSERT INTO events (type, created_at, data, is_private)
  ${numbers(events)}
  SELECT 'pet.deleted', 0, '{"id":' || n || '}', 0 FROM numbers ORDER BY n`

test('a stop does not wait until all events are dispatched, and the next start continues', async (t) => {
  const cleanup = reverseCleanup(t)
  const env = await newDatabase()
  cleanup.after(() => removeDatabase(env))
  const database = await openTestDatabase(env)
  cleanup.after(() => database.close())
  await database.migrate((_, runScript) => runScript(`${addWebhooks}; ${addEvents}`))
  const dispatched = () => readCursor(database.read, 'webhooks.dispatched')

  const server = await serverFor(cleanup, env)
  await eventually('the dispatch runs', async () => (await dispatched()) > 0)
  server.child.kill('SIGTERM')
  const { code, signal, stderr } = await server.ended
  assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr)
  assert.match(stderr, /"msg":"stopped"/)
  const reached = await dispatched()
  assert.ok(reached < events, `${reached} of ${events} were dispatched`)

  await database.migrate((_, runScript) =>
    runScript(`DELETE FROM webhooks WHERE events = '["order.placed"]'`),
  )
  await serverFor(cleanup, env)
  await eventually('all are dispatched', async () => (await dispatched()) >= events)
  const rows = await database.read.selectFrom('webhook_deliveries').select('data').orderBy('id').execute()
  assert.deepEqual(
    rows.map(({ data }) => JSON.parse(data).id),
    Array.from({ length: events }, (_, index) => index + 1),
  )
})
