import assert from 'node:assert/strict'
import fs, { chmodSync, mkdirSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, mock, test } from 'node:test'
import { openMigrated } from '../../src/database/open.ts'
import { backupDatabase } from '../../src/database/sqlite/backup.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { cliOn } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { spawnPetstore } from '../support/process.ts'
import { folderFor, serverFor } from '../support/servers.ts'

// The usual umask. Child processes inherit it.
process.umask(0o022)

/** A data folder that other users may read. */
function openFolderFor(t: Parameters<typeof folderFor>[0]): string {
  const dataDir = join(folderFor(t), 'data')
  mkdirSync(dataDir, { mode: 0o755 })
  return dataDir
}

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8)
/** Skips files that SQLite removes during the check. */
const modesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder).flatMap((name) => {
      const stats = statSync(join(folder, name), { throwIfNoEntry: false })
      return stats?.isFile() ? [[name, (stats.mode & 0o777).toString(8)]] : []
    }),
  )
const whileOpen = ['petstore.db', 'petstore.db-shm', 'petstore.db-wal']

/** Only the owner can read any file in the folder, including these. */
function assertPrivate(folder: string, names: string[]): void {
  const modes = modesIn(folder)
  for (const name of names) assert.equal(modes[name], '600', name)
  assert.deepEqual(new Set(Object.values(modes)), new Set(['600']), JSON.stringify(modes))
}

describe('in a data folder that other users may read, only the owner can read', { concurrency: 2 }, () => {
  test('the files of a running service', async (t) => {
    const dataDir = openFolderFor(t)
    const server = await serverFor(t, { PETSTORE_DATA_DIR: dataDir })
    await server.request('POST', '/v1/pets', {
      key: server.operatorKey,
      body: { name: 'Milo', categoryId: 1 },
    })
    assertPrivate(dataDir, [...whileOpen, 'server.lock'])
  })

  test('the files of a database that is opened without the command line', async (t) => {
    const dataDir = openFolderFor(t)
    const database = await openMigrated({ dataDir }, 0)
    t.after(() => database.close())
    assertPrivate(dataDir, whileOpen)
  })

  test('files that were left readable, after a service has opened them', async (t) => {
    const dataDir = openFolderFor(t)
    const first = await serverFor(t, { PETSTORE_DATA_DIR: dataDir })
    first.child.kill('SIGKILL')
    await first.ended
    for (const name of readdirSync(dataDir)) chmodSync(join(dataDir, name), 0o644)
    await serverFor(t, { PETSTORE_DATA_DIR: dataDir })
    assertPrivate(dataDir, [...whileOpen, 'server.lock'])
  })

  test('files that were left readable, after a command has opened them', async (t) => {
    for (const args of [
      ['keys', 'list'],
      ['backup', join(folderFor(t), 'copy.db')],
    ]) {
      const dataDir = openFolderFor(t)
      const cli = cliOn({ PETSTORE_DATA_DIR: dataDir })
      await cli.ok(['seed', '--count', '1'])
      chmodSync(databaseFile(dataDir), 0o644)
      await cli.ok(args)
      assertPrivate(dataDir, ['petstore.db'])
    }
  })

  test('a restored database, and the damaged one beside it', async (t) => {
    const folder = folderFor(t)
    const backup = join(folder, 'copy.db')
    const old = cliOn({ PETSTORE_DATA_DIR: join(folder, 'old') })
    await old.ok(['seed', '--count', '1'])
    await old.ok(['backup', backup])
    // The mode of the backup does not affect the database.
    chmodSync(backup, 0o644)

    const fresh = openFolderFor(t)
    await cliOn({ PETSTORE_DATA_DIR: fresh }).ok(['restore', backup])
    assertPrivate(fresh, ['petstore.db'])

    const damaged = openFolderFor(t)
    writeFileSync(databaseFile(damaged), 'no database '.repeat(1_000))
    await cliOn({ PETSTORE_DATA_DIR: damaged }).ok(['restore', backup, '--replace'])
    assertPrivate(damaged, ['petstore.db'])
  })
})

test('a backup is readable by its owner only, from its first byte', async (t) => {
  const folder = folderFor(t)
  const cli = cliOn({ PETSTORE_DATA_DIR: join(folder, 'data') })
  await cli.ok(['seed', '--count', '20000'])
  const backup = join(folder, 'copy.db')
  let isDone = false
  const copied = backupDatabase(databaseFile(cli.dataDir), backup).finally(() => {
    isDone = true
  })
  const modes = new Set<string>()
  while (!isDone) {
    for (const mode of Object.values(modesIn(folder))) modes.add(mode)
    await new Promise(setImmediate)
  }
  await copied
  assert.deepEqual(modes, new Set(['600']))
  assert.equal(modeOf(backup), '600')
})

test('the temporary copy of piped import input has no name, and is readable by its owner only', async (t) => {
  const folder = folderFor(t)
  const spool = join(folder, 'tmp')
  mkdirSync(spool)
  const env = { PETSTORE_DATA_DIR: join(folder, 'data'), TMPDIR: spool }
  const { child, ended } = spawnPetstore(['import'], env)
  t.after(() => child.kill('SIGKILL'))
  child.stdin.write('{"name":"Milo","categoryId":1}\n')
  // Other systems do not show the open files of a process.
  if (process.platform === 'linux') {
    const descriptors = `/proc/${child.pid}/fd`
    const isCopy = (file: string) => {
      try {
        return /\/input \(deleted\)$/.test(readlinkSync(file))
      } catch {
        // It was closed after the folder was read.
        return false
      }
    }
    const copy = await eventually('it is copied', () =>
      readdirSync(descriptors)
        .map((name) => join(descriptors, name))
        .find(isCopy),
    )
    assert.equal(modeOf(copy), '600')
  }
  child.stdin.end()
  assert.equal((await ended).code, 0)
  assert.deepEqual(readdirSync(spool), [])
})

test('a database whose files belong to another user is opened without a change of modes', async (t) => {
  const dataDir = openFolderFor(t)
  await (await openMigrated({ dataDir }, 0)).close()
  chmodSync(databaseFile(dataDir), 0o644)
  const rejected = () => {
    throw Object.assign(new Error('not permitted'), { code: 'EPERM' })
  }
  const chmod = mock.method(fs, 'chmodSync', rejected)
  syncBuiltinESMExports()
  t.after(() => {
    chmod.mock.restore()
    syncBuiltinESMExports()
  })
  await (await openMigrated({ dataDir }, 0)).close()
  assert.ok(chmod.mock.callCount() > 0)
  assert.equal(modeOf(databaseFile(dataDir)), '644')
})

test('the OpenAPI document has no secrets and gets the mode of the umask', async (t) => {
  const folder = folderFor(t)
  const file = join(folder, 'openapi.json')
  await cliOn({ PETSTORE_DATA_DIR: folder }).ok(['openapi', '--output', file])
  assert.equal(modeOf(file), '644')
})
