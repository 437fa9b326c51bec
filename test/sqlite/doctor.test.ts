import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cliOn, oneLine } from '../support/commands.ts'
import { folderFor, serverFor } from '../support/servers.ts'

describe('doctor', { concurrency: 2 }, () => {
  test('reports a data folder that is a file', async (t) => {
    const file = join(folderFor(t), 'file')
    writeFileSync(file, '')
    for (const dataDir of [file, join(file, 'data')]) {
      const { code, stdout } = await cliOn({ PETSTORE_DATA_DIR: dataDir }, { PORT: '0' }).run(['doctor'])
      assert.equal(code, 1)
      assert.match(
        stdout,
        /^problem {2}folder {9}\S+\/file is not a folder\.\n {24}Set PETSTORE_DATA_DIR\.$/m,
      )
    }
  })

  test('finds the service of the data folder, also on another port', async (t) => {
    const { databaseEnv } = await serverFor(t)
    const { ok, findings } = await cliOn(databaseEnv, { PORT: '0' }).json(['doctor'])
    const { status, message, advice } = findings.find(({ check }: { check: string }) => check === 'port')
    assert.deepEqual([ok, status], [true, 'warning'])
    assert.match(message, /^The service of \S+ is running, but not on 127\.0\.0\.1 port 0\.$/)
    assert.match(advice, /^Set HOST and PORT/)
  })

  test('reports a damaged database, and one that others can read', async (t) => {
    const dataDir = folderFor(t)
    const file = join(dataDir, 'petstore.db')
    writeFileSync(file, 'not a database, but longer than the header of one. '.repeat(100))
    chmodSync(file, 0o644)
    const { code, stdout } = await cliOn({ PETSTORE_DATA_DIR: dataDir }, { PORT: '0' }).run([
      'doctor',
      '--json',
    ])
    const { findings } = oneLine(stdout) as { findings: { check: string; status: string }[] }
    const statusOf = (name: string) => findings.find(({ check }) => check === name)?.status
    assert.deepEqual([code, statusOf('database'), statusOf('permissions')], [1, 'problem', 'warning'])
  })
})
