/**
 * Clients that common generators make from openapi.json compile strictly, work, and have readable names. The generators
 * are large, so they are installed separately: `npm run test:clients`.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/engine.ts'
import { useService } from '../support/useService.ts'

const modules = fileURLToPath(new URL('node_modules/', import.meta.url))
const document = fileURLToPath(new URL('../../openapi.json', import.meta.url))
const service = useService()
const folder = temporaryFolder()
after(() => rmSync(folder, { recursive: true, force: true }))
symlinkSync(modules, join(folder, 'node_modules'))

async function run(program: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, NODE_TEST_CONTEXT: '', BASE: `${service.base}/v1`, KEY: service.operatorKey }
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], { cwd: folder, env })
  return stdout
}

const compilerOptions = {
  ...{
    module: 'preserve',
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    noEmit: true,
  },
  ...{ strict: true, noUncheckedIndexedAccess: true, noImplicitOverride: true },
}

/** Compiles a program that uses a generated client, and returns what it prints. */
async function compileAndRun(name: string, code: string): Promise<unknown> {
  const program = `declare const process: { env: { BASE: string; KEY: string } }\n${code}`
  writeFileSync(join(folder, `${name}.ts`), program)
  const config = JSON.stringify({ compilerOptions, files: [`${name}.ts`] })
  writeFileSync(join(folder, `tsconfig.${name}.json`), config)
  await run(join(modules, 'typescript/bin/tsc'), '-p', `tsconfig.${name}.json`)
  const { build } = await import(join(modules, 'esbuild/lib/main.js'))
  const outfile = join(folder, `${name}.mjs`)
  await build({ entryPoints: [join(folder, `${name}.ts`)], bundle: true, format: 'esm', outfile })
  return JSON.parse(await run(outfile))
}

/** What each program prints. */
const expected = { name: 'Milo', status: 'available', found: 1, code: 'order_not_found' }

/** Generators number names that are taken, and name inline types after their place. */
const unreadable = /\d$|Inline|Anonymous|Items?Item|OneOf|AnyOf/

const exportedTypes = (text: string): string[] =>
  [...text.matchAll(/^export (?:type|interface|const) (\w+)/gm)].map(([, name = '']) => name)

describe('generated clients', () => {
  test('openapi-typescript and openapi-fetch', async () => {
    await run(join(modules, 'openapi-typescript/bin/cli.js'), document, '--output', 'schema.ts')
    const printed = await compileAndRun(
      'openapiFetch',
      `
import createClient from 'openapi-fetch'
import type { components, paths } from './schema'

const headers = { Authorization: 'Bearer ' + process.env.KEY }
const client = createClient<paths>({ baseUrl: process.env.BASE, headers })
const created = await client.POST('/pets', { body: { name: 'Milo', categoryId: 3 } })
if (created.error) throw new Error(created.error.message)
const pet: components['schemas']['Pet'] = created.data
const listed = await client.GET('/pets', { params: { query: { id: [pet.id], status: 'available' } } })
const missing = await client.GET('/store/orders/{orderId}', { params: { path: { orderId: 999999 } } })
const code: components['schemas']['ErrorCode'] | undefined = missing.error?.code
// @ts-expect-error The category is missing.
void (() => client.POST('/pets', { body: { name: 'Milo' } }))
console.log(JSON.stringify({ name: pet.name, status: pet.status, found: listed.data?.length, code }))
`,
    )
    assert.deepEqual(printed, expected)
    const schema = readFileSync(join(folder, 'schema.ts'), 'utf8')
    const names = [...schema.matchAll(/components\["\w+"\]\["([^"]+)"\]/g)].map(([, name = '']) => name)
    assert.deepEqual(
      [...new Set(names)].filter((name) => unreadable.test(name)),
      [],
    )
  })

  test('@hey-api/openapi-ts', async () => {
    await run(
      join(modules, '@hey-api/openapi-ts/bin/run.js'),
      '--input',
      document,
      '--output',
      'hey',
      '--silent',
    )
    const printed = await compileAndRun(
      'heyApi',
      `
import { createPet, getOrder, listPets, type Pet } from './hey'
import { client } from './hey/client.gen'

client.setConfig({ baseUrl: process.env.BASE, auth: () => process.env.KEY })
const created = await createPet({ body: { name: 'Milo', categoryId: 3 }, throwOnError: true })
const pet: Pet = created.data
const listed = await listPets({ query: { id: [pet.id], status: 'available' } })
const missing = await getOrder({ path: { orderId: 999999 } })
// @ts-expect-error The category is missing.
void (() => createPet({ body: { name: 'Milo' } }))
console.log(
  JSON.stringify({ name: pet.name, status: pet.status, found: listed.data?.length, code: missing.error?.code }),
)
`,
    )
    assert.deepEqual(printed, expected)
    const types = exportedTypes(readFileSync(join(folder, 'hey/types.gen.ts'), 'utf8'))
    assert.ok(types.length > 100)
    assert.deepEqual(
      types.filter((name) => unreadable.test(name)),
      [],
    )
  })

  test('orval', async () => {
    const options = {
      input: document,
      output: { target: './orval/petstore.ts', schemas: './orval/model', client: 'fetch', baseUrl: '/v1' },
    }
    writeFileSync(
      join(folder, 'generate.mjs'),
      `import orval from 'orval'\nawait orval.generate(${JSON.stringify(options)})\n`,
    )
    await run(join(folder, 'generate.mjs'))
    const printed = await compileAndRun(
      'orvalFetch',
      `
import type { Pet } from './orval/model'
import { createPet, getOrder, listPets } from './orval/petstore'

const fetchHere = globalThis.fetch
globalThis.fetch = (url, init) => fetchHere(process.env.BASE.replace('/v1', '') + String(url), init)
const options = { headers: { Authorization: 'Bearer ' + process.env.KEY } }
const created = await createPet({ name: 'Milo', categoryId: 3 }, options)
if (created.status !== 201) throw new Error(String(created.status))
const pet: Pet = created.data
const listed = await listPets({ id: [pet.id], status: 'available' }, options)
if (listed.status !== 200) throw new Error(String(listed.status))
const missing = await getOrder(999999, options)
if (missing.status !== 404) throw new Error(String(missing.status))
// @ts-expect-error The category is missing.
void (() => createPet({ name: 'Milo' }))
console.log(
  JSON.stringify({ name: pet.name, status: pet.status, found: listed.data.length, code: missing.data.code }),
)
`,
    )
    assert.deepEqual(printed, expected)
    const types = readdirSync(join(folder, 'orval/model')).map((file) => basename(file, '.ts'))
    assert.ok(types.length > 100)
    assert.deepEqual(
      types.filter((name) => unreadable.test(name)),
      [],
    )
  })
})
