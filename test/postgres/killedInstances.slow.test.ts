import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { administer, inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import {
  adminKey,
  feedAfter,
  instancesFor,
  listAllItems,
  requestOk,
  retryWhile503,
} from '../support/instances.ts'
import type { Server } from '../support/servers.ts'

const moments = [
  { when: 'after its change was made and before it could say so', timing: 'DEFERRED', isReplayed: true },
  { when: 'in the middle of a change', timing: 'IMMEDIATE', isReplayed: false },
]
for (const { when, timing, isReplayed } of moments) {
  test(`a request to an instance that is killed ${when} is done once, and another instance responds to a retry`, async (t) => {
    const { databaseEnv, all } = await instancesFor(t, {}, 2)
    const [killed, other] = all as [Server, Server]
    // PostgreSQL is slow at the chosen point: at the row, or at the commit.
    await inDatabase(databaseEnv, ({ migrate }) =>
      migrate(async (trx) => {
        await sql`CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql
          AS 'BEGIN PERFORM pg_sleep(1); RETURN NULL; END'`.execute(trx)
        await sql`CREATE CONSTRAINT TRIGGER be_slow AFTER INSERT ON orders DEFERRABLE INITIALLY ${sql.raw(timing)}
          FOR EACH ROW EXECUTE FUNCTION be_slow()`.execute(trx)
      }),
    )
    const { id } = (await requestOk(other, 'POST', '/v1/pets', { name: 'Slow', categoryId: 3 })).json
    const send = ({ request }: Server) =>
      request('POST', '/v1/store/orders', {
        key: adminKey,
        body: { petId: id },
        headers: { 'idempotency-key': 'once' },
      })
    const lost = send(killed).then(
      () => 'answered',
      () => 'lost',
    )
    const database = new URL(databaseEnv.DATABASE_URL as string).pathname.slice(1)
    await eventually('PostgreSQL is at the slow point', async () => {
      const { rows } = await administer(
        `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event = 'PgSleep'`,
      )
      return rows.length > 0
    })
    killed.child.kill('SIGKILL')
    assert.equal(await lost, 'lost')
    const response = await retryWhile503(() => send(other))
    assert.equal(response.status, 201, response.text)
    assert.equal(response.headers['idempotent-replayed'], isReplayed ? 'true' : undefined)
    assert.deepEqual(await listAllItems(other, '/v1/store/orders'), [response.json])
    const placed = (await feedAfter(other, 0)).filter(({ type }) => type === 'order.placed')
    assert.deepEqual(
      placed.map(({ data }) => data.id),
      [response.json.id],
    )
  })
}
