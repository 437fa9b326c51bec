import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openEventStream } from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'
import { permissionFlags } from '../support/permissionFlags.ts'
import { preloadOption } from '../support/process.ts'
import { folderFor, type Server, SuiteCleanup, serverFor, stopped } from '../support/servers.ts'
import { loopbackAllowed, registerWebhook, startWebhookReceiver } from '../support/webhookReceiver.ts'

const main = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url))
const cleanup = new SuiteCleanup()
const outside = join(folderFor(cleanup), 'outside')
/** What code in the process of the service can do. Each line is printed before the service starts. */
const attempts = preloadOption(`
  import { readFileSync, writeFileSync } from 'node:fs'
  import { Worker } from 'node:worker_threads'
  const attempt = (name, work) => {
    try { work(); console.error(name, 'allowed') } catch ({ code }) { console.error(name, code) }
  }
  attempt('write', () => writeFileSync(${JSON.stringify(outside)}, ''))
  attempt('write program', () => writeFileSync(${JSON.stringify(`${main}.changed`)}, ''))
  attempt('read', () => readFileSync('/etc/hosts'))
  attempt('read memory of a process', () => readFileSync('/proc/self/status'))
  attempt('thread', () => new Worker('', { eval: true }))
`)

let server: Server & { operatorKey: string }
before(async () => {
  const nodeOptions = [...permissionFlags(), attempts]
  server = (await serverFor(cleanup, loopbackAllowed, { nodeOptions, main })) as typeof server
})
after(() => cleanup.end())
const call = async (method: string, path: string, body?: unknown, headers = {}) => {
  const response = await server.request(method, path, { key: server.operatorKey, body, headers })
  assert.ok(response.status < 300, response.text)
  return response
}
const addPet = async (): Promise<number> =>
  (await call('POST', '/v1/pets', { name: 'Luna', categoryId: 3, status: 'available' })).json.id

describe("a service with Node's permission model", () => {
  test('can only do what it needs', () => {
    const line = (name: string) => new RegExp(`^${name} (\\w+)$`, 'm').exec(server.output.stderr)?.[1]
    const refused = 'ERR_ACCESS_DENIED'
    assert.deepEqual(['write', 'write program', 'read', 'thread', 'read memory of a process'].map(line), [
      refused,
      refused,
      refused,
      refused,
      'allowed',
    ])
    assert.ok(!existsSync(outside))
    assert.doesNotMatch(server.output.stderr, /Warning/)
  })

  test('stores pets and photos, in a process with the same restrictions', async () => {
    const id = await addPet()
    const { json } = await call('POST', `/v1/pets/${id}/photos`, await jpeg(), {
      'content-type': 'image/jpeg',
    })
    const { pid } = server.child
    const decoder = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    assert.match(decoder, /^\d+$/)
    assert.match(readFileSync(`/proc/${decoder}/environ`, 'utf8'), /NODE_OPTIONS=--permission /)
    assert.equal((await server.request('GET', json.urls[640])).status, 200)
  })

  test('delivers webhooks and streams events', async (t) => {
    const receiver = await startWebhookReceiver()
    t.after(() => receiver.stop())
    await registerWebhook(server, receiver.url)
    const stream = await openEventStream(server.base, { key: server.operatorKey })
    t.after(() => stream.disconnect())
    const id = await addPet()
    assert.equal((await receiver.until(1)).data.id, id)
    assert.ok((await stream.until(1)).length > 0)
  })

  test('serves the adoption page, the guides, the API reference and the console', async () => {
    await call('PATCH', '/v1/store/profile', { name: 'Paws', adoptionPage: true })
    for (const path of ['/adopt', '/guides', '/docs', '/console', '/v1/openapi.json', '/readyz'])
      await eventually(path, async () => (await server.request('GET', path)).status === 200, 5_000)
  })

  test('stops cleanly', async () => {
    assert.equal((await stopped(server)).code, 0, server.output.stderr)
  })
})
