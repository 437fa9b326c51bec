import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RequestOptions } from '../support/client.ts'
import { disk, diskIn } from '../support/disk.ts'
import { eventually } from '../support/eventually.ts'

// Loaded after the module that replaces fdatasync.
const { startTestService } = await import('../support/service.ts')
const { folderFor, serverFor } = await import('../support/servers.ts')

const syncMaxMs = 1_500
/** The bound of `serve`, with slack for a busy machine. */
const stopMaxMs = 15_000
const slackMs = 10_000

/** Whether an error states that the change may have been applied. */
const isOutcomeUnknown = ({ message }: { message: string }) => /Idempotency-Key/.test(message)

async function serviceFor(t: TestContext, bounds = {}) {
  const service = await startTestService({}, { bounds })
  t.after(async () => {
    disk.set('ok')
    await service.stop()
  })
  const call = (method: string, path: string, options: RequestOptions = {}) =>
    service.request(method, `/v1${path}`, { key: service.operatorKey, ...options })
  const add = (name: string, headers = {}) =>
    call('POST', '/pets', { body: { name, categoryId: 1 }, headers })
  const names = async (): Promise<string[]> =>
    (await call('GET', '/pets?limit=100')).json.map(({ name }: { name: string }) => name)
  return { service, call, add, names }
}

test('while the disk is busy no write is confirmed, and reads are served', async (t) => {
  const { add, names } = await serviceFor(t)
  assert.equal((await add('before')).status, 201)
  disk.set('hang')
  let responded = 0
  const adding = Array.from({ length: 40 }, async (_, n) => {
    const response = await add(`held ${n}`)
    responded++
    return response.status
  })
  await eventually('the disk is busy', () => disk.isBusy)
  for (let round = 0; round < 50; round++) {
    assert.ok((await names()).includes('before'))
    await nextTurn()
  }
  assert.equal(responded, 0, 'no write is confirmed before it is durable')
  disk.set('ok')
  assert.deepEqual(new Set(await Promise.all(adding)), new Set([201]))
})

test('writes that wait for an unresponsive disk receive 503, which states whether they may have been applied', async (t) => {
  const { add, names, service } = await serviceFor(t, { syncMaxMs })
  disk.set('hang')
  const wanted = Array.from({ length: 60 }, (_, n) => `held ${n}`)
  const responses = await Promise.all(wanted.map((name) => add(name)))
  const applied = new Set(await names())
  assert.ok(applied.size > 0)
  for (const [n, { status, json, headers }] of responses.entries()) {
    assert.deepEqual([status, json.code, headers['retry-after']], [503, 'unavailable', '1'])
    assert.equal(isOutcomeUnknown(json), applied.has(wanted[n] as string), json.message)
  }
  assert.ok(service.logLines.some((line) => JSON.parse(line).msg.startsWith('The disk does not respond')))
})

test('while a sync is overdue the service is not ready, and further writes are rejected before they begin', async (t) => {
  const { add, names, service } = await serviceFor(t, { syncMaxMs })
  disk.set('hang')
  assert.ok(isOutcomeUnknown((await add('first')).json))
  const { status, json, headers } = await add('second')
  assert.deepEqual([status, json.code, headers['retry-after']], [503, 'unavailable', '1'])
  assert.ok(!isOutcomeUnknown(json))
  await eventually('it is not ready', async () => (await service.request('GET', '/readyz')).status === 503)
  assert.equal((await service.request('GET', '/healthz')).status, 200)
  assert.deepEqual(await names(), ['first'], 'reads are served')
  disk.set('ok')
  await eventually('it is ready again', async () => (await service.request('GET', '/readyz')).status === 200)
  assert.equal((await add('third')).status, 201)
  assert.deepEqual(await names(), ['third', 'first'])
})

test('all writes receive a response when the disk is overdue, also beyond the bound of unsynced commits', async (t) => {
  const { service, add, names } = await serviceFor(t, { syncMaxMs: 6 * syncMaxMs })
  const isQueueWaiting = async () => {
    const { text } = await service.request('GET', '/metrics', { key: service.operatorKey })
    return /^petstore_writes_waiting [1-9]/m.test(text)
  }
  disk.set('hang')
  const adding = []
  // More than the 16 commits that may be unsynced. Each write is one commit: a list shows it before the next begins. The last
  // ones may wait already, behind commits of background jobs.
  for (let n = 0; n < 17; n++) {
    adding.push(add(`held ${n}`))
    await eventually('it is committed', async () => {
      const isCommitted = (await names()).includes(`held ${n}`)
      return isCommitted || (n >= 12 && (await isQueueWaiting()))
    })
  }
  adding.push(add('behind them'))
  await eventually('it waits', isQueueWaiting)
  for (const { status } of await Promise.all(adding)) assert.equal(status, 503)
})

test('when the disk responds again, the effects of durable changes take place', async (t) => {
  const { call, add, service } = await serviceFor(t, { syncMaxMs })
  const { id, key } = await service.makeKey()
  const list = () => service.request('GET', '/v1/pets', { key })
  assert.equal((await list()).status, 200)
  const newest = Number((await call('GET', '/events')).headers['last-event-id'])
  disk.set('hang')
  const headers = { 'idempotency-key': 'one' }
  const [revoked, added] = await Promise.all([call('DELETE', `/keys/${id}`), add('once', headers)])
  assert.deepEqual([revoked.status, added.status], [503, 503])
  disk.set('ok')
  await eventually('the key is revoked', async () => (await list()).status === 401)
  // The two may be separate commits, each with a sync.
  await eventually('both are in the feed', async () => {
    const { json } = await call('GET', `/events?after=${newest}`)
    const types = json.map(({ type }: { type: string }) => type).sort()
    return types.join() === 'category.created,key.revoked,pet.created'
  })
  const repeated = await add('once', headers)
  assert.deepEqual([repeated.status, repeated.headers['idempotent-replayed']], [201, 'true'])
})

test('a stop does not wait for an unresponsive disk', async (t) => {
  const own = diskIn(folderFor(t))
  const server = await serverFor(t, own.env, { nodeOptions: own.nodeOptions })
  own.set('hang')
  const added = server
    .request('POST', '/v1/pets', { key: server.operatorKey, body: { name: 'held', categoryId: 1 } })
    .then(
      ({ status }) => status,
      () => 'cut off',
    )
  await eventually('it is committed', async () => {
    const { json } = await server.request('GET', '/v1/pets', { key: server.operatorKey })
    return json.length === 1
  })
  const since = performance.now()
  server.child.kill('SIGTERM')
  const { code, signal } = await server.ended
  assert.ok(performance.now() - since < stopMaxMs + slackMs)
  assert.notEqual(code, 0, `ended by ${signal}`)
  assert.ok([503, 'cut off'].includes(await added))
})
