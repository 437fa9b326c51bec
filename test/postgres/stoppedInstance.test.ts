import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administer } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import {
  adminKey,
  listAllItems,
  makeAmpleKey,
  requestOk,
  sharedDatabase,
  startAll,
} from '../support/instances.ts'
import { type Server, serverFor } from '../support/servers.ts'

const writers = 20

/** The connection that holds the write lock, and since when. */
async function holder(database: string): Promise<{ name: string; begun: string } | undefined> {
  const { rows } = await administer(`
    SELECT a.application_name AS name, a.xact_start::text AS begun
    FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND a.datname = '${database}'`)
  return rows[0]
}

/** Stops a server repeatedly, until it is stopped while it holds the write lock. */
async function stopDuringWrite({ child }: Server, name: string, database: string): Promise<void> {
  await eventually(
    'it is stopped with the turn in its hands',
    async () => {
      child.kill('SIGSTOP')
      const first = await holder(database)
      const second = await holder(database)
      if (first?.name === name && second?.begun === first.begun) return true
      child.kill('SIGCONT')
      return false
    },
    60_000,
  )
}

test('an instance that is stopped while it writes blocks the others for seconds at most, and serves again when it continues', async (t) => {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const names = ['stopped', 'second', 'third']
  const [stopped, ...others] = (await startAll(names.length, (index) => {
    const url = new URL(databaseEnv.DATABASE_URL as string)
    url.searchParams.set('application_name', names[index] as string)
    return serverFor(owner, { ...databaseEnv, DATABASE_URL: url.href, PETSTORE_ADMIN_KEY: adminKey })
  })) as [Server, Server, Server]
  const database = new URL(databaseEnv.DATABASE_URL as string).pathname.slice(1)
  const key = await makeAmpleKey(stopped)
  const responded: number[] = []
  const add = async (server: Server, name: string) => {
    const sent = server.request('POST', '/v1/pets', { key, body: { name, categoryId: 3 } })
    const response = await sent.catch((error: NodeJS.ErrnoException) => {
      // A server that was stopped for long closes its idle connections when it continues.
      assert.match(String(error.code), /^(?:ECONNRESET|EPIPE)$/)
      assert.equal(server, stopped)
    })
    if (!response) return false
    assert.ok([201, 503].includes(response.status), response.text)
    if (response.status === 201) responded.push(response.json.id)
    return response.status === 201
  }
  let isOver = false
  const keepWriting = async () => {
    while (!isOver) await add(stopped, 'Milo')
  }
  const load = Promise.all(Array.from({ length: writers }, keepWriting))
  // If the test fails earlier, it reports that failure.
  load.catch(() => {})

  await stopDuringWrite(stopped, 'stopped', database)
  const stoppedAt = performance.now()
  const writes = others.map((server) => eventually('another writes', () => add(server, 'Luna'), 15_000))
  await Promise.all(writes)
  t.diagnostic(`the others wrote again after ${Math.round(performance.now() - stoppedAt)} ms`)
  for (const server of others) {
    await requestOk(server, 'POST', '/v1/pets', { name: 'Onward', categoryId: 3 }, key)
    await requestOk(server, 'GET', '/v1/pets', undefined, key)
  }

  isOver = true
  stopped.child.kill('SIGCONT')
  await load
  await eventually('it serves again', () => add(stopped, 'Back'))
  const found = new Set((await listAllItems(stopped, '/v1/pets?limit=100', key)).map(({ id }) => id))
  assert.deepEqual(
    responded.filter((id) => !found.has(id)),
    [],
    'no confirmed change is lost',
  )
})
