import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { disk, diskIn } from '../support/disk.ts'
import { eventually } from '../support/eventually.ts'

// Loaded after the module that replaces fdatasync.
const { writeCursor } = await import('../../src/database/cursors.ts')
const { databaseFile } = await import('../../src/database/sqlite/open.ts')
const { cliOn } = await import('../support/commands.ts')
const { assertIntegrity, openTestDatabase, databaseFor } = await import('../support/engine.ts')
const { runInProcess, runPetstore } = await import('../support/process.ts')
const { folderFor, serverFor } = await import('../support/servers.ts')
const { startTestService } = await import('../support/service.ts')

const adminKey = 'the-admin-key-of-the-disk-failure-test'
/** The bound of `serve` after a failure, with slack for a busy machine. */
const stopMaxMs = 5_000
const slackMs = 10_000

type Body = { message: string }
/** Whether an error states that the change may have been applied. */
const isOutcomeUnknown = ({ message }: Body) => /Idempotency-Key/.test(message)
const pet = (name: string) => ({ name, categoryId: 1 })
const namesOf = (pets: { name: string }[]) => pets.map(({ name }) => name)

test('after a failed sync all writes are rejected, and the service is not ready', async (t) => {
  // The first write that fails is that of the request, not that of the counts.
  const service = await startTestService({}, { bounds: { limiterFlushMs: 3_600_000 } })
  // The database stays open. The next start would recover it.
  t.after(() => assert.rejects(service.stop()))
  const key = service.operatorKey
  const add = (name: string) => service.request('POST', '/v1/pets', { key, body: pet(name) })
  assert.equal((await add('before')).status, 201)
  disk.set('fail')
  const first = await add('during')
  disk.set('ok')
  assert.equal(first.status, 503)
  assert.ok(isOutcomeUnknown(first.json))
  await service.failed
  for (const name of ['after', 'long after']) {
    const { status, json, headers } = await add(name)
    assert.deepEqual([status, json.code, headers['retry-after']], [503, 'unavailable', '1'])
    assert.ok(!isOutcomeUnknown(json))
  }
  await eventually('it is not ready', async () => (await service.request('GET', '/readyz')).status === 503)
  const { json } = await service.request('GET', '/v1/pets', { key })
  assert.deepEqual(namesOf(json).slice(-1), ['before'])
  assert.ok(!namesOf(json).some((name) => name.includes('after')))
  const fatal = service.logLines.map((line) => JSON.parse(line)).filter(({ level }) => level === 60)
  assert.match(fatal[0].msg, /^The disk failed .* start the service again/)
})

test('a server whose sync fails exits with status 1, and the next start has every confirmed change', async (t) => {
  const databaseEnv = await databaseFor(t)
  const own = diskIn(folderFor(t))
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey, ...own.env }
  const server = await serverFor(t, env, { nodeOptions: own.nodeOptions })
  const call = (method: string, path: string, body?: unknown) =>
    server.request(method, `/v1${path}`, { key: adminKey, ...(body !== undefined && { body }) })
  const { json: made } = await call('POST', '/keys', { name: 'to be revoked' })
  assert.equal((await call('POST', '/pets', pet('before'))).status, 201)
  own.set('fail')
  const since = performance.now()
  const wanted = ['one', 'two', 'three']
  const responses = await Promise.all([
    call('DELETE', `/keys/${made.id}`).catch(() => undefined),
    ...wanted.map((name) => call('POST', '/pets', pet(name)).catch(() => undefined)),
  ])
  const statuses = new Set(responses.map((response) => response?.status))
  // A late request may have found the port closed.
  statuses.delete(undefined)
  assert.deepEqual(statuses, new Set([503]))
  const { code, stderr } = await server.ended
  assert.ok(performance.now() - since < stopMaxMs + slackMs)
  assert.equal(code, 1)
  assert.match(stderr, /"level":60,.*The disk failed to store changes.*start the service again/)

  const again = await serverFor(t, { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey })
  assertIntegrity(databaseEnv)
  const { json: pets } = await again.request('GET', '/v1/pets', { key: adminKey })
  const { json: events } = await again.request('GET', '/v1/events', { key: adminKey })
  const reported = events.filter(({ type }: { type: string }) => type === 'pet.created')
  assert.deepEqual(
    new Set(namesOf(reported.map(({ data }: { data: { name: string } }) => data))),
    new Set(namesOf(pets)),
  )
  assert.ok(namesOf(pets).includes('before'))
  const isRevoked = events.some(({ type }: { type: string }) => type === 'key.revoked')
  const { status } = await again.request('GET', '/v1/pets', { key: made.key })
  assert.equal(status, isRevoked ? 401 : 200)
})

test('a start begins with an empty log, so that all data is in the database file', async (t) => {
  const databaseEnv = await databaseFor(t)
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey }
  const logFile = `${databaseFile(databaseEnv.PETSTORE_DATA_DIR)}-wal`
  const server = await serverFor(t, env)
  await cliOn(databaseEnv).ok(['seed', '--count', '5000'])
  server.child.kill('SIGKILL')
  await server.ended
  const bytesBefore = statSync(logFile).size
  assert.ok(bytesBefore > 500_000)
  const again = await serverFor(t, env)
  assert.ok(statSync(logFile).size < bytesBefore / 4)
  const { json } = await again.request('GET', '/v1/store/inventory', { key: adminKey })
  assert.equal(json.available + json.pending + json.sold, 5_000)
})

test('after a failed sync a database that another process has open is not opened', async (t) => {
  const databaseEnv = await databaseFor(t)
  const cli = cliOn(databaseEnv)
  await cli.ok(['seed', '--count', '10'])
  const other = await openTestDatabase(databaseEnv)
  const marker = `${databaseFile(databaseEnv.PETSTORE_DATA_DIR)}-failed`
  const { markFailed } = await import('../../src/database/sqlite/recovery.ts')
  markFailed(databaseFile(databaseEnv.PETSTORE_DATA_DIR))
  try {
    for (const command of [['serve'], ['seed', '--count', '1']]) {
      const { code, stderr } = await runPetstore(command, { PORT: '0', ...databaseEnv })
      assert.equal(code, 1)
      assert.match(stderr, /the disk failed earlier.*another process has it open: stop that process/)
    }
    assert.ok(existsSync(marker))
  } finally {
    await other.close()
  }
  await cli.ok(['seed', '--count', '1'])
  assert.ok(!existsSync(marker))
  await serverFor(t, databaseEnv)
})

test('a server whose checkpoint fails exits with status 1, and no confirmed change is lost', async (t) => {
  const databaseEnv = await databaseFor(t)
  const cli = cliOn(databaseEnv)
  await cli.ok(['seed', '--count', '30000'])
  // Otherwise the search index would be written at the same time.
  const database = await openTestDatabase(databaseEnv)
  await database.write(async (trx) => {
    for (const name of ['listings.filled.2', 'listings.followed.2'])
      await writeCursor(trx, name, Number.MAX_SAFE_INTEGER)
  })
  await database.close()
  const bytes = statSync(databaseFile(databaseEnv.PETSTORE_DATA_DIR)).size
  // The restarted log can grow; the database file cannot.
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey }
  const server = await serverFor(t, env, { fileBytesMax: bytes + 64 * 1024 })
  const add = (name: string) => server.request('POST', '/v1/pets', { key: adminKey, body: pet(name) })
  assert.equal((await add('confirmed')).status, 201)
  await cli.ok(['seed', '--count', '15000'])
  const responded: string[] = []
  for (let n = 0; n < 64; n++) {
    const added = await add(`confirmed ${n}`).catch(() => undefined)
    if (added?.status === 201) responded.push(`confirmed ${n}`)
  }
  const { code, stderr } = await server.ended
  assert.equal(code, 1)
  assert.match(stderr, /"level":60,.*A checkpoint of .* failed: disk I\/O error/)
  const again = await serverFor(t, env)
  assertIntegrity(databaseEnv)
  const { json } = await again.request('GET', '/v1/pets?limit=100', { key: adminKey })
  for (const name of responded) assert.ok(namesOf(json).includes(name), name)
})

test('a command that cannot write exits with status 1 and says what to check', async (t) => {
  const databaseEnv = await databaseFor(t)
  const cli = cliOn(databaseEnv)
  await cli.ok(['seed', '--count', '10'])
  const how = { fileBytesMax: 512 * 1024 }
  const { code, stdout, stderr } = await runInProcess(['seed', '--count', '5000'], databaseEnv, '', how)
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(
    stderr,
    /^The commit was not confirmed \(disk I\/O error\)\. Check whether the change was applied[^\n]*\n$/,
  )
  assertIntegrity(databaseEnv)
  await cli.ok(['seed', '--count', '10'])
})
