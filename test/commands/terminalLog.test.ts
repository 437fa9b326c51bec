import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { createLog } from '../../src/telemetry/log.ts'
import { createClient } from '../support/client.ts'
import { folderFor, serverFor } from '../support/servers.ts'
import { spawnInTerminal } from '../support/terminal.ts'

/** A service in a terminal. */
async function inTerminal(t: TestContext, env: Record<string, string>) {
  const terminal = spawnInTerminal(['serve'], { PORT: '0', ...env })
  t.after(() => terminal.kill())
  await terminal.until('Stop it with Ctrl-C')
  const base = /API\s+(http:\/\/\S+)\/v1/.exec(terminal.output.text)?.[1] as string
  const client = createClient(base)
  t.after(() => client.closeConnections())
  return { ...terminal, ...client }
}

describe('in a terminal', () => {
  test('the first start ends with the operator key, which no log line follows until the stop', async (t) => {
    const { output, request, interrupt } = await inTerminal(t, { PETSTORE_DATA_DIR: folderFor(t) })
    const [key = ''] = /ps_live_\w+/.exec(output.text) ?? []
    assert.doesNotMatch(output.text, /\{"level"/)
    assert.match(
      stripVTControlCharacters(output.text),
      /\d\d:\d\d:\d\d INFO {2}started port=\d+ environment=production\n/,
    )
    assert.ok(output.text.indexOf('started') < output.text.indexOf(key), 'the key comes last')
    for (const _ of [1, 2, 3]) assert.equal((await request('GET', '/v1/pets', { key })).status, 200)
    await interrupt()
    const after = stripVTControlCharacters(output.text.slice(output.text.indexOf('Stop it with Ctrl-C')))
    assert.doesNotMatch(after, /\/v1\/pets/)
    assert.match(output.text, /Requests are not shown .*so that the key stays in sight/)
    assert.match(after, /INFO {2}stopping signal=SIGINT\n\S+ INFO {2}stopped\n/)
  })

  test('a later start shows one readable line for each request, without control characters', async (t) => {
    const env = { PETSTORE_DATA_DIR: folderFor(t), PETSTORE_ADMIN_KEY: 'the-admin-key-of-a-terminal-test' }
    const { output, request, until, interrupt } = await inTerminal(t, env)
    const headers = { 'x-request-id': 'of-this-test' }
    await request('GET', '/v1/pets?limit=2', { key: env.PETSTORE_ADMIN_KEY, headers })
    await request('GET', '/v1/pe%1B%5B31mts', { headers })
    await until(/GET \/v1\/pe/)
    await interrupt()
    const text = stripVTControlCharacters(output.text)
    assert.match(
      text,
      /^\d\d:\d\d:\d\d INFO {2}200 GET \/v1\/pets [\d.]+ ms key=1 address=127\.0\.0\.1 request=of-this-test$/m,
    )
    assert.match(
      text,
      /^\S+ INFO {2}401 GET \/v1\/pe\S+ [\d.]+ ms code=\w+ address=127\.0\.0\.1 request=of-this-test$/m,
    )
    assert.doesNotMatch(output.text, /\{"level"/)
  })

  test('PETSTORE_LOG_FORMAT=json keeps JSON', async (t) => {
    const env = { PETSTORE_DATA_DIR: folderFor(t), PETSTORE_LOG_FORMAT: 'json' }
    const { output, until } = await inTerminal(t, env)
    await until('"msg":"started"')
    assert.doesNotMatch(output.text, /INFO/)
  })
})

test('without a terminal the log is JSON, and text with PETSTORE_LOG_FORMAT=text, without colours', async (t) => {
  for (const [format, expected] of [
    ['auto', /^\{"level":30,.*"msg":"started"\}$/m],
    ['text', /^\d\d:\d\d:\d\d INFO {2}started port=\d+ environment=production$/m],
  ] as const) {
    const server = await serverFor(t, { PETSTORE_DATA_DIR: folderFor(t), PETSTORE_LOG_FORMAT: format })
    server.child.kill('SIGTERM')
    const { stderr } = await server.ended
    assert.match(stderr, expected)
  }
})

test('a readable line has the fields and the stack of an error, and no control characters of others', () => {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  const { log } = createLog({ level: 'info', redact: (text) => text, format: 'text', stream })
  log.warn({ name: 'a b', count: 2, list: [1] }, 'odd \u001b[31m\nname')
  log.error({ err: new Error('It failed.') }, 'request')
  assert.match(
    lines[0] ?? '',
    /^\d\d:\d\d:\d\d WARN {2}odd \ufffd\[31m\ufffdname name="a b" count=2 list=\[1\]\n$/,
  )
  assert.match(lines[1] ?? '', /^\S+ ERROR request\n {4}Error: It failed\.\n {8}at /)
})
