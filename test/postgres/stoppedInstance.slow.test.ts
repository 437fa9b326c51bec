import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administer } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import {
  adminKey,
  feedAfter,
  makeAmpleKey,
  requestOk,
  sharedDatabase,
  startAll,
} from '../support/instances.ts'
import { type Server, serverFor } from '../support/servers.ts'

const writers = 20

/** When the open transaction of an instance began that waits for its next statement. */
async function openTransaction(name: string, database: string): Promise<string | undefined> {
  const { rows } = await administer(`
    SELECT xact_start::text AS begun FROM pg_stat_activity
    WHERE state = 'idle in transaction' AND datname = '${database}' AND application_name = '${name}'`)
  return rows[0]?.begun
}

/** Stops a server repeatedly, until it is stopped during a transaction, in which it has locked the animal. */
async function stopDuringWrite({ child }: Server, name: string, database: string): Promise<void> {
  await eventually(
    'it is stopped during a transaction',
    async () => {
      child.kill('SIGSTOP')
      const first = await openTransaction(name, database)
      const second = await openTransaction(name, database)
      if (first !== undefined && second === first) return true
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
  const { id } = (await requestOk(stopped, 'POST', '/v1/pets', { name: 'Milo', categoryId: 3 }, key)).json
  const confirmed: string[] = []
  const rename = async (server: Server, name: string) => {
    const sent = server.request('PATCH', `/v1/pets/${id}`, { key, body: { name } })
    const response = await sent.catch((error: NodeJS.ErrnoException) => {
      // A server that was stopped for long closes its idle connections when it continues.
      assert.match(String(error.code), /^(?:ECONNRESET|EPIPE)$/)
      assert.equal(server, stopped)
    })
    if (!response) return false
    assert.ok([200, 503].includes(response.status), response.text)
    if (response.status === 200) confirmed.push(name)
    return response.status === 200
  }
  let isOver = false
  let renames = 0
  const keepWriting = async () => {
    while (!isOver) await rename(stopped, `Milo ${++renames}`)
  }
  const load = Promise.all(Array.from({ length: writers }, keepWriting))
  // If the test fails earlier, it reports that failure.
  load.catch(() => {})

  await stopDuringWrite(stopped, 'stopped', database)
  const stoppedAt = performance.now()
  const writes = others.map((server) =>
    eventually('another writes', () => rename(server, `Luna ${++renames}`), 15_000),
  )
  await Promise.all(writes)
  t.diagnostic(`the others wrote again after ${Math.round(performance.now() - stoppedAt)} ms`)
  for (const server of others) {
    await requestOk(server, 'POST', '/v1/pets', { name: 'Onward', categoryId: 3 }, key)
    await requestOk(server, 'GET', '/v1/pets', undefined, key)
  }

  isOver = true
  stopped.child.kill('SIGCONT')
  await load
  await eventually('it serves again', () => rename(stopped, 'Back'))
  const feed = await feedAfter(stopped, 0)
  const recorded = new Set(feed.filter(({ type }) => type === 'pet.updated').map(({ data }) => data.name))
  assert.deepEqual(
    confirmed.filter((name) => !recorded.has(name)),
    [],
    'no confirmed change is lost',
  )
})
