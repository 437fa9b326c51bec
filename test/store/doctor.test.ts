import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cliOn, cliOnNewDatabase, oneLine } from '../support/commands.ts'
import { engine } from '../support/engine.ts'
import { folderFor, serverFor } from '../support/servers.ts'

type Finding = { check: string; status: string; message: string; advice?: string }
const statuses = (findings: Finding[]) =>
  Object.fromEntries(findings.map(({ check, status }) => [check, status]))

describe('doctor', { concurrency: 2 }, () => {
  test('finds nothing wrong with a running service, and prints a line for each check', async (t) => {
    const server = await serverFor(t)
    const port = new URL(server.base).port
    const cli = cliOn(server.databaseEnv, { PORT: port })
    const { ok, findings } = await cli.json(['doctor'])
    assert.equal(ok, true)
    const embedded = { disk: 'ok', space: 'ok', permissions: 'ok' }
    const expected = { configuration: 'ok', database: 'ok', clock: 'ok', port: 'ok' }
    assert.deepEqual(statuses(findings), { ...expected, ...(engine === 'sqlite' && embedded) })
    assert.match(
      await cli.ok(['doctor']),
      /^ok {7}port {11}The service is running on 127\.0\.0\.1 port \d+\.$/m,
    )
  })

  test('reports every problem with advice, and exits with status 1', async (t) => {
    const taken = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    t.after(() => taken.close())
    await once(taken, 'listening')
    const port = String((taken.address() as { port: number }).port)
    const cli = await cliOnNewDatabase(t, { PORT: port, PETSTORE_DATADIR: 'x' })
    const { code, stdout } = await cli.run(['doctor', '--json'])
    assert.equal(code, 1)
    const { ok, findings } = oneLine(stdout) as { ok: boolean; findings: Finding[] }
    assert.equal(ok, false)
    const found = statuses(findings)
    assert.deepEqual([found.port, found.configuration], ['problem', 'warning'])
    for (const { status, advice } of findings) assert.equal(advice !== undefined, status !== 'ok')
  })

  test('reports invalid settings', async (t) => {
    const { code, stdout } = await (await cliOnNewDatabase(t, { PORT: 'x', PETSTORE_ENV: 'y' })).run([
      'doctor',
    ])
    assert.equal(code, 1)
    assert.match(
      stdout,
      /^problem {2}configuration {2}PETSTORE_ENV must be .*\n.*\nproblem {2}configuration {2}PORT must be /,
    )
  })

  test('reports a database that does not exist, and creates none', async (t) => {
    const cli = await cliOnNewDatabase(t, { PORT: '0' }, { isBare: true })
    for (const _ of [1, 2]) {
      const { findings } = oneLine((await cli.run(['doctor', '--json'])).stdout)
      assert.equal(statuses(findings).database, engine === 'sqlite' ? 'warning' : 'problem')
    }
  })

  test('reports a data folder that is a file', async (t) => {
    if (engine === 'postgres') return
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

  test('reports a damaged database, and one that others can read', async (t) => {
    if (engine === 'postgres') return
    const dataDir = folderFor(t)
    const file = join(dataDir, 'petstore.db')
    writeFileSync(file, 'not a database, but longer than the header of one. '.repeat(100))
    chmodSync(file, 0o644)
    const { code, stdout } = await cliOn({ PETSTORE_DATA_DIR: dataDir }, { PORT: '0' }).run([
      'doctor',
      '--json',
    ])
    const found = statuses(oneLine(stdout).findings)
    assert.deepEqual([code, found.database, found.permissions], [1, 'problem', 'warning'])
  })
})
