import assert from 'node:assert/strict'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { acquireServerLock, isServerRunning } from '../../src/database/sqlite/fileLock.ts'
import { assertCommandFails, cliOn } from '../support/commands.ts'
import { runPetstore } from '../support/process.ts'
import { folderFor, serverFor, stopped } from '../support/servers.ts'

test('the first start creates the data folder, which only its owner can read', async (t) => {
  const dataDir = join(folderFor(t), 'not', 'there', 'yet')
  await serverFor(t, { PETSTORE_DATA_DIR: dataDir })
  assert.ok(existsSync(join(dataDir, 'petstore.db')))
  assert.equal(statSync(dataDir).mode & 0o077, 0)
})

test('a second server on the same data folder exits with a clear message, and the first continues', async (t) => {
  const first = await serverFor(t)
  const second = await runPetstore(['serve'], { PORT: '0', PETSTORE_DATA_DIR: first.dataDir })
  assert.equal(second.code, 1)
  assert.equal(second.stdout, '')
  assert.match(
    second.stderr,
    /^Another petstore server is running on .*: stop it, or set PETSTORE_DATA_DIR\.$/m,
  )
  assert.ok(second.stderr.includes(first.dataDir))
  assert.doesNotMatch(second.stderr, /\n {4}at /)
  assert.equal((await first.request('GET', '/v1/pets', { key: first.operatorKey })).status, 200)
})

test('another process can tell whether a server runs, without preventing its start', async (t) => {
  const server = await serverFor(t)
  assert.equal(isServerRunning(server.dataDir), true)
  await stopped(server)
  assert.equal(isServerRunning(server.dataDir), false)
  const folder = folderFor(t)
  assert.equal(isServerRunning(folder), false)
  const release = acquireServerLock(folder)
  assert.equal(isServerRunning(folder), true)
  release()
  assert.equal(isServerRunning(folder), false)
})

test('a folder that cannot hold a database is rejected without a stack trace', async (t) => {
  const folder = folderFor(t)
  const file = join(folder, 'a-file')
  writeFileSync(file, '')
  mkdirSync(join(folder, 'garbage'))
  writeFileSync(join(folder, 'garbage', 'petstore.db'), 'no database '.repeat(1000))
  for (const dataDir of [file, join(folder, 'garbage')])
    for (const command of [['keys', 'list'], ['serve']])
      assertCommandFails(await cliOn({ PETSTORE_DATA_DIR: dataDir }, { PORT: '0' }).run(command), 1, /\w/)
})
