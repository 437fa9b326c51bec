import assert from 'node:assert/strict'
import { existsSync, linkSync, lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { backupDatabase } from '../../src/database/sqlite/backup.ts'
import { acquireServerLock, lockFile } from '../../src/database/sqlite/fileLock.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { markFailed, needsRecovery } from '../../src/database/sqlite/recovery.ts'
import { assertCommandFails, cliOn } from '../support/commands.ts'
import { databaseFor } from '../support/engine.ts'
import { folderFor } from '../support/servers.ts'

/** In a folder that others can write to, any name can be a link to a file of the operator. */
async function shared(t: TestContext) {
  const folder = folderFor(t)
  const own = join(folderFor(t), 'file of the operator')
  writeFileSync(own, 'unchanged', { mode: 0o644 })
  const target = join(folder, 'petstore.backup')
  const cli = cliOn(await databaseFor(t))
  const assertUnchanged = () => {
    assert.equal(readFileSync(own, 'utf8'), 'unchanged')
    assert.equal(statSync(own).mode & 0o777, 0o644)
  }
  return { own, target, backUp: () => cli.run(['backup', target]), assertUnchanged }
}

describe('a backup follows no link', () => {
  for (const [what, link] of [
    ['symbolic link', symlinkSync],
    ['hard link', linkSync],
  ] as const)
    test(`at the name of its lock: ${what}`, async (t) => {
      const { own, target, backUp, assertUnchanged } = await shared(t)
      link(own, `${target}.unfinished.lock`)
      assertCommandFails(await backUp(), 1, /petstore\.backup\.unfinished\.lock is a link[\s\S]*Remove it/)
      assertUnchanged()
      assert.ok(!existsSync(target))
      assert.ok(lstatSync(`${target}.unfinished.lock`), 'what it did not make is not removed')
    })

  test('at the name of its lock: symbolic link to nothing', async (t) => {
    const { own, target, backUp } = await shared(t)
    symlinkSync(`${own} 2`, `${target}.unfinished.lock`)
    assertCommandFails(await backUp(), 1, /is a link/)
    assert.ok(!existsSync(`${own} 2`))
  })

  test('and uses no lock of another user, who could replace it by a link', async (t) => {
    const { target } = await shared(t)
    const { PETSTORE_DATA_DIR } = await databaseFor(t)
    const source = databaseFile(PETSTORE_DATA_DIR)
    const lock = `${target}.unfinished.lock`
    writeFileSync(lock, '')
    const own = statSync(lock).uid
    const identity = t.mock.method(process as Required<typeof process>, 'geteuid', () => own + 1)
    await assert.rejects(backupDatabase(source, target), /belongs to another user\. Remove it/)
    assert.ok(!existsSync(target))
    identity.mock.restore()
    await backupDatabase(source, target)
    assert.ok(existsSync(target))
  })

  test('at the name of its unfinished file or the journal of it', async (t) => {
    const { own, target, backUp, assertUnchanged } = await shared(t)
    for (const suffix of ['', '-journal', '-wal', '-shm']) symlinkSync(own, `${target}.unfinished${suffix}`)
    assert.equal((await backUp()).code, 0)
    assertUnchanged()
    assert.ok(lstatSync(target).isFile())
  })

  for (const suffix of ['', ' 2'])
    test(`at the name of the backup${suffix && ', to nothing'}`, async (t) => {
      const { own, target, backUp, assertUnchanged } = await shared(t)
      symlinkSync(`${own}${suffix}`, target)
      assertCommandFails(await backUp(), 1, /exists already/)
      assertUnchanged()
      assert.ok(lstatSync(target).isSymbolicLink())
      assert.ok(!existsSync(`${own} 2`))
    })
})

test('no lock and no marker follows a link', async (t) => {
  const { own, target, assertUnchanged } = await shared(t)
  symlinkSync(own, `${target}-lock`)
  assert.throws(() => lockFile(`${target}-lock`, 'locked'), /is a link/)
  for (const [name, file] of [
    ['a', own],
    ['b', `${own} 2`],
  ] as const) {
    symlinkSync(file, `${target}-${name}-failed`)
    markFailed(`${target}-${name}`)
    assert.ok(needsRecovery(`${target}-${name}`), file)
  }
  assert.ok(!existsSync(`${own} 2`))
  assertUnchanged()
})

test('a server starts in a data folder that was copied with hard links', async (t) => {
  const dataDir = folderFor(t)
  const lock = join(dataDir, 'server.lock')
  writeFileSync(lock, '')
  linkSync(lock, join(folderFor(t), 'copy of the lock'))
  acquireServerLock(dataDir)()
})
