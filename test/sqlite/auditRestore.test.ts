import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { cliOn } from '../support/commands.ts'
import { inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { folderFor } from '../support/servers.ts'
import { startTestService } from '../support/service.ts'

const cliIn = (dataDir: string) => cliOn({ PETSTORE_DATA_DIR: dataDir })
type Cli = ReturnType<typeof cliIn>

/** Oldest first: id, action and subject. */
const entriesIn = ({ env }: Cli): Promise<string[]> =>
  inDatabase(env, async ({ read }) => {
    const rows = await read.selectFrom('audit_entries').selectAll().orderBy('id').execute()
    return rows.map(({ id, action, subject }) => `${id} ${action} ${subject}`)
  })
const createKey = async (cli: Cli) => {
  await cli.ok(['migrate'])
  await cli.ok(['keys', 'create', '--name', 'x'])
}

describe('a restore', () => {
  test('keeps the entries of the database that it replaces, and adds one', async (t) => {
    const folder = folderFor(t)
    const cli = cliIn(join(folder, 'data'))
    const file = join(folder, 'copy.db')
    await createKey(cli)
    await cli.ok(['backup', file])
    await createKey(cli)
    await cli.ok(['keys', 'revoke', '1'])
    await cli.ok(['restore', file, '--replace'])
    const expected = [
      '1 key.created key 1',
      '2 key.created key 2',
      '3 key.revoked key 1',
      '4 database.restored database',
    ]
    assert.deepEqual(await entriesIn(cli), expected)
    await cli.ok(['restore', file, '--replace'])
    assert.deepEqual(await entriesIn(cli), [...expected, '5 database.restored database'])
    await createKey(cli)
    assert.deepEqual((await entriesIn(cli)).slice(-1), ['6 key.created key 2'])
  })

  test('of a backup of another database keeps the entries of both', async (t) => {
    const folder = folderFor(t)
    const [one, other] = [cliIn(join(folder, 'one')), cliIn(join(folder, 'other'))]
    const file = join(folder, 'copy.db')
    for (let index = 0; index < 2; index++) await createKey(other)
    await other.ok(['backup', file])
    await createKey(one)
    await one.ok(['keys', 'update', '1', '--plan', 'pro'])
    await one.ok(['keys', 'revoke', '1'])
    await one.ok(['restore', file, '--replace'])
    assert.deepEqual(await entriesIn(one), [
      '1 key.created key 1',
      '2 key.created key 2',
      '3 key.revoked key 1',
      '4 key.created key 1',
      '5 key.updated key 1',
      '6 database.restored database',
    ])
  })

  test('into an empty folder has the entries of the backup', async (t) => {
    const folder = folderFor(t)
    const [one, other] = [cliIn(join(folder, 'one')), cliIn(join(folder, 'other'))]
    const file = join(folder, 'copy.db')
    await createKey(one)
    await one.ok(['backup', file])
    await other.ok(['restore', file])
    assert.deepEqual(await entriesIn(other), ['1 key.created key 1', '2 database.restored database'])
  })

  test('says that the audit log of a damaged database is lost', async (t) => {
    const folder = folderFor(t)
    const cli = cliIn(join(folder, 'data'))
    const file = join(folder, 'copy.db')
    await createKey(cli)
    await cli.ok(['backup', file])
    writeFileSync(databaseFile(cli.dataDir), 'not a database')
    const { isAuditLogLost } = await cli.json(['restore', file, '--replace'])
    assert.equal(isAuditLogLost, true)
    assert.deepEqual(await entriesIn(cli), ['1 key.created key 1', '2 database.restored database'])
  })

  test('under a running service is shown by it, and its counts are not written to the restored database', async (t) => {
    const service = await startTestService(
      { PETSTORE_ADMIN_KEY: 'the-admin-key-of-this-one-service' },
      { bounds: { usageReadFlushMs: 0 } },
    )
    t.after(() => service.stop())
    const key = service.operatorKey
    const cli = cliOn(service.databaseEnv)
    const file = join(folderFor(t), 'copy.db')
    await cli.ok(['backup', file])
    const made = await service.makeKey()
    await service.request('GET', '/v1/pets', { key: made.key })
    await cli.ok(['restore', file, '--replace'])
    const log = await eventually('the restored log', async () => {
      const { status, json } = await service.request('GET', '/v1/audit', { key })
      return status === 200 && json[0].action === 'database.restored' && json
    })
    assert.deepEqual(
      log.map(({ action, subject }: { action: string; subject: string }) => `${action} ${subject}`),
      ['database.restored database', `key.created key ${made.id}`, 'key.created key 1'],
    )
    const again = await service.makeKey()
    assert.equal(again.id, made.id)
    const { json } = await service.request('GET', `/v1/keys/${again.id}/usage`, { key })
    assert.deepEqual(json, { minutes: [], hours: [] })
  })
})
