import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { feedAfter, listAllItems, newestEventId, requestOk, retryWhile503 } from '../support/instances.ts'
import { assertUnavailable, isOutcomeUnknown } from '../support/load.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import type { Server } from '../support/servers.ts'
import { serviceFor } from './service.ts'

const recoveryMaxMs = 60_000
const changesAfter = 20

test('while the synchronous standby does not respond, no change is acknowledged and no position of the feed is shown that a failover could lose', async (t) => {
  const { pair, servers, key } = await serviceFor(reverseCleanup(t))
  const [first] = servers as [Server]
  const last = await newestEventId(first)
  const create = (server: Server, n: number) =>
    server.request('POST', '/v1/pets', {
      key,
      body: { name: `waiting ${n}`, categoryId: n },
      headers: { 'idempotency-key': `waiting-${n}` },
    })

  pair.standby.freeze()
  // Visible at once, but not on the standby.
  await pair.changeLocally(
    `INSERT INTO events (type, created_at, data, is_private) VALUES ('category.deleted', 0, '{"id":1}', 0)`,
  )
  const reads = await Promise.all(
    servers.map((server) => server.request('GET', `/v1/events?after=${last}`, { key })),
  )
  for (const read of reads) assertUnavailable(read)
  const creates = await Promise.all(servers.map(create))
  for (const created of creates) {
    assertUnavailable(created, 'POST')
    assert.ok(isOutcomeUnknown(created), created.text)
  }
  for (const server of servers) {
    assert.equal((await server.request('GET', '/v1/pets', { key })).text, '[]')
    assert.equal((await server.request('GET', '/readyz')).status, 200)
  }

  pair.standby.unfreeze()
  await eventually('the standby is synchronous', () => pair.isSynchronous(), recoveryMaxMs)
  const repeated = await Promise.all(servers.map((server, n) => retryWhile503(() => create(server, n))))
  for (const { status, text } of repeated) assert.equal(status, 201, text)
  assert.equal((await listAllItems(first, '/v1/pets')).length, servers.length)
  const feeds = await Promise.all(servers.map((server) => feedAfter(server, last)))
  for (const feed of feeds) assert.deepEqual(feed, feeds[0])
  assert.deepEqual(
    feeds[0]?.map(({ id }) => id),
    feeds[0]?.map((_, index) => last + 1 + index),
  )
  await requestOk(first, 'POST', '/v1/pets', { name: 'last', categoryId: 7 }, key)
})

test('an old primary that is started again by mistake gets no connections', async (t) => {
  const { pair, haproxyLog, servers, key } = await serviceFor(reverseCleanup(t))
  const create = (server: Server, name: string) =>
    server.request('POST', '/v1/pets', { key, body: { name, categoryId: 7 } })
  pair.primary.killAll()
  await pair.promote()
  for (const server of servers)
    assert.equal((await retryWhile503(() => create(server, 'after the promotion'))).status, 201)
  const reports = () => haproxyLog().match(/Server primary\/postgres-1 is UP/g)?.length ?? 0
  const before = reports()
  await pair.startOldPrimary()
  await eventually('HAProxy takes it for a primary', () => reports() > before, recoveryMaxMs)
  const connections = "FROM pg_stat_activity WHERE application_name = 'petstore'"
  // The instances open new ones.
  await pair.administer(`SELECT pg_terminate_backend(pid) ${connections}`)
  for (let n = 0; n < changesAfter; n++) {
    for (const server of servers)
      assert.equal((await retryWhile503(() => create(server, `later ${n}`))).status, 201)
    assert.equal((await pair.administer(`SELECT ${connections}`, pair.standby)).rowCount, 0)
  }
})
