import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { cliOn } from '../support/commands.ts'
import { assertIntegrity } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { folderFor, serverFor, stopped } from '../support/servers.ts'

/** Callers that add pets to a database until they are stopped. */
async function keepAdding(t: TestContext, seedCount: number) {
  const server = await serverFor(t)
  const cli = cliOn(server.databaseEnv)
  await cli.ok(['seed', '--count', String(seedCount)])
  const { key } = await cli.json([
    'keys',
    'create',
    '--name',
    'busy',
    '--plan',
    'enterprise',
    '--per-minute',
    '1000000',
  ])
  let isAdding = true
  const statuses = new Set<number>()
  const callers = Array.from({ length: 4 }, async () => {
    while (isAdding)
      statuses.add(
        (await server.request('POST', '/v1/pets', { key, body: { name: 'new', categoryId: 1 } })).status,
      )
  })
  await eventually('pets are added', () => statuses.has(201))
  const stop = async () => {
    isAdding = false
    await Promise.all(callers)
    assert.deepEqual(statuses, new Set([201]), 'every request was served')
  }
  return { server, cli, key, stop }
}

describe('while pets are added', { concurrency: 2 }, () => {
  test('a backup completes, and is a consistent snapshot', {
    timeout: 120_000,
  }, async (t) => {
    const folder = folderFor(t)
    const { cli, stop } = await keepAdding(t, 60_000)
    const file = join(folder, 'copy.db')
    await cli.ok(['backup', file])
    await stop()
    const copy = new DatabaseSync(file, { readOnly: true })
    const { count, newest } =
      copy.prepare('SELECT count(*) AS count, max(id) AS newest FROM pets').get() ?? {}
    copy.close()
    assert.ok(Number(count) > 60_000)
    assert.equal(count, newest, 'no hole')
    const restored = cliOn({ PETSTORE_DATA_DIR: join(folder, 'restored') })
    await restored.ok(['restore', file])
    assertIntegrity(restored.env)
  })

  test('restore --replace completes', async (t) => {
    const folder = folderFor(t)
    const { server, cli, key, stop } = await keepAdding(t, 2_000)
    const file = join(folder, 'copy.db')
    for (let round = 0; round < 5; round++) {
      if (round === 0) await cli.ok(['backup', file])
      await server.request('POST', '/v1/pets', { key, body: { name: 'to be forgotten', categoryId: 77 } })
      await cli.ok(['restore', file, '--replace'])
      assert.deepEqual((await server.request('GET', '/v1/pets?categoryId=77', { key })).json, [])
    }
    await stop()
    assert.equal((await stopped(server)).code, 0)
    assertIntegrity(server.databaseEnv)
  })
})
