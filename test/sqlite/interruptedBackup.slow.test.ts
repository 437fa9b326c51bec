import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, type TestContext, test } from 'node:test'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { cliOn } from '../support/commands.ts'
import { assertIntegrity, contentsOf } from '../support/engine.ts'
import { preloadOption, runInProcess, spawnPetstore } from '../support/process.ts'
import { folderFor, SuiteCleanup, serverFor } from '../support/servers.ts'

/** In which part of a command the process sends itself a signal. */
type Moment = 'copying' | 'overwriting' | 'checking'

/**
 * The process sends itself a signal after the first step of copying to a new file, or of overwriting the database, or
 * while the event loop waits for the check of a copy.
 */
const preload = (signal: NodeJS.Signals, moment: Moment) => `
import { DatabaseSync } from 'node:sqlite'
const send = () => process.kill(process.pid, '${signal}')
const { prepare } = DatabaseSync.prototype
const { throwIfAborted } = AbortSignal.prototype
// The signal is checked after each step, and once before the database is overwritten.
let checksLeft = ${moment === 'copying' ? 1 : Number.MAX_SAFE_INTEGER}
DatabaseSync.prototype.prepare = function (text) {
  if ('${moment}' === 'overwriting' && text.includes('page_size')) checksLeft = 2
  if ('${moment}' === 'checking' && text.includes('integrity_check')) send()
  return prepare.call(this, text)
}
AbortSignal.prototype.throwIfAborted = function () {
  if (--checksLeft === 0) send()
  return throwIfAborted.call(this)
}`

/** More than fit into two steps. */
const petCount = 40_000
const cleanup = new SuiteCleanup()
const template = folderFor(cleanup)
before(async () => {
  const cli = cliOn({ PETSTORE_DATA_DIR: join(template, 'data') })
  await cli.ok(['seed', '--count', String(petCount)])
  await cli.ok(['backup', join(template, 'copy.db')])
  await cli.ok(['seed', '--count', '3'])
})
after(() => cleanup.end())

/** A database, and a backup that has 3 pets less. */
function backedUp(t: TestContext) {
  const folder = folderFor(t)
  cpSync(template, folder, { recursive: true })
  const dataDir = join(folder, 'data')
  const cli = cliOn({ PETSTORE_DATA_DIR: dataDir })
  const interrupt = (args: string[], signal: NodeJS.Signals, moment: Moment, env = cli.env) =>
    runInProcess(args, env, '', { nodeOptions: [preloadOption(preload(signal, moment))] })
  return { folder, dataDir, cli, backup: join(folder, 'copy.db'), interrupt }
}

/** What a restore would change, without what a server changes by itself. */
async function stateOf(dataDir: string) {
  const { pets, metadata, audit_entries } = await contentsOf({ PETSTORE_DATA_DIR: dataDir })
  return { files: readdirSync(dataDir), pets, metadata, audit_entries }
}

const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const

describe('Ctrl-C and SIGTERM', { concurrency: 2 }, () => {
  for (const [signal, code] of signals) {
    for (const moment of ['copying', 'checking'] as const) {
      test(`${signal} while a backup is ${moment} leaves no file`, async (t) => {
        const { folder, interrupt } = backedUp(t)
        const before = readdirSync(folder)
        const result = await interrupt(['backup', join(folder, 'other.db')], signal, moment)
        assert.deepEqual(result, {
          code,
          signal: null,
          stdout: '',
          stderr: 'Interrupted: no backup was written.\n',
        })
        assert.deepEqual(readdirSync(folder), before)
      })
    }

    for (const moment of ['copying', 'overwriting'] as const) {
      test(`${signal} while a restore is ${moment} changes nothing`, async (t) => {
        const { dataDir, cli, backup, interrupt } = backedUp(t)
        const server = await serverFor(t, cli.env)
        const before = await stateOf(dataDir)
        const result = await interrupt(['restore', backup, '--replace'], signal, moment)
        assert.deepEqual(result, {
          code,
          signal: null,
          stdout: '',
          stderr: 'Interrupted: nothing was restored.\n',
        })
        assert.deepEqual(await stateOf(dataDir), before)
        const { status } = await server.request('POST', '/v1/pets', {
          key: server.operatorKey,
          body: { name: 'Milo', categoryId: 1 },
        })
        assert.equal(status, 201)
      })
    }
  }

  test('during a restore without a database leave no folder', async (t) => {
    const { folder, backup, interrupt } = backedUp(t)
    const dataDir = join(folder, 'new')
    const { code, stderr } = await interrupt(['restore', backup], 'SIGINT', 'copying', {
      PETSTORE_DATA_DIR: dataDir,
    })
    assert.equal(code, 130)
    assert.match(stderr, /^Creating the database .*\nInterrupted: nothing was restored\.\n$/)
    assert.ok(!existsSync(dataDir))
  })
})

describe('what a killed command leaves is removed', { concurrency: 2 }, () => {
  test('by the next backup to the same file', async (t) => {
    const { folder, cli, interrupt } = backedUp(t)
    const target = join(folder, 'other.db')
    const before = readdirSync(folder)
    const { signal } = await interrupt(['backup', target], 'SIGKILL', 'copying')
    assert.equal(signal, 'SIGKILL')
    const left = readdirSync(folder).filter((name) => !before.includes(name))
    assert.ok(left.includes('other.db.unfinished') && left.includes('other.db.unfinished.lock'))
    assert.ok(
      left.every((name) => name.startsWith('other.db.unfinished')),
      left.join(),
    )
    await cli.ok(['backup', target])
    assert.deepEqual(readdirSync(folder), [...before, 'other.db'].sort())
  })

  for (const moment of ['copying', 'overwriting'] as const) {
    test(`by the next restore, which was ${moment}`, async (t) => {
      const { dataDir, cli, backup, interrupt } = backedUp(t)
      const before = await contentsOf(cli.env)
      const { signal } = await interrupt(['restore', backup, '--replace'], 'SIGKILL', moment)
      assert.equal(signal, 'SIGKILL')
      const staging = () => readdirSync(dataDir).filter((name) => name.startsWith('restore-'))
      assert.equal(staging().length, 1)
      assertIntegrity(cli.env)
      assert.deepEqual(await contentsOf(cli.env), before)
      await cli.ok(['restore', backup, '--replace'])
      assert.deepEqual(staging(), [])
      assert.equal((await contentsOf(cli.env)).pets?.length, petCount)
    })
  }
})

describe('a restore that is killed while it overwrites leaves the old database or the new one', () => {
  const rounds = 6
  const attemptsMax = 4 * rounds

  /** Whether the database is the restored one, in which all pets have one name. Fails if it is a mixture. */
  function isRestored(file: string): boolean {
    using database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
    const row = database
      .prepare("SELECT count(*) AS pets, count(*) FILTER (WHERE name = 'restored') AS restored FROM pets")
      .get()
    if (row?.restored === 0) assert.equal(row.pets, petCount + 3)
    else assert.deepEqual({ ...row }, { pets: petCount, restored: petCount })
    return row?.restored !== 0
  }

  for (const isServing of [false, true])
    test(isServing ? 'of a running server' : 'that no server has open', { timeout: 120_000 }, async (t) => {
      const { folder, dataDir, cli, backup } = backedUp(t)
      const file = databaseFile(dataDir)
      const old = join(folder, 'old.db')
      await cli.ok(['backup', old])
      const renamed = new DatabaseSync(backup)
      renamed.exec("UPDATE pets SET name = 'restored'")
      renamed.close()
      const server = isServing ? await serverFor(t, cli.env) : undefined

      /** Restores the backup, and kills the process at the given change in the data folder. */
      const restore = async (killAt: number) => {
        const { child, ended } = spawnPetstore(['restore', backup, '--replace'], cli.env)
        let changes = 0
        const watcher = watch(dataDir, () => {
          if (++changes === killAt) child.kill('SIGKILL')
        })
        const { signal } = await ended
        watcher.close()
        return { changes, isKilled: signal === 'SIGKILL' }
      }

      let { changes } = await restore(Number.POSITIVE_INFINITY)
      let killed = 0
      for (let attempt = 1; killed < rounds; attempt++) {
        assert.ok(attempt <= attemptsMax, `${killed} of ${attemptsMax} were killed`)
        if (isRestored(file)) await cli.ok(['restore', old, '--replace'])
        const { isKilled } = await restore(1 + Math.floor((changes * killed) / rounds))
        if (isKilled) {
          killed++
        } else {
          // A busy machine notices fewer of the changes, and later.
          assert.ok(isRestored(file))
          changes = Math.floor(changes * 0.7)
        }
        assertIntegrity(cli.env)
        if (server) assert.equal((await server.request('GET', '/readyz')).status, 200)
      }
      await cli.ok(['restore', backup, '--replace'])
      assert.ok(isRestored(file))
    })
})

test('a restore over a damaged database that is killed at its last step leaves a database in place', async (t) => {
  const { dataDir, cli, backup } = backedUp(t)
  const damage = Buffer.from('no database '.repeat(1_000))
  writeFileSync(databaseFile(dataDir), damage)
  const killAtRename = `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { renameSync } = fs
    fs.renameSync = (from, to) => {
      if (to.endsWith('petstore.db')) process.kill(process.pid, 'SIGKILL')
      renameSync(from, to)
    }
    syncBuiltinESMExports()`
  const { signal } = await runInProcess(['restore', backup, '--replace'], cli.env, '', {
    nodeOptions: [preloadOption(killAtRename)],
  })
  assert.equal(signal, 'SIGKILL')
  assert.deepEqual(readFileSync(databaseFile(dataDir)), damage)
  await cli.ok(['restore', backup, '--replace'])
  assert.equal((await contentsOf(cli.env)).pets?.length, petCount)
})
