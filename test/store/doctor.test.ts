import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, test } from 'node:test'
import { cliOn, cliOnNewDatabase, oneLine } from '../support/commands.ts'
import { engine } from '../support/engine.ts'
import { serverFor } from '../support/servers.ts'

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
      /^ok {7}port {11}A petstore service is running on 127\.0\.0\.1 port \d+\.$/m,
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
})
