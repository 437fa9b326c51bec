import assert from 'node:assert/strict'
import { join } from 'node:path'
import { constants, DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { ReadContext } from '../../src/api/operation.ts'
import type { Db } from '../../src/database/db.ts'
import { SqliteDb } from '../../src/database/sqlite/driver.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { getInventoryOperation } from '../../src/inventory/routes.ts'
import { petStatuses } from '../../src/pets/pet.ts'
import { cliOn, cliOnNewDatabase } from '../support/commands.ts'
import { folderFor, serverFor } from '../support/servers.ts'

test('reading the inventory reads only its table, which has one row per status', async (t) => {
  const cli = await cliOnNewDatabase(t)
  await cli.ok(['seed', '--count', '10'])
  const connection = new DatabaseSync(databaseFile(cli.dataDir), { readOnly: true, timeout: 5_000 })
  try {
    const tables = new Set<string | null>()
    connection.setAuthorizer((action, table) => {
      if (action === constants.SQLITE_READ) tables.add(table)
      return constants.SQLITE_OK
    })
    const context = { db: new SqliteDb(connection) as Db } as ReadContext
    const input = { params: {}, query: {}, body: {}, bytes: new Uint8Array() }
    const response = await getInventoryOperation.read?.(input, context)
    assert.deepEqual(JSON.parse(response?.json ?? ''), { available: 7, pending: 2, sold: 1 })
    assert.deepEqual([...tables], ['inventory'])
    connection.setAuthorizer(null)
    assert.equal(connection.prepare('SELECT count(*) AS n FROM inventory').get()?.n, petStatuses.length)
  } finally {
    connection.close()
  }
})

test('the inventory is correct after a restore, even with a running server', async (t) => {
  const server = await serverFor(t)
  const key = server.operatorKey
  const cli = cliOn(server.databaseEnv)
  const inventory = async () => (await server.request('GET', '/v1/store/inventory', { key })).json
  await cli.ok(['seed', '--count', '730'])
  const backup = join(folderFor(t), 'backup.db')
  await cli.ok(['backup', backup])
  for (const id of [1, 2, 3]) await server.request('DELETE', `/v1/pets/${id}`, { key })
  assert.deepEqual(await inventory(), { available: 508, pending: 146, sold: 73 })
  await cli.ok(['restore', backup, '--replace'])
  assert.deepEqual(await inventory(), { available: 511, pending: 146, sold: 73 })
  await server.request('POST', '/v1/pets', { key, body: { name: 'A', categoryId: 1 } })
  assert.deepEqual(await inventory(), { available: 512, pending: 146, sold: 73 })
})
