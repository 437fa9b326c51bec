import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { type ClientResponse, createClient } from '../support/client.ts'
import { databaseFor, holdWriteLockOf } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { startTestService } from '../support/service.ts'

const adminKey = 'the-admin-key-of-the-readiness-test'

/** A port that was free a moment ago. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return String(port)
}

/** A service whose start cannot write the operator key, because another process holds the write lock. */
async function unfinishedStart(t: TestContext) {
  const undo = reverseCleanup(t)
  const env = await databaseFor(undo)
  // The schema and the environment are written here, so that the next start has only the key left to write.
  await (await startTestService(env)).stop()
  const turn = await holdWriteLockOf(env)
  let held = true
  const release = async () => {
    if (held) await turn.release()
    held = false
  }
  undo.after(release)
  const PORT = await freePort()
  const started = startTestService({ ...env, PORT, PETSTORE_ADMIN_KEY: adminKey })
  undo.after(async () => {
    await release()
    await (await started).stop()
  })
  const client = createClient(`http://127.0.0.1:${PORT}`)
  undo.after(() => client.closeConnections())
  const statusOf = async (path: string) => (await client.request('GET', path)).status
  const isListening = () =>
    statusOf('/healthz').then(
      (status) => status === 200,
      () => false,
    )
  await eventually('it listens', isListening)
  return { client, statusOf, release, started }
}

describe('a start that has not written the operator key yet', () => {
  test('is not ready, and a request with that key waits for it and then succeeds', async (t) => {
    const { client, statusOf, release, started } = await unfinishedStart(t)
    const responded: number[] = []
    const note = (response: Promise<ClientResponse>) =>
      response.then((each) => {
        responded.push(each.status)
        return each
      })
    const early = [
      note(client.request('GET', '/v1/keys', { key: adminKey })),
      note(client.request('POST', '/v1/pets', { key: adminKey, body: { name: 'Early', categoryId: 1 } })),
      note(client.request('GET', '/v1/pets')),
    ]
    assert.equal(await statusOf('/readyz'), 503)
    assert.deepEqual(responded, [])
    await release()
    await started
    const [keys, added, unknownOrigin] = await Promise.all(early)
    assert.deepEqual([keys?.status, added?.status, unknownOrigin?.status], [200, 201, 401])
    assert.equal(await statusOf('/readyz'), 200)
  })

  test('responds 200 with the key as soon as it is ready', async (t) => {
    const { client, statusOf, release } = await unfinishedStart(t)
    assert.equal(await statusOf('/readyz'), 503)
    const ready = eventually('it is ready', async () => (await statusOf('/readyz')) === 200)
    await release()
    await ready
    assert.equal((await client.request('GET', '/v1/keys', { key: adminKey })).status, 200)
  })
})
