import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import pg from 'pg'
import { adminUrl } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

async function query(url: string, statement: string) {
  const client = new pg.Client({ connectionString: url })
  // It may end at any moment; the query reports that too.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(statement)).rows[0]
  } finally {
    await client.end()
  }
}

const settings = `SELECT current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS commit`

test('these tests have a real PostgreSQL, with UTF-8 and commits that wait for the log', async () => {
  assert.deepEqual(await query(adminUrl(), settings), { encoding: 'UTF8', commit: 'on' })
})

test('a PostgreSQL of the tests does not outlive the process that started it, even if that is killed', async () => {
  const support = new URL('../support/postgres.ts', import.meta.url).href
  const line = `console.log((await (await import('${support}')).startPostgres()).adminUrl)`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', line], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = await once(starter.stdout.setEncoding('utf8'), 'data')
  assert.deepEqual(await query(url.trim(), 'SELECT 1 AS one'), { one: 1 })
  starter.kill('SIGKILL')
  await eventually('the port is closed', () =>
    query(url.trim(), 'SELECT 1 AS one').then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
    ),
  )
})
