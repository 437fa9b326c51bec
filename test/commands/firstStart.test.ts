import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import { generateApiKey } from '../../src/auth/apiKey.ts'
import { createClient } from '../support/client.ts'
import { databaseFor } from '../support/engine.ts'
import { runPetstore } from '../support/process.ts'
import { type Server, SuiteCleanup, serverFor, stopped } from '../support/servers.ts'

const anyKey = /ps_(?:live|test)_[0-9A-Za-z]{36}/g

/** A database that has never been opened. */
const bare = { isBare: true }
const firstServer = async (t: TestContext, env: Record<string, string> = {}) =>
  serverFor(t, { ...(await databaseFor(t, bare)), ...env })

async function assertAddresses(stdout: string, host: string) {
  for (const [name, path, status] of [
    ['API', '/v1', 401],
    ['Console', '/console', 200],
    ['Docs', '/docs', 200],
  ] as const) {
    const address = new RegExp(`^ *${name} +(\\S+)$`, 'm').exec(stdout)?.[1]
    assert.match(address ?? '', new RegExp(`^http://${host}:\\d+${path}$`))
    assert.equal((await fetch(address as string)).status, status)
  }
}

describe('the first start', () => {
  const cleanup = new SuiteCleanup()
  let server: Server
  before(async () => {
    server = await serverFor(cleanup, await databaseFor(cleanup, bare))
  })
  after(() => cleanup.end())

  test('prints the addresses of the API, the console and the docs, and they respond', () =>
    assertAddresses(server.output.stdout, '127.0.0.1'))

  test('prints the operator key, which can manage keys', async () => {
    const { output, operatorKey, request } = server
    assert.match(operatorKey ?? '', /^ps_live_[0-9A-Za-z]{36}$/)
    assert.deepEqual(new Set(output.stdout.match(anyKey)), new Set([operatorKey]))
    const keys = await request('GET', '/v1/keys', { key: operatorKey })
    assert.equal(keys.status, 200)
    assert.equal(keys.json.length, 1)
    assert.equal(keys.json[0].plan, 'enterprise')
    assert.ok(keys.json[0].scopes.includes('keys:manage'))
  })

  test('prints a curl command that works in a shell', async (t) => {
    const line = /^ *(curl .*)$/m.exec(server.output.stdout)?.[1]
    assert.ok(line)
    assert.deepEqual(JSON.parse(await paste(t, line)), [])
  })

  test('prints export lines that work with the examples of the guides and with doctor', async () => {
    const lines = server.output.stdout.match(/^ *export .+$/gm) ?? []
    const script = [...lines, 'echo "$PETSTORE $PETSTORE_KEY $PETSTORE_DATA_DIR $PORT"'].join('\n')
    const printed = spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout.trim()
    const [api, key, folder = '', port = ''] = printed.split(' ')
    assert.deepEqual([key, folder], [server.operatorKey, server.databaseEnv.PETSTORE_DATA_DIR])
    const response = await fetch(`${api}/pets`, { headers: { Authorization: `Bearer ${key}` } })
    assert.deepEqual(await response.json(), [])
    const { code, stdout } = await runPetstore(['doctor'], { PETSTORE_DATA_DIR: folder, PORT: port })
    assert.deepEqual(
      [code, /A petstore service is running on .*/.exec(stdout)?.[0]],
      [0, `A petstore service is running on 127.0.0.1 port ${port}.`],
    )
  })

  test('does not log the key; the second start prints none, and the first key still works', async (t) => {
    const { code, stderr } = await stopped(server)
    assert.equal(code, 0)
    assert.match(stderr, /"msg":"started"/)
    assert.ok(!stderr.includes(server.operatorKey as string))
    const second = await serverFor(t, server.databaseEnv)
    assert.doesNotMatch(second.output.stdout, anyKey)
    assert.doesNotMatch(second.output.stdout, /curl|operator key/)
    assert.match(second.output.stdout, /^Lost your key\? "petstore keys list"/m)
    assert.equal((await second.request('GET', '/v1/keys', { key: server.operatorKey })).status, 200)
    assert.equal((await stopped(second)).code, 0)
    const third = await serverFor(t, { ...server.databaseEnv, npm_lifecycle_event: 'start' })
    assert.match(third.output.stdout, /^Lost your key\? "npm run -s petstore -- keys list"/m)
  })

  test('on all addresses and in staging, with an unknown setting', async (t) => {
    const settings = { HOST: '0.0.0.0', PETSTORE_ENV: 'staging', PETSTORE_LOGLEVEL: 'debug' }
    const staging = await firstServer(t, settings)
    await assertAddresses(staging.output.stdout, 'localhost')
    assert.match(staging.operatorKey ?? '', /^ps_test_/)
    const { stderr } = await stopped(staging)
    assert.match(stderr, /"msg":"PETSTORE_LOGLEVEL is not a setting .*Did you mean PETSTORE_LOG_LEVEL\?"/)
  })

  test('that cannot listen creates no key: the next start prints it', async (t) => {
    const env = await databaseFor(t, bare)
    const PORT = await busyPort(t)
    const failed = await runPetstore(['serve'], { PORT, ...env })
    assert.equal(failed.code, 1)
    assert.doesNotMatch(failed.stdout + failed.stderr, anyKey)
    const { operatorKey, request } = await serverFor(t, env)
    assert.ok(operatorKey)
    assert.equal((await request('GET', '/v1/keys', { key: operatorKey })).json.length, 1)
  })
})

describe('PETSTORE_ADMIN_KEY', () => {
  for (const [kind, adminKey] of [
    ['a text that the operator chose', 'correct-horse-battery-staple-and-more'],
    ['a generated API key', generateApiKey('production')],
  ] as const) {
    test(`set to ${kind} is the operator key, and nothing secret is printed`, async (t) => {
      const server = await firstServer(t, { PETSTORE_ADMIN_KEY: adminKey })
      assert.equal((await server.request('GET', '/v1/keys', { key: adminKey })).status, 200)
      const { stdout, stderr } = await stopped(server)
      assert.ok(!(stdout + stderr).includes(adminKey))
      assert.doesNotMatch(stdout + stderr, anyKey)
    })
  }

  test('changed between two starts replaces the previous key', async (t) => {
    const env = await databaseFor(t, bare)
    const keys = [
      'the-first-admin-key-of-this-deployment',
      'the-second-admin-key-of-this-deployment',
    ] as const
    await stopped(await serverFor(t, { ...env, PETSTORE_ADMIN_KEY: keys[0] }))
    const { request } = await serverFor(t, { ...env, PETSTORE_ADMIN_KEY: keys[1] })
    assert.equal((await request('GET', '/v1/keys', { key: keys[0] })).status, 401)
    assert.equal((await request('GET', '/v1/keys', { key: keys[1] })).json.length, 1)
  })
})

test('a port in use causes a clear message and releases the database', async (t) => {
  const env = await databaseFor(t, bare)
  const PORT = await busyPort(t)
  const { code, stdout, stderr } = await runPetstore(['serve'], { PORT, ...env })
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(
    stderr,
    new RegExp(
      `^Port ${PORT} on 127\\.0\\.0\\.1 is in use\\. Stop the program that uses it, or set PORT\\.$`,
      'm',
    ),
  )
  assert.doesNotMatch(stderr, /\n {4}at /)
  await serverFor(t, env)
})

/** A port that something else listens on. */
async function busyPort(t: TestContext): Promise<string> {
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  return String((other.address() as AddressInfo).port)
}

/** Runs the line as a person would; on a machine without curl, sends the request that the line describes. */
async function paste(t: TestContext, line: string): Promise<string> {
  if (spawnSync('sh', ['-c', 'command -v curl']).status === 0) {
    const shell = spawn('sh', ['-c', line])
    let text = ''
    shell.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    const [code] = await once(shell, 'close')
    assert.equal(code, 0)
    return text
  }
  t.diagnostic('There is no curl on this machine: the request of the line was sent without it.')
  const [, authorization, base, path] =
    /^curl -H "Authorization: ([^"]+)" (http:\/\/[^/ ]+)(\/\S*)$/.exec(line) ?? []
  const client = createClient(base as string)
  t.after(() => client.closeConnections())
  return (
    await client.request('GET', path as string, { headers: { authorization: authorization as string } })
  ).text
}
