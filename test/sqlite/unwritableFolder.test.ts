import assert from 'node:assert/strict'
import fs, { readdirSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, mock, type TestContext, test } from 'node:test'
import { openDatabase } from '../../src/database/open.ts'
import { backupDatabase } from '../../src/database/sqlite/backup.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { explainUnwritable } from '../../src/database/sqlite/unwritable.ts'
import { assertCommandFails, cliOn } from '../support/commands.ts'
import { databaseFor } from '../support/engine.ts'
import { folderFor } from '../support/servers.ts'

/** A file in place of a folder. */
function fileFor(t: TestContext): string {
  const file = join(folderFor(t), 'a-file')
  writeFileSync(file, '')
  return file
}
const isFile = /is not a folder: move that file away/

/** Folders that no user can write, not even root. */
const unwritableFolders = (t: TestContext): [folder: string, reason: RegExp][] => [
  [fileFor(t), isFile],
  [join(fileFor(t), 'below'), isFile],
  // The reason depends on the system and the user.
  ['/proc/none', /its file system |this user has no permission/],
]

/** One sentence in words, without codes of the operating system. */
const sentence = (folder: string, reason: RegExp, alternative: string, before = '') =>
  new RegExp(
    `^${before}The folder ${RegExp.escape(folder)} cannot be written, because (?=[^\\n]*${reason.source})[^\\n]*${alternative}\\.\\n$`,
  )

describe('a command says why a folder cannot be written, and what to do', { concurrency: 2 }, () => {
  const otherData = 'set PETSTORE_DATA_DIR to another folder'

  test('the data folder', async (t) => {
    const backup = join(folderFor(t), 'copy.db')
    await backupDatabase(databaseFile((await databaseFor(t)).PETSTORE_DATA_DIR), backup)
    for (const [dataDir, reason] of unwritableFolders(t)) {
      const cli = cliOn({ PETSTORE_DATA_DIR: dataDir }, { PORT: '0', PETSTORE_LOG_LEVEL: 'silent' })
      const creating = `(?:Creating the database \\S+\\n)?`
      for (const args of [['serve'], ['seed'], ['migrate'], ['import']])
        assertCommandFails(await cli.run(args), 1, sentence(dataDir, reason, otherData, creating))
      const nothing = `${creating}Nothing was restored\\. `
      const restored = await cli.run(['restore', backup])
      assertCommandFails(restored, 1, sentence(dataDir, reason, otherData, nothing))
    }
  })

  test('the folder of a backup', async (t) => {
    const cli = cliOn(await databaseFor(t))
    const folder = fileFor(t)
    const message = sentence(folder, isFile, 'choose another folder', 'No backup was written\\. ')
    assertCommandFails(await cli.run(['backup', join(folder, 'copy.db')]), 1, message)
  })

  test('the folder of a file that a command writes', async (t) => {
    const cli = cliOn(await databaseFor(t))
    for (const [folder, reason] of unwritableFolders(t)) {
      const file = join(folder, 'output')
      for (const args of [
        ['openapi', '--output', file],
        ['import', '--report', file],
      ])
        assertCommandFails(await cli.run(args), 1, sentence(folder, reason, 'choose another folder'))
    }
    const missing = join(folderFor(t), 'missing')
    assertCommandFails(
      await cli.run(['openapi', '--output', join(missing, 'output')]),
      1,
      sentence(missing, /it does not exist: create it/, 'choose another folder'),
    )
  })

  test('the folder for temporary files', async (t) => {
    for (const [folder, reason] of unwritableFolders(t)) {
      const cli = cliOn(await databaseFor(t), { TMPDIR: folder })
      const message = sentence(folder, reason, 'set TMPDIR to another folder')
      assertCommandFails(await cli.run(['import']), 1, message)
    }
  })
})

/** Files in the folder cannot be created. */
function failIn(t: TestContext, folder: string, code: string): void {
  const { openSync, writeFileSync } = fs
  const failing = (path: unknown) => {
    if (String(path).startsWith(folder)) throw Object.assign(new Error(`${code}: raw`), { code })
  }
  const mocks = [
    mock.method(fs, 'openSync', (...args: Parameters<typeof openSync>) => {
      failing(args[0])
      return openSync(...args)
    }),
    mock.method(fs, 'writeFileSync', (...args: Parameters<typeof writeFileSync>) => {
      failing(args[0])
      writeFileSync(...args)
    }),
  ]
  syncBuiltinESMExports()
  t.after(() => {
    for (const each of mocks) each.mock.restore()
    syncBuiltinESMExports()
  })
}

describe('each reason is explained', () => {
  const noPermission = (folder: string) =>
    `this user has no permission: run petstore as the owner of ${folder} or change the owner`
  const reasons: [code: string, explanation: (folder: string) => string][] = [
    ['EROFS', () => 'its file system is read-only: mount it for writing'],
    ['EACCES', noPermission],
    ['EPERM', noPermission],
    ['ENOSPC', () => 'its disk has no space left: free some space'],
    ['EDQUOT', () => 'the disk quota of this user is used up: free some space'],
  ]
  for (const [code, explanation] of reasons) {
    test(code, async (t) => {
      const dataDir = folderFor(t)
      failIn(t, dataDir, code)
      await assert.rejects(openDatabase({ dataDir, environment: 'production' }, 0), {
        message: `The folder ${dataDir} cannot be written, because ${explanation(dataDir)}, or set PETSTORE_DATA_DIR to another folder.`,
      })
    })
  }

  test('SQLite reports a full disk, which may have space again', (t) => {
    const folder = folderFor(t)
    const full = Object.assign(new Error('database or disk is full'), {
      code: 'ERR_SQLITE_ERROR',
      errcode: 13,
    })
    const { message } = explainUnwritable(
      new Error('x', { cause: full }),
      folder,
      'choose another folder',
    ) as Error
    assert.match(message, /its disk has no space left/)
  })

  test('an error that has another reason stays as it is', (t) => {
    const folder = folderFor(t)
    for (const error of [new Error('x'), Object.assign(new Error('x'), { code: 'ENOENT' })])
      assert.equal(explainUnwritable(error, folder, ''), error)
    assert.deepEqual(readdirSync(folder), [])
  })
})
