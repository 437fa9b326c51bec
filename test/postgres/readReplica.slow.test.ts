import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, afterEach, before, test } from 'node:test'
import pg from 'pg'
import { migrations } from '../../src/database/migrate.ts'
import type { ClientResponse, RequestOptions } from '../support/client.ts'
import { temporaryFolder } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { adminKey, makeAmpleKey } from '../support/instances.ts'
import { startPostgres } from '../support/postgres.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { proxyFor, type TcpProxy } from '../support/tcpProxy.ts'

/** A delay that no test reaches, and one that the next checks notice. */
const hourMs = 3_600_000
const shortLagMs = 1_500
const noticedMaxMs = 30_000

const undo = reverseCleanup({ after: (end) => after(end as () => Promise<void>) })

let primary: pg.Pool
let replica: pg.Pool
let proxy: TcpProxy
let patient: TestService
let strict: TestService
/** A key of each service, with ample limits. */
const keys = new Map<TestService, string>()
/** The settings of a service on a database, with a replica. */
let settings: (database: string, replicaUrl: string) => Record<string, string>
let replicaUrl: string

before(async () => {
  const postgres = await startPostgres({ hasReplica: true })
  undo.after(postgres.stop)
  const urlOf = (adminUrl: string, database: string) =>
    Object.assign(new URL(adminUrl), { pathname: database }).href
  const admin = new pg.Client({ connectionString: postgres.adminUrl })
  await admin.connect()
  for (const name of ['first', 'second']) await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  primary = poolOf(urlOf(postgres.adminUrl, 'first'))
  replica = poolOf(urlOf(postgres.replicaAdminUrl, 'first'))
  proxy = await proxyFor(undo, postgres.replicaAdminUrl)
  replicaUrl = urlOf(postgres.replicaAdminUrl, 'first')
  const folder = temporaryFolder()
  undo.after(() => rmSync(folder, { recursive: true, force: true }))
  settings = (database, url) => ({
    PETSTORE_DATA_DIR: folder,
    PETSTORE_ADMIN_KEY: adminKey,
    DATABASE_URL: urlOf(postgres.adminUrl, database),
    DATABASE_READ_URL: url,
  })
  patient = await serviceFor(settings('first', proxy.through(replicaUrl)), hourMs)
  strict = await serviceFor(settings('first', replicaUrl), shortLagMs)
})

function poolOf(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2 })
  pool.on('error', () => {})
  undo.after(() => pool.end())
  return pool
}

async function serviceFor(env: Record<string, string>, replicaLagMaxMs: number): Promise<TestService> {
  const service = await startTestService(env, { bounds: { replicaLagMaxMs } })
  undo.after(() => service.stop())
  keys.set(service, await makeAmpleKey(service))
  return service
}

/** Every test starts with a replica that has caught up. */
afterEach(async () => {
  await replica.query('SELECT pg_wal_replay_resume() WHERE pg_is_wal_replay_paused()')
  await Promise.all([patient, strict].map(isTakenBack))
})

const get = (service: TestService, path: string, prefer?: string) =>
  request(service, 'GET', path, prefer === undefined ? {} : { headers: { prefer } })

const request = (service: TestService, method: string, path: string, options: RequestOptions = {}) =>
  service.request(method, path, { key: keys.get(service), ...options })

const getFromReplica = (service: TestService, path: string) => get(service, path, 'read-replica')

const appliedPreference = ({ headers }: ClientResponse) => headers['preference-applied']

async function write(method: string, path: string, body?: unknown) {
  const response = await request(patient, method, path, { body })
  assert.ok(response.status < 300, response.text)
  return response.json
}

const createPet = (name: string): Promise<{ id: number }> =>
  write('POST', '/v1/pets', { name, categoryId: 7 })

/** Waits until the replica has everything that was committed so far. */
async function caughtUp(): Promise<void> {
  const { rows } = await primary.query('SELECT pg_current_wal_flush_lsn()::text AS position')
  await eventually('the replica has caught up', async () => {
    const replayed = await replica.query('SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS is', [
      rows[0].position,
    ])
    return replayed.rows[0].is
  })
}

/** The replica keeps its present data. */
async function pauseReplay(): Promise<void> {
  await caughtUp()
  await replica.query('SELECT pg_wal_replay_pause()')
  await eventually(
    'the replay is paused',
    async () => (await replica.query('SELECT pg_get_wal_replay_pause_state() AS is')).rows[0].is === 'paused',
  )
}

/** The last line of the log about the replica. */
function lastReport({ logLines }: TestService): { msg: string; problem?: string } | undefined {
  const line = logLines.findLast((text) => text.includes('"read replica '))
  return line === undefined ? undefined : JSON.parse(line)
}

async function gauge(service: TestService): Promise<string | undefined> {
  const { text } = await request(service, 'GET', '/metrics')
  return /^petstore_read_replicas_usable (\d)$/m.exec(text)?.[1]
}

/** Reads succeed all the time, from the primary at last. */
async function isLeftOut(service: TestService, problem: RegExp): Promise<void> {
  await eventually(
    'the replica is left out',
    async () => {
      const response = await getFromReplica(service, '/v1/store/inventory')
      assert.equal(response.status, 200)
      return appliedPreference(response) === undefined && /left out/.test(lastReport(service)?.msg ?? '')
    },
    noticedMaxMs,
  )
  assert.match(lastReport(service)?.problem ?? '', problem)
  assert.equal(await gauge(service), '0')
}

async function isTakenBack(service: TestService): Promise<void> {
  await eventually(
    'the replica is in use',
    async () => appliedPreference(await getFromReplica(service, '/v1/store/inventory')) === 'read-replica',
    noticedMaxMs,
  )
  assert.equal(lastReport(service)?.msg, 'read replica in use')
  assert.equal(await gauge(service), '1')
}

test('every read with the preference comes from the replica, and every other read from the primary', async () => {
  const pet = await createPet('before')
  const category = await write('POST', '/v1/categories', { name: 'before' })
  const order = await write('POST', '/v1/store/orders', { petId: pet.id, note: 'before' })
  await isTakenBack(patient)
  await pauseReplay()
  const paths = [
    `/v1/pets?id=${pet.id}`,
    `/v1/pets/${pet.id}`,
    '/v1/categories?limit=100',
    `/v1/categories/${category.id}`,
    `/v1/store/orders?petId=${pet.id}`,
    `/v1/store/orders/${order.id}`,
    '/v1/store/inventory',
  ]
  const old = await Promise.all(paths.map(async (path) => (await get(patient, path)).json))
  await write('PATCH', `/v1/pets/${pet.id}`, { name: 'after' })
  await write('PATCH', `/v1/categories/${category.id}`, { name: 'after' })
  await write('PATCH', `/v1/store/orders/${order.id}`, { status: 'approved' })
  await createPet('other')
  for (const [index, path] of paths.entries()) {
    const fromReplica = await getFromReplica(patient, path)
    assert.equal(fromReplica.status, 200)
    assert.equal(appliedPreference(fromReplica), 'read-replica', path)
    assert.deepEqual(fromReplica.json, old[index], path)
    const current = await get(patient, path)
    assert.equal(appliedPreference(current), undefined, path)
    assert.notDeepEqual(current.json, old[index], path)
  }
})

for (const [prefer, applied] of [
  ['Read-Replica', 'read-replica'],
  ['respond-async, read-replica; a=b', 'read-replica'],
  ['handling=strict, read-replica', 'read-replica'],
  ['read-replica=no', undefined],
  ['no-read-replica', undefined],
  ['handling=read-replica', undefined],
  ['respond-async; read-replica', undefined],
] as const) {
  test(`Prefer: ${prefer} ${applied ? 'reads from the replica' : 'has no effect'}`, async () => {
    assert.equal(appliedPreference(await get(patient, '/v1/store/inventory', prefer)), applied)
  })
}

test('HEAD and conditional requests read from the replica too', async () => {
  const { id } = await createPet('before')
  await pauseReplay()
  const { headers } = await get(patient, `/v1/pets/${id}`)
  const etag = String(headers.etag)
  await write('PATCH', `/v1/pets/${id}`, { name: 'after' })
  const prefer = { prefer: 'read-replica' }
  const head = await request(patient, 'HEAD', `/v1/pets/${id}`, { headers: prefer })
  assert.deepEqual([head.status, head.headers.etag, appliedPreference(head)], [200, etag, 'read-replica'])
  const headersOfBoth = { ...prefer, 'if-none-match': etag }
  const unchanged = await request(patient, 'GET', `/v1/pets/${id}`, { headers: headersOfBoth })
  assert.deepEqual([unchanged.status, appliedPreference(unchanged)], [304, 'read-replica'])
})

test('nothing that the replica returned is cached, and a cached page of the primary is used', async () => {
  const { id } = await createPet('before')
  await pauseReplay()
  await write('PATCH', `/v1/pets/${id}`, { name: 'after' })
  const path = `/v1/pets?id=${id}`
  const names: [string, string | undefined][] = []
  for (const prefer of ['read-replica', 'read-replica', undefined, 'read-replica']) {
    const response = await get(patient, path, prefer)
    names.push([response.json[0].name, String(appliedPreference(response))])
  }
  assert.deepEqual(names, [
    ['before', 'read-replica'],
    ['before', 'read-replica'],
    ['after', 'undefined'],
    ['after', 'undefined'],
  ])
})

test('keys, limits, events and webhooks are never read from the replica', async () => {
  for (const path of ['/v1/keys', '/v1/limits', '/v1/events', '/v1/webhooks']) {
    const response = await getFromReplica(patient, path)
    assert.deepEqual([response.status, appliedPreference(response)], [200, undefined], path)
  }
})

test('authentication and counting stay on the primary', async () => {
  await pauseReplay()
  const made = await patient.makeKey({ scopes: ['pets:read'] })
  const read = () =>
    patient.request('GET', '/v1/store/inventory', { key: made.key, headers: { prefer: 'read-replica' } })
  const left = async () => {
    const { headers } = await read()
    assert.equal(headers['preference-applied'], 'read-replica')
    return Number(headers['x-ratelimit-remaining'])
  }
  const first = await left()
  assert.equal(await left(), first - 1)
  await patient.request('DELETE', `/v1/keys/${made.id}`, { key: patient.operatorKey })
  assert.equal((await read()).status, 401)
})

test('what the replica does not have yet is read from the primary', async () => {
  await pauseReplay()
  const { id } = await createPet('new')
  const found = await getFromReplica(patient, `/v1/pets/${id}`)
  assert.deepEqual([found.status, found.json.name, appliedPreference(found)], [200, 'new', undefined])
  const missing = await getFromReplica(patient, `/v1/pets/${id + 1_000}`)
  assert.deepEqual([missing.status, appliedPreference(missing)], [404, undefined])
  const invalid = await getFromReplica(patient, '/v1/pets?limit=0')
  assert.deepEqual([invalid.status, appliedPreference(invalid)], [400, undefined])
})

test('a query that waits too long on the replica is answered by the primary', async () => {
  const { id } = await createPet('before')
  const client = await primary.connect()
  await client.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE')
  // A commit flushes the log, so that the lock reaches the replica.
  await primary.query("COMMENT ON TABLE cursors IS 'changed'")
  await eventually('the replica has the lock', async () => {
    const locks = "SELECT FROM pg_locks WHERE relation = 'pets'::regclass AND mode = 'AccessExclusiveLock'"
    return (await replica.query(locks)).rowCount === 1
  })
  await replica.query('SELECT pg_wal_replay_pause()')
  await eventually(
    'the replay is paused',
    async () => (await replica.query('SELECT pg_get_wal_replay_pause_state() AS is')).rows[0].is === 'paused',
  )
  await client.query('ROLLBACK')
  client.release()
  const response = await getFromReplica(patient, `/v1/pets/${id}`)
  assert.deepEqual(
    [response.status, response.json.name, appliedPreference(response)],
    [200, 'before', undefined],
  )
  assert.equal(lastReport(patient)?.msg, 'read replica in use')
})

test('a replica that is too far behind is left out, and taken back when it has caught up', async () => {
  await pauseReplay()
  await createPet('new')
  await isLeftOut(strict, /^it is more than 1500 ms behind$/)
  // The other service accepts more.
  assert.equal(appliedPreference(await getFromReplica(patient, '/v1/store/inventory')), 'read-replica')
  const { rows } = await primary.query('SELECT count(*)::int AS count FROM pets')
  const { json } = await getFromReplica(strict, '/v1/store/inventory')
  assert.equal(json.available + json.pending + json.sold, rows[0].count)
  await replica.query('SELECT pg_wal_replay_resume()')
  await isTakenBack(strict)
})

test('a replica without a connection to its primary is left out', async () => {
  const { rows } = await replica.query('SHOW primary_conninfo')
  const setSource = async (source: string) => {
    await replica.query(`ALTER SYSTEM SET primary_conninfo = '${source}'`)
    await replica.query('SELECT pg_reload_conf()')
  }
  await setSource('')
  try {
    await isLeftOut(patient, /^it receives no changes from its primary$/)
  } finally {
    await setSource(rows[0].primary_conninfo)
  }
  await isTakenBack(patient)
})

test('a replica that is stopped is left out: all reads succeed, and it is taken back later', async () => {
  await proxy.refuse()
  for (let reads = 0; reads < 20; reads++) {
    const response = await getFromReplica(patient, '/v1/store/orders')
    assert.deepEqual([response.status, appliedPreference(response)], [200, undefined])
  }
  await isLeftOut(patient, /ECONNREFUSED|ECONNRESET|terminated/)
  await proxy.accept()
  await isTakenBack(patient)
})

test('a replica that does not respond is left out: all reads succeed', async () => {
  proxy.hang()
  try {
    const reads = await Promise.all(
      Array.from({ length: 30 }, () => getFromReplica(patient, '/v1/store/orders')),
    )
    assert.ok(reads.every((response) => response.status === 200 && appliedPreference(response) === undefined))
    await isLeftOut(patient, /timeout|timed out|did not respond/i)
  } finally {
    proxy.flow()
  }
  await isTakenBack(patient)
})

test('a replica of another database, and a server that is no replica, are refused', async () => {
  const second = await serviceFor(settings('second', replicaUrl), hourMs)
  await isLeftOut(second, /^it belongs to another database$/)
  const self = await serviceFor(settings('first', settings('first', '').DATABASE_URL as string), hourMs)
  await isLeftOut(self, /^it is not a standby server$/)
})

test('a replica with another version of the schema is left out', async () => {
  await pauseReplay()
  const next = migrations.length + 1
  await primary.query(`INSERT INTO schema_migrations (version, name, applied_at) VALUES (${next}, 'next', 0)`)
  try {
    await isLeftOut(patient, /^its schema has another version$/)
  } finally {
    await primary.query(`DELETE FROM schema_migrations WHERE version = ${next}`)
  }
})
