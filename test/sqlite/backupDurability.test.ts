import assert from 'node:assert/strict'
import fs, { readdirSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { mock, type TestContext, test } from 'node:test'
import { backupDatabase } from '../../src/database/sqlite/backup.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { restoreDatabase } from '../../src/database/sqlite/restore.ts'
import { assertCommandFails, cliOn } from '../support/commands.ts'
import { runInProcess } from '../support/process.ts'
import { folderFor } from '../support/servers.ts'

async function seededCli(folder: string) {
  const cli = cliOn({ PETSTORE_DATA_DIR: join(folder, 'data') })
  await cli.ok(['seed', '--count', '20'])
  return cli
}

/** Records syncs and renames in order. `fault` may throw instead of a sync. */
function watchDisk(t: TestContext, fault: (path: string) => void = () => {}): string[] {
  const steps: string[] = []
  const paths = new Map<number, string>()
  const { openSync, fsyncSync, renameSync } = fs
  const mocks = [
    mock.method(fs, 'openSync', (...args: Parameters<typeof openSync>) => {
      const descriptor = openSync(...args)
      paths.set(descriptor, String(args[0]))
      return descriptor
    }),
    mock.method(fs, 'fsyncSync', (descriptor: number) => {
      const path = String(paths.get(descriptor))
      steps.push(`sync ${path}`)
      fault(path)
      fsyncSync(descriptor)
    }),
    mock.method(fs, 'renameSync', (...args: Parameters<typeof renameSync>) => {
      steps.push(`rename to ${args[1]}`)
      renameSync(...args)
    }),
  ]
  syncBuiltinESMExports()
  t.after(() => {
    for (const each of mocks) each.mock.restore()
    syncBuiltinESMExports()
  })
  return steps
}

test('a backup is durable before it is renamed, and the name before the command exits', async (t) => {
  const folder = folderFor(t)
  const { dataDir } = await seededCli(folder)
  const target = join(folder, 'copy.db')
  const steps = watchDisk(t)
  await backupDatabase(databaseFile(dataDir), target)
  assert.deepEqual(steps, [`sync ${target}.unfinished`, `rename to ${target}`, `sync ${folder}`])
})

test('a backup fails if a sync fails, and leaves no file', async (t) => {
  const folder = folderFor(t)
  const { dataDir } = await seededCli(folder)
  const target = join(folder, 'copy.db')
  let failing = `${target}.unfinished`
  watchDisk(t, (path) => {
    if (path === failing) throw Object.assign(new Error('i/o error'), { code: 'EIO' })
  })
  await assert.rejects(backupDatabase(databaseFile(dataDir), target), /i\/o error/)
  assert.deepEqual(readdirSync(folder), ['data'])
  failing = folder
  await assert.rejects(backupDatabase(databaseFile(dataDir), target), /i\/o error/)
  assert.deepEqual(readdirSync(folder), ['data'])
})

test('a backup fails if the disk is full, and leaves no file', async (t) => {
  const folder = folderFor(t)
  const { env, run } = await seededCli(folder)
  const target = join(folder, 'copy.db')
  const full = await runInProcess(['backup', target], env, '', { fileBytesMax: 0 })
  assertCommandFails(full, 1, /disk I\/O error/)
  assert.deepEqual(readdirSync(folder), ['data'])
  assert.equal((await run(['backup', target])).code, 0)
})

test('a backup succeeds on a file system that cannot sync folders', async (t) => {
  const folder = folderFor(t)
  const { dataDir } = await seededCli(folder)
  watchDisk(t, (path) => {
    if (path === folder) throw Object.assign(new Error('invalid argument'), { code: 'EINVAL' })
  })
  await backupDatabase(databaseFile(dataDir), join(folder, 'copy.db'))
  assert.deepEqual(readdirSync(folder).sort(), ['copy.db', 'data'])
})

test('a restore syncs the data folder', async (t) => {
  const folder = folderFor(t)
  const { dataDir } = await seededCli(folder)
  const backup = join(folder, 'copy.db')
  await backupDatabase(databaseFile(dataDir), backup)
  for (const damage of [undefined, 'no database '.repeat(1_000)]) {
    const target = join(folder, `restored-${damage?.length}`)
    fs.mkdirSync(target)
    if (damage !== undefined) fs.writeFileSync(databaseFile(target), damage)
    await t.test(damage === undefined ? 'with a new file' : 'in place of a damaged file', async (t) => {
      const steps = watchDisk(t)
      await restoreDatabase(backup, target, 0, async () => {})
      assert.equal(steps.at(-1), `sync ${target}`)
      const renamed = steps.indexOf(`rename to ${databaseFile(target)}`)
      if (damage !== undefined) assert.match(String(steps[renamed - 1]), /^sync .*restore-.*petstore\.db$/)
    })
  }
})

/** An index with another name of a pet than its table, which SQLite's quick_check does not detect. */
function damageIndex(file: string): void {
  const alter = (work: (database: DatabaseSync) => void) => {
    const database = new DatabaseSync(file)
    database.enableDefensive(false)
    database.exec('PRAGMA writable_schema = ON')
    work(database)
    database.close()
  }
  const row: unknown[] = []
  alter((database) => {
    const index = database.prepare("SELECT * FROM sqlite_schema WHERE name = 'pets_by_status'").get() ?? {}
    row.push(index.type, index.name, index.tbl_name, index.rootpage, index.sql)
    database.exec("DELETE FROM sqlite_schema WHERE name = 'pets_by_status'")
  })
  alter((database) => {
    database.exec("UPDATE pets SET name = 'Renamed' WHERE id = 1")
    database.prepare('INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)').run(...(row as string[]))
  })
  const database = new DatabaseSync(file)
  assert.equal(database.prepare('PRAGMA quick_check').get()?.quick_check, 'ok')
  database.close()
}

test('a backup of a damaged database fails, even if only an index is damaged, and leaves no file', async (t) => {
  const folder = folderFor(t)
  const cli = await seededCli(folder)
  const earlier = join(folder, 'earlier.db')
  await cli.ok(['backup', earlier])
  damageIndex(databaseFile(cli.dataDir))
  assertCommandFails(
    await cli.run(['backup', join(folder, 'copy.db')]),
    1,
    /^No backup was written: .* integrity check \(.*pets_by_status.*\)/,
  )
  assert.deepEqual(readdirSync(folder).sort(), ['data', 'earlier.db'])
  await cli.ok(['restore', earlier, '--replace'])
  await cli.ok(['backup', join(folder, 'copy.db')])
})
