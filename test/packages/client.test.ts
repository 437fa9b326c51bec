import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { copySources, firstBlock, packClient } from '../support/clientPackage.ts'
import { clientRuntimes, ownPath } from '../support/clientRuntimes.ts'
import { temporaryFolder } from '../support/engine.ts'
import { useService } from '../support/useService.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const service = useService()
const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const installed = () => join(packClient().folder, 'node_modules', '@petstore-service/client')
const compressedBytesMax = 9 * 1024

describe('the package of the client', () => {
  for (const { name, skip, program, args } of clientRuntimes()) {
    test(`works in an empty project on ${name} with the code of its README`, { skip }, async (t) => {
      const project = emptyProject(t)
      const env = { ...process.env, npm_config_offline: 'true' }
      const install = ['install', '--silent', '--no-audit', '--no-fund', packClient().tarball]
      await promisify(execFile)('npm', install, { cwd: project, env })
      writeFileSync(join(project, 'example.mjs'), firstBlock('client/README.md', 'js'))
      const { stdout } = await promisify(execFile)(program, [...args, 'example.mjs'], {
        cwd: project,
        env: {
          ...process.env,
          NODE_TEST_CONTEXT: '',
          PETSTORE: `${service.base}/v1`,
          PETSTORE_KEY: service.operatorKey,
        },
      })
      assert.match(stdout, /^\d+ Milo\n/)
    })
  }

  test('is installed by the first commands of its README and of the guide', async (t) => {
    const commands = firstBlock('client/README.md', 'text')
    assert.match(commands, /^npm pack /m)
    assert.equal(firstBlock('docs/guides/client.md', 'text'), commands)
    const parent = temporaryFolder()
    t.after(() => rmSync(parent, { recursive: true, force: true }))
    copySources(join(parent, 'petstore'))
    // As in a new terminal: with the Node of this machine instead of the pinned one.
    await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], {
      cwd: join(parent, 'petstore'),
      env: { ...process.env, PATH: ownPath(), npm_config_offline: 'true' },
    })
    const { dependencies } = JSON.parse(readFileSync(join(parent, 'my-project/package.json'), 'utf8'))
    const { version } = readJson('client/package.json')
    assert.deepEqual(dependencies, {
      '@petstore-service/client': `file:petstore-service-client-${version}.tgz`,
    })
    assert.ok(
      readdirSync(join(parent, 'my-project/node_modules/@petstore-service/client/dist')).includes('index.js'),
    )
  })

  test('has no dependencies, and the version of the service', () => {
    const { version, dependencies, license } = readJson('client/package.json')
    assert.deepEqual([version, dependencies, license], [readJson('package.json').version, undefined, 'MIT'])
    assert.equal(
      readFileSync(join(root, 'client/LICENSE'), 'utf8'),
      readFileSync(join(root, 'LICENSE'), 'utf8'),
    )
    assert.deepEqual(readdirSync(installed()).sort(), ['LICENSE', 'README.md', 'dist', 'package.json'])
  })

  test('is smaller than 9 KiB compressed', (t) => {
    const { length } = gzipSync(readFileSync(join(installed(), 'dist/petstore-client.min.js')), { level: 9 })
    t.diagnostic(`${length} bytes`)
    assert.ok(length < compressedBytesMax, `${length} bytes`)
  })

  test('the file for browsers is the whole client', async () => {
    const modules = await import(join(installed(), 'dist/index.js'))
    const bundle = await import(join(installed(), 'dist/petstore-client.min.js'))
    assert.deepEqual(Object.keys(bundle).sort(), Object.keys(modules).sort())
  })

  for (const [module, lib] of [
    ['nodenext', ['es2022', 'dom']],
    ['preserve', ['esnext', 'dom', 'dom.iterable']],
  ] as const) {
    test(`its types are complete and strict (${module})`, (t) => {
      const project = emptyProject(t)
      cpSync(join(packClient().folder, 'node_modules'), join(project, 'node_modules'), { recursive: true })
      const compilerOptions = {
        ...{ module, lib, target: 'es2022', strict: true, exactOptionalPropertyTypes: true },
        ...{ noUncheckedIndexedAccess: true, noEmit: true, types: [] },
      }
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
      writeFileSync(join(project, 'program.mts'), typedProgram)
      const tsc = join(root, 'node_modules/typescript/bin/tsc')
      execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'pipe' })
    })
  }
})

function emptyProject(t: TestContext): string {
  const project = temporaryFolder()
  t.after(() => rmSync(project, { recursive: true, force: true }))
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  return project
}

const typedProgram = `
import { headersOf, type Int64, type NewPet, type Pet, type PetStatus, Petstore, RateLimitError, verifyWebhook } from '@petstore-service/client'

const store = new Petstore({ baseUrl: 'http://127.0.0.1', apiKey: 'key', throttle: true })
const pet: NewPet = { name: 'Milo', categoryId: 2n ** 60n }
const created: Pet = await store.pets.create(pet, { signal: AbortSignal.timeout(1000) })
const id: Int64 = created.id
for await (const { name } of store.pets.list({ status: 'available', id: [id] })) name.toUpperCase()
for await (const event of store.events.stream({ after: 5 }))
  if (event.type === 'pet.created') event.data.name.toUpperCase()
const { items, nextCursor } = await store.orders.list({ limit: 5 }).page()
await store.orders.list({ cursor: nextCursor }).page()
items[0]?.customer?.name.toUpperCase()
const message = await verifyWebhook('', new Headers(), 'whsec_')
if (message.type === 'order.placed') await store.orders.get(message.data.id)
const { available }: { available: number } = await store.inventory.get()
store.rateLimit?.resetsAt.toISOString()
const status: PetStatus = created.status
await store.pets.update(id, { status }, { ifMatch: headersOf(created).get('etag') })
for await (const event of store.events.stream({ after: id }, { signal: AbortSignal.timeout(1000) })) event.id
const newest: Pet[] = await store.pets.list().toArray({ limit: 5 })
const environment: Record<string, string | undefined> = {}
new Petstore({ baseUrl: environment.ADDRESS, apiKey: environment.KEY, throttle: undefined })
// @ts-expect-error The address is missing.
new Petstore({ apiKey: 'key' })
// @ts-expect-error The limit is missing.
await store.pets.list().toArray()
// @ts-expect-error The status does not exist.
store.pets.list({ status: 'gone' })
// @ts-expect-error The id can be a bigint.
const small: number = created.id
// @ts-expect-error The clock of tests is not part of the interface.
new Petstore({ baseUrl: '', apiKey: '' }, {})
export { available, newest, small, RateLimitError }
`
