import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from './eventually.ts'
import { jpeg } from './images.ts'
import { runInProcess } from './process.ts'
import { samplesExcept } from './samples.ts'
import { type Server, serverFor, stopped } from './servers.ts'

export type Installation = {
  /** The path of `petstore`. */
  program: string
  /** An empty folder to run it in. */
  cwd: string
  /** The search path of its processes. */
  path: string
}

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** Uses an installed `petstore` like an operator does, from the first start to a backup. */
export async function useInstallation(t: TestContext, { program, cwd, path }: Installation): Promise<void> {
  const how = { program, cwd }
  const env = { PATH: path, HOME: cwd, PETSTORE_DATA_DIR: join(cwd, 'data') }
  const run = async (...args: string[]) => runWith('', ...args)
  const runWith = async (input: string, ...args: string[]) => {
    const { code, stdout, stderr } = await runInProcess(args, env, input, how)
    assert.deepEqual([code, stderr.replace(/^Creating the database .*\n/, '')], [0, ''], args.join(' '))
    return stdout
  }
  assert.equal(await run('--version'), `${version}\n`)
  assert.match(await run('migrate'), /initial/)
  assert.equal(await run('openapi'), readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'))

  const server = await serverFor(t, env, how)
  const { status, json } = await server.request('POST', '/v1/pets', {
    key: server.operatorKey,
    body: { name: 'Milo', categoryId: 1 },
  })
  assert.equal(status, 201)
  await checkPages(server)
  await checkUpload(server, json.id)
  await checkWorkerThread(server, json.id)
  // It draws the photo itself, from SVG.
  await runWith(samplesExcept('Moss'), 'import')
  assert.match(await run('seed'), /^Added 1 animal, 1 photo and 0 orders\./)
  await run('backup', join(cwd, 'backup.db'))
  assert.ok(existsSync(join(cwd, 'backup.db')))
  const { code, stderr } = await stopped(server)
  assert.equal(code, 0, stderr)

  const again = await serverFor(t, env, how)
  const found = await again.request('GET', `/v1/pets/${json.id}`, { key: server.operatorKey })
  assert.deepEqual(found.json, { ...json, status: 'pending' })
  assert.equal((await stopped(again)).code, 0)
}

async function checkPages({ request, operatorKey: key }: Server): Promise<void> {
  const read = async (path: string) => {
    const { status, text } = await request('GET', path)
    assert.equal(status, 200, path)
    return text
  }
  assert.match(await read('/healthz'), /"status":"up"/)
  const [, script = ''] = /src="(\/console\/assets\/[^"]+\.js)"/.exec(await read('/console')) ?? []
  assert.ok((await read(script)).length > 1_000)
  assert.match(await read('/docs'), /reference\.js/)
  assert.match(await read('/docs/reference.js'), /createApiReference/)
  assert.match(await read('/guides/keys'), /<h1 id="keys">Keys<\/h1>/)
  assert.equal(JSON.parse(await read('/v1/openapi.json')).openapi, '3.1.0')
  const body = { name: 'Our shelter', adoptionPage: true }
  assert.equal((await request('PATCH', '/v1/store/profile', { key, body })).status, 200)
  const [, stylesheet = ''] = /rel="stylesheet" href="([^"]+)"/.exec(await read('/adopt')) ?? []
  assert.match(await read(stylesheet), /\.cards/)
  assert.match(await read('/adopt/embed.js'), /adoptable-animals/)
}

/** Photos are decoded in another process, which is the same program. The second one uses the memory of the first. */
export async function checkUpload({ request, operatorKey: key }: Server, petId: number): Promise<void> {
  const body = await jpeg(4_000, 3_000)
  for (const position of [0, 1]) {
    const headers = { 'content-type': 'image/jpeg' }
    const { status, text, json } = await request('POST', `/v1/pets/${petId}/photos`, { key, headers, body })
    assert.equal(status, 201, text)
    assert.deepEqual([json.position, json.width, json.height], [position, 1_600, 1_200])
    const file = await request('GET', json.urls['320'])
    assert.deepEqual([file.status, file.headers['content-type']], [200, 'image/webp'])
  }
}

/** An erasure truncates the write-ahead log, in a worker thread. */
async function checkWorkerThread(
  { request, operatorKey: key, dataDir }: Server,
  petId: number,
): Promise<void> {
  const { json: order } = await request('POST', '/v1/store/orders', {
    key,
    body: { petId, customer: { name: 'Ada', email: 'ada@example.com' } },
  })
  const { status } = await request('DELETE', `/v1/store/orders/${order.id}/customer`, { key })
  assert.equal(status, 204)
  const log = join(dataDir, 'petstore.db-wal')
  await eventually('the log is truncated', () => statSync(log).size === 0)
}
