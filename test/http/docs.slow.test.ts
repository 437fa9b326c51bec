import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { packClient } from '../support/clientPackage.ts'
import { temporaryFolder } from '../support/engine.ts'
import { startServer } from '../support/process.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const guides = readdirSync(`${root}docs/guides`).map((file) => `docs/guides/${file}`)
const decisions = readdirSync(`${root}docs/decisions`).map((file) => `docs/decisions/${file}`)
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'docs/releasing.md',
  'client/README.md',
  'examples/adoption-page/README.md',
  ...guides,
  ...decisions,
]

type Block = { page: string; language: string; code: string; line: number }

function blocksOf(page: string): Block[] {
  const text = readFileSync(`${root}${page}`, 'utf8')
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    page,
    language: match[1] ?? '',
    code: match[2] ?? '',
    line: text.slice(0, match.index).split('\n').length,
  }))
}

/** A project with the package of the client, and `eventsource`. */
function project(): string {
  const { folder } = packClient()
  const library = `${folder}/node_modules/eventsource`
  if (!existsSync(library)) symlinkSync(`${root}node_modules/eventsource`, library)
  return folder
}

let server: Awaited<ReturnType<typeof startServer>>
let env: NodeJS.ProcessEnv
before(async () => {
  server = await startServer()
  // For the example that waits for an event.
  const body = { name: 'Milo', categoryId: 3 }
  await server.request('POST', '/v1/pets', { key: server.operatorKey, body })
  env = {
    ...process.env,
    NODE_TEST_CONTEXT: '',
    PETSTORE: `${server.base}/v1`,
    PETSTORE_KEY: server.operatorKey,
    PETSTORE_DATA_DIR: server.dataDir,
    BACKUPS: temporaryFolder(),
  }
})
after(async () => {
  server.closeConnections()
  server.child.kill('SIGTERM')
  await server.ended
})

async function run(command: string, args: string[], cwd = root): Promise<{ code: number; output: string }> {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

/** The responses of the service while a block ran, from its log. */
async function statusesDuring(work: () => Promise<void>): Promise<number[]> {
  const start = server.output.stderr.length
  await work()
  // A request of our own marks the end: lines are written in order.
  const mark = `docs-${Math.random().toString(36).slice(2)}`
  await server.request('GET', '/v1/limits', { key: server.operatorKey, headers: { 'x-request-id': mark } })
  while (!server.output.stderr.includes(mark)) await once(server.child.stderr, 'data')
  const lines = server.output.stderr
    .slice(start)
    .split('\n')
    .filter((line) => line.startsWith('{'))
  return lines.map((line) => JSON.parse(line)).flatMap(({ status }) => (status === undefined ? [] : [status]))
}

describe('every snippet in the README and the guides works', () => {
  test('curl is there to run them', async () => {
    const { code } = await run('sh', ['-c', 'command -v curl'])
    assert.equal(code, 0, 'The snippets use curl: install it (apt-get install curl).')
  })

  for (const block of pages.flatMap(blocksOf)) {
    const name = `${block.page}, line ${block.line} (${block.language})`
    if (block.language === 'sh' || block.language === 'js') {
      test(name, async () => {
        const statuses = await statusesDuring(async () => {
          const isShell = block.language === 'sh'
          const { code, output } = isShell
            ? await run('bash', ['-euo', 'pipefail', '-c', block.code])
            : // In a project that has the packages of the examples.
              await run(process.execPath, ['--input-type=module', '-e', block.code], project())
          assert.equal(code, 0, output)
        })
        // The only error in a guide is the one it demonstrates.
        const expected = block.code.includes('handling=strict') ? [200, 400] : [200, 201, 202, 204, 304]
        assert.deepEqual(
          [...new Set(statuses)].filter((status) => !expected.includes(status)),
          [],
        )
      })
    } else if (block.language === 'json') {
      test(name, () => void JSON.parse(block.code))
    } else if (block.language === 'yaml') {
      test(name, () => void parse(block.code))
    } else {
      test(`${name} is meant to be read`, () => assert.equal(block.language, 'text'))
    }
  }
})
