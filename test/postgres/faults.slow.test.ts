import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import type { Bounds } from '../../src/bounds.ts'
import type { Client, ClientResponse } from '../support/client.ts'
import {
  administer,
  adminUrl,
  type DatabaseEnv,
  databaseFor,
  holdWriteLockOf,
  inDatabase,
  newDatabase,
  removeDatabase,
  temporaryFolder,
} from '../support/engine.ts'
import { type EventStreamClient, openEventStream } from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import { assertUnavailable, isOutcomeUnknown, type Load, startLoad } from '../support/load.ts'
import { runPetstore } from '../support/process.ts'
import { amplePlan } from '../support/responses.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { ownPostgresFor } from '../support/separatePostgres.ts'
import { startTestService, type TestService, withIndexing } from '../support/service.ts'
import { proxyFor, type TcpProxy } from '../support/tcpProxy.ts'
import {
  loopbackAllowed,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhookReceiver.ts'

const hourMs = 60 * 60 * 1000
const poolMax = 4
const callers = 6

/** The bounds of src/database/postgres/: for a connection, a query and a whole commit. */
const connectMs = 2_000
const responseMs = 3_000
const commitMs = 5_000
const askMs = connectMs + responseMs
/** A read is an admission and a query. A write also finds its key again, and waits for the commit before it. */
/** For reads, for writes, and one that numbers the events. */
const connectionsMax = 2 * poolMax + 1
const longestWaitMs = { read: 2 * askMs, write: 2 * askMs + 2 * commitMs, ready: connectMs + 1_000 }
const slackMs = 5_000

type After = Pick<TestContext, 'after'>
type Administer = (statement: string) => Promise<pg.QueryResult>

/** A service on a PostgreSQL that is about to fail. */
type Faulty = {
  /** The settings of its database, without the proxy. */
  databaseEnv: DatabaseEnv
  databaseName: string
  administer: Administer
  service: TestService
  key: string
}
type Proxied = Faulty & { proxy: TcpProxy }

/** A database of a role that is not the superuser: some limits do not apply to a superuser. */
async function ownedDatabaseFor(t: After): Promise<DatabaseEnv> {
  const role = `petstore_${randomUUID().replaceAll('-', '')}`
  const password = randomUUID()
  await administer(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
  t.after(() => administer(`DROP ROLE ${role}`))
  const env = await newDatabase({ isBare: true })
  t.after(() => removeDatabase(env))
  const url = new URL(env.DATABASE_URL as string)
  await administer(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${role}`)
  url.username = role
  url.password = password
  return { ...env, DATABASE_URL: url.href }
}

const passwordOf = ({ DATABASE_URL }: DatabaseEnv): string => new URL(DATABASE_URL as string).password

async function serviceOn(
  t: After,
  databaseEnv: DatabaseEnv,
  databaseUrl = databaseEnv.DATABASE_URL as string,
  bounds: Partial<Bounds> = {},
) {
  const env = { ...loopbackAllowed, PETSTORE_DATABASE_POOL: String(poolMax) }
  const service = await startTestService({ ...databaseEnv, ...env, DATABASE_URL: databaseUrl }, { bounds })
  t.after(() => service.stop())
  const { key } = await service.makeKey(amplePlan)
  return { service, key }
}

/** A service that is connected to PostgreSQL through a proxy. */
async function proxiedService(t: After, bounds?: Partial<Bounds>, isOwned = false): Promise<Proxied> {
  const databaseEnv = await (isOwned ? ownedDatabaseFor(t) : databaseFor(t))
  const url = databaseEnv.DATABASE_URL as string
  const proxy = await proxyFor(t, url)
  const serving = await serviceOn(t, databaseEnv, proxy.through(url), bounds)
  return { ...serving, databaseEnv, proxy, databaseName: new URL(url).pathname.slice(1), administer }
}

const ofService = ({ databaseName }: Faulty) =>
  `FROM pg_stat_activity WHERE datname = '${databaseName}' AND application_name = 'petstore'`

/** The number of connections of the service, from PostgreSQL. */
async function connectionsOf(faulty: Faulty): Promise<number> {
  const { rows } = await faulty.administer(`SELECT count(*) ${ofService(faulty)}`)
  return Number(rows[0].count)
}

/** Terminates every connection of the service in PostgreSQL. */
const terminateAll = (faulty: Faulty) =>
  faulty.administer(`SELECT pg_terminate_backend(pid) ${ofService(faulty)}`)

async function readiness(service: Client): Promise<number> {
  const startedAt = performance.now()
  const { status, headers } = await service.request('GET', '/readyz')
  const ms = performance.now() - startedAt
  assert.ok(ms < longestWaitMs.ready + slackMs, `/readyz took ${Math.round(ms)} ms`)
  if (status === 503) assert.match(String(headers['retry-after']), /^[1-9]\d*$/)
  return status
}

/** Every confirmed pet exists once, and no rejected pet exists. */
async function assertNothingLost(
  databaseEnv: DatabaseEnv,
  { created, rejected, unknown }: Load,
): Promise<void> {
  const rows = await inDatabase(databaseEnv, ({ read }) =>
    read.selectFrom('pets').select(['id', 'name']).execute(),
  )
  const byId = new Map(rows.map(({ id, name }) => [id, name]))
  const names = new Set(rows.map(({ name }) => name))
  for (const [id, name] of created) assert.equal(byId.get(id), name, `animal ${id} got 201`)
  for (const { name } of rejected) assert.ok(!names.has(name), `${name} was rejected, but exists`)
  assert.equal(names.size, rows.length, 'every pet exists once')
  assert.ok(rows.length <= created.size + unknown.length)
}

const pauseBetweenStreamsMs = 50

/** A stream that reconnects whenever it ends, from the last event that it received. */
async function follow(t: After, { service }: Faulty): Promise<{ ids: Set<number> }> {
  const ids = new Set<number>()
  let isOver = false
  let current: EventStreamClient | undefined
  /** The last event that was received; at first the newest event at the start. */
  let position: string | undefined
  t.after(() => {
    isOver = true
    current?.disconnect()
  })
  const note = () => {
    for (const { id, type, data } of current?.events.splice(0) ?? []) {
      position = String(id)
      if (type === 'pet.created') ids.add((data as { id: number }).id)
    }
  }
  const connect = async () => {
    const headers = { ...(position !== undefined && { 'last-event-id': position }) }
    current = await openEventStream(service.base, { key: service.operatorKey, headers })
    const { status, incoming, ended } = current
    assert.ok(status === 200 || status === 503, `the stream got ${status}`)
    position ??= String(current.headers['last-event-id'])
    incoming.on('data', note)
    void ended.then(connectAgain)
  }
  const connectAgain = async () => {
    note()
    for (let isOpen = false; !isOpen && !isOver; ) {
      await pause(pauseBetweenStreamsMs)
      isOpen = await connect().then(
        () => true,
        () => false,
      )
    }
  }
  await connect()
  return { ids }
}

type Scenario = {
  what: string
  isOwned?: boolean
  begin(faulty: Proxied): unknown
  end(faulty: Proxied): unknown
}

const scenarios: Scenario[] = [
  { what: 'gone', begin: ({ proxy }) => proxy.refuse(), end: ({ proxy }) => proxy.accept() },
  { what: 'hung', begin: ({ proxy }) => proxy.hang(), end: ({ proxy }) => proxy.flow() },
  {
    what: 'slower than the bounds',
    begin: ({ proxy }) => proxy.delay(4_000),
    end: ({ proxy }) => proxy.delay(0),
  },
  {
    what: 'out of connections',
    isOwned: true,
    begin: async (faulty) => {
      await administer(`ALTER DATABASE ${faulty.databaseName} CONNECTION LIMIT 0`)
      await terminateAll(faulty)
    },
    end: ({ databaseName }) => administer(`ALTER DATABASE ${databaseName} CONNECTION LIMIT -1`),
  },
  {
    what: 'read-only, as after a failover',
    begin: async (faulty) => {
      await administer(`ALTER DATABASE ${faulty.databaseName} SET default_transaction_read_only = on`)
      await terminateAll(faulty)
    },
    end: ({ databaseName }) =>
      administer(`ALTER DATABASE ${databaseName} RESET default_transaction_read_only`),
  },
]

describe('a PostgreSQL that is not available', { concurrency: 3 }, () => {
  for (const scenario of scenarios) {
    test(`${scenario.what}: every request gets a response in time, and the service recovers without a restart`, (t) =>
      runScenario(t, scenario))
  }
})

/** Puts a service under load, causes the fault, ends it, and checks the recovery. */
async function runScenario(t: TestContext, { begin, end, isOwned }: Scenario): Promise<void> {
  const undo = reverseCleanup(t)
  const faulty = await proxiedService(undo, { sweepMs: 300, ...withIndexing }, isOwned)
  const { service } = faulty
  const { load, receiver, streamed } = await putUnderLoad(undo, faulty)

  await begin(faulty)
  await eventually('/readyz reports it', async () => (await readiness(service)) === 503, 30_000)
  const rejectedBefore = load.leastRejected()
  await eventually('every caller is rejected', () => load.leastRejected() >= rejectedBefore + 2, 60_000)
  assert.equal((await service.request('GET', '/healthz')).status, 200)
  assert.equal(await readiness(service), 503)

  await end(faulty)
  await assertRecovers(t, faulty, load)
  await assertBackgroundGoesOn(faulty, receiver, streamed)
}

/** Callers, a webhook endpoint and a stream. All are served. */
async function putUnderLoad(t: After, faulty: Faulty) {
  const { service, key } = faulty
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  await registerWebhook(service, receiver.url)
  const { ids: streamed } = await follow(t, faulty)
  const load = startLoad([service], { callers, key })
  t.after(() => load.stop().catch(() => {}))
  await eventually('every caller is served', () => load.leastGood() >= 2)
  return { receiver, streamed, load }
}

/** After the fault everything is served again, and nothing was lost, duplicated or leaked. */
async function assertRecovers(t: TestContext, faulty: Faulty, load: Load): Promise<void> {
  const { service, databaseEnv } = faulty
  const endedAt = performance.now()
  await eventually('/readyz reports it', async () => (await readiness(service)) === 200, 30_000)
  const readyMs = performance.now() - endedAt
  const goodBefore = load.leastGood()
  const changesBefore = load.leastChanges()
  const isServed = () => load.leastGood() >= goodBefore + 3 && load.leastChanges() > changesBefore
  await eventually('every caller is served again', isServed, 30_000)
  const wholeMs = performance.now() - endedAt
  await load.stop()
  assert.equal((await service.request('GET', '/healthz')).status, 200)
  const { created, rejected, unknown } = load
  t.diagnostic(
    `longest wait ${shownWaits(load)}; ready again after ${Math.round(readyMs)} ms, every caller served after ${Math.round(wholeMs)} ms; changes: ${created.size} made, ${rejected.length} rejected, ${unknown.length} unknown`,
  )
  assertInTime(load)
  await assertNothingLost(databaseEnv, load)
  await eventually('no connection leaks', async () => (await connectionsOf(faulty)) <= connectionsMax)
  assert.ok(!service.logLines.join().includes(passwordOf(databaseEnv)), 'the password is not in the log')
}

const shownWaits = ({ longestMs: { read, write } }: Load) =>
  `${Math.round(read)} ms for a read, ${Math.round(write)} ms for a change`

function assertInTime(load: Load): void {
  for (const kind of ['read', 'write'] as const)
    assert.ok(load.longestMs[kind] < longestWaitMs[kind] + slackMs, shownWaits(load))
}

/** Webhooks and streams deliver every pet, and sweeps remove expired records. */
async function assertBackgroundGoesOn(
  { service, databaseEnv }: Faulty,
  receiver: WebhookReceiver,
  streamed: ReadonlySet<number>,
): Promise<void> {
  await inDatabase(databaseEnv, async ({ read }) => {
    const pets = (await read.selectFrom('pets').select('id').execute()).map(({ id }) => id)
    const isNotified = () => {
      // Claims of the outage expire after a while, and failed deliveries are retried later.
      service.advance(hourMs / 60)
      const reported = new Set(receiver.received.map(({ data }) => data.id))
      return pets.every((id) => reported.has(id))
    }
    await eventually('webhooks have received every pet', isNotified, 30_000)
    await eventually('streams too', () => pets.every((id) => streamed.has(id)))
    service.advance(25 * hourMs)
    await eventually('old idempotency records are removed', async () => {
      const { rows } = await sql`SELECT FROM idempotency_records LIMIT 1`.execute(read)
      return rows.length === 0
    })
  })
}

const namesIn = (env: DatabaseEnv): Promise<string[]> =>
  inDatabase(env, async ({ read }) =>
    (await read.selectFrom('pets').select('name').orderBy('id').execute()).map(({ name }) => name),
  )

describe('a PostgreSQL that is degraded', { concurrency: 2 }, () => {
  test('a PostgreSQL with fewer connections than the pool may use: requests wait for those that exist', async (t) => {
    const undo = reverseCleanup(t)
    const databaseEnv = await ownedDatabaseFor(undo)
    const { username } = new URL(databaseEnv.DATABASE_URL as string)
    await administer(`ALTER ROLE ${username} CONNECTION LIMIT ${poolMax - 1}`)
    const { service, key } = await serviceOn(undo, databaseEnv)
    const load = startLoad([service], { callers: 2 * poolMax, key })
    undo.after(() => load.stop().catch(() => {}))
    await eventually('every caller is served', () => load.leastGood() >= 10, 30_000)
    await load.stop()
    assert.equal(load.rejections(), 0)
  })

  test('a PostgreSQL without a connection left for the lookup of a key: one of the others is used', async (t) => {
    const undo = reverseCleanup(t)
    const databaseEnv = await ownedDatabaseFor(undo)
    const { service, key } = await serviceOn(undo, databaseEnv)
    const { username, pathname } = new URL(databaseEnv.DATABASE_URL as string)
    const own = `FROM pg_stat_activity WHERE datname = '${pathname.slice(1)}' AND usename = '${username}'`
    const lookup = "query LIKE 'SELECT hash FROM api_key_secrets%'"
    const ended = await administer(`SELECT pg_terminate_backend(pid, 10000) ${own} AND ${lookup}`)
    assert.equal(ended.rows.length, 1)
    const { rows } = await administer(`SELECT count(*) ${own}`)
    await administer(`ALTER ROLE ${username} CONNECTION LIMIT ${rows[0].count}`)
    assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
  })

  test('connections that are cut repeatedly during queries: each request succeeds or fails as a whole', async (t) => {
    const undo = reverseCleanup(t)
    const faulty = await proxiedService(undo, { sweepMs: 300, ...withIndexing })
    const { load, receiver, streamed } = await putUnderLoad(undo, faulty)
    for (let n = 0; n < 10; n++) {
      const before = load.created.size
      await eventually('writes succeed', () => load.created.size > before)
      if (n % 2 === 0) faulty.proxy.cut()
      else await terminateAll(faulty)
    }
    await assertRecovers(t, faulty, load)
    assert.ok(load.rejections() > 0, 'some requests were affected')
    await assertBackgroundGoesOn(faulty, receiver, streamed)
  })

  test('a PostgreSQL that crashes and recovers: no confirmed change is lost, and the service continues', async (t) => {
    const undo = reverseCleanup(t)
    const { databaseEnv, databaseName, administer } = await ownPostgresFor(undo)
    const serving = await serviceOn(undo, databaseEnv, databaseEnv.DATABASE_URL, {
      sweepMs: 300,
      ...withIndexing,
    })
    const faulty = { ...serving, databaseEnv, databaseName, administer }
    const { load, receiver, streamed } = await putUnderLoad(undo, faulty)
    for (let n = 0; n < 2; n++) {
      const { rows } = await administer(`SELECT pid ${ofService(faulty)} LIMIT 1`)
      // When one of its processes is killed, PostgreSQL ends all others and recovers from its log.
      process.kill(rows[0].pid, 'SIGKILL')
      const before = load.leastGood()
      await eventually('every caller is served again', () => load.leastGood() >= before + 3, 30_000)
    }
    await assertRecovers(t, faulty, load)
    await assertBackgroundGoesOn(faulty, receiver, streamed)
  })

  test('a connection that breaks or stops responding during its setup is handled like any other', async (t) => {
    const faulty = await proxiedService(reverseCleanup(t))
    const { service, key, proxy } = faulty
    const look = async () => {
      const startedAt = performance.now()
      const response = await service.request('GET', '/v1/pets', { key })
      const ms = performance.now() - startedAt
      assert.ok(ms < longestWaitMs.read + slackMs, `it took ${ms} ms`)
      if (response.status !== 200) assertUnavailable(response)
      return response.status === 200
    }
    for (const begin of [() => proxy.cutAt('SET ', 'before'), () => proxy.hangAt('SET ')]) {
      let isBegun = false
      void begin().then(() => {
        isBegun = true
      })
      proxy.cut()
      // It may be the connection of a request or of a background task.
      await eventually('a connection is being opened', async () => {
        await look()
        return isBegun
      })
      await look()
      proxy.flow()
      await eventually('it is served', look)
      await eventually('/readyz reports it', async () => (await readiness(service)) === 200)
    }
    await eventually('no connection leaks', async () => (await connectionsOf(faulty)) <= connectionsMax)
  })

  test('with a slow PostgreSQL within the bounds no request is rejected', async (t) => {
    const undo = reverseCleanup(t)
    const { service, key, proxy } = await proxiedService(undo)
    proxy.delay(25)
    const load = startLoad([service], { callers: poolMax, key })
    undo.after(() => load.stop().catch(() => {}))
    await eventually('every caller is served', () => load.leastGood() >= 3, 30_000)
    await load.stop()
    t.diagnostic(`longest wait ${shownWaits(load)}`)
    assert.deepEqual([load.rejected, load.unknown], [[], []])
  })

  test('a write whose queries are each in time but together too slow is rejected without an effect', async (t) => {
    const { service, key, proxy } = await proxiedService(reverseCleanup(t))
    const call = (method: string, path: string, body?: unknown) =>
      service.request(method, path, { key, ...(body !== undefined && { body }) })
    const { json: pet } = await call('POST', '/v1/pets', { name: 'Milo', categoryId: 7 })
    const order = () => call('POST', '/v1/store/orders', { petId: pet.id })
    // All connections are open already: opening one takes several round trips too.
    await Promise.all(Array.from({ length: 3 * poolMax }, () => call('GET', '/v1/pets')))
    // The first round trip fits into the bound of the transaction, and the second does not.
    proxy.delay(1_300)
    const startedAt = performance.now()
    const rejected = await order()
    assertUnavailable(rejected, 'POST')
    assert.ok(!isOutcomeUnknown(rejected), 'it did not reach its commit')
    const ms = performance.now() - startedAt
    assert.ok(ms < longestWaitMs.write + slackMs, `the change took ${ms} ms`)
    // With the delay, a read takes 2.6 of its 3 seconds, and no new connection can be opened.
    proxy.delay(0)
    await eventually('a read is served', async () => (await call('GET', '/v1/pets')).status === 200, 30_000)
    assert.deepEqual((await call('GET', '/v1/store/inventory')).json, { available: 1, pending: 0, sold: 0 })
    await eventually('a write succeeds again', async () => (await order()).status === 201)
  })

  test('a pool whose connections are all in use: requests without one are rejected in time, and served afterwards', async (t) => {
    const undo = reverseCleanup(t)
    const faulty = await proxiedService(undo)
    const { service, key, databaseEnv } = faulty
    const load = startLoad([service], { callers: 10 * poolMax, key })
    undo.after(() => load.stop().catch(() => {}))
    await eventually('every caller is served', () => load.leastGood() >= 1)
    const holder = new pg.Client({ connectionString: databaseEnv.DATABASE_URL })
    await holder.connect()
    undo.after(() => holder.end())
    await holder.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE')
    // Callers that read the same page can share a connection. These read different ones.
    let isReported = false
    const readers = Array.from({ length: 5 * poolMax }, async (_, n) => {
      while (!isReported) await service.request('GET', `/v1/pets?limit=${10 + n}`, { key })
    })
    await eventually('/readyz reports it', async () => (await readiness(service)) === 503, 30_000)
    isReported = true
    await Promise.all(readers)
    await eventually('every caller is rejected', () => load.leastRejected() >= 1, 30_000)
    assert.equal((await service.request('GET', '/healthz')).status, 200)
    await holder.query('ROLLBACK')
    await assertRecovers(t, faulty, load)
  })

  test('writes that wait for a locked table are all rejected in time', async (t) => {
    const undo = reverseCleanup(t)
    const { service, key, databaseEnv } = await proxiedService(undo)
    const holder = new pg.Client({ connectionString: databaseEnv.DATABASE_URL })
    await holder.connect()
    undo.after(() => holder.end())
    await holder.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE')
    const startedAt = performance.now()
    // In sequence, each with the time of a statement, they would exceed the bound by far.
    const body = { name: 'Milo', categoryId: 7 }
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => service.request('POST', '/v1/pets', { key, body })),
    )
    const ms = performance.now() - startedAt
    for (const response of responses) assertUnavailable(response, 'POST')
    assert.ok(ms < longestWaitMs.write + slackMs, `the last of them waited ${Math.round(ms)} ms`)
    await holder.query('ROLLBACK')
    await eventually('a write succeeds again', async () => {
      return (await service.request('POST', '/v1/pets', { key, body })).status === 201
    })
  })

  test('a database that was read-only is ready again, even if /readyz is the only request', async (t) => {
    const undo = reverseCleanup(t)
    const faulty = await proxiedService(undo)
    const { service, databaseName } = faulty
    await administer(`ALTER DATABASE ${databaseName} SET default_transaction_read_only = on`)
    await terminateAll(faulty)
    await eventually('/readyz reports it', async () => (await readiness(service)) === 503)
    await administer(`ALTER DATABASE ${databaseName} RESET default_transaction_read_only`)
    await eventually('/readyz reports it', async () => (await readiness(service)) === 200)
  })

  test('many holds that expire together are expired over a slow connection, too, in several commits', async (t) => {
    const { service, proxy, databaseEnv } = await proxiedService(reverseCleanup(t))
    const orders = 160
    await inDatabase(databaseEnv, async ({ write }) => {
      await write(async (trx) => {
        const now = service.now()
        await sql`INSERT INTO categories VALUES (7, NULL)`.execute(trx)
        await sql`INSERT INTO pets (name, category_id, status) SELECT 'Pet', 7, 'pending' FROM generate_series(1, ${sql.lit(orders)})`.execute(
          trx,
        )
        await sql`
        INSERT INTO orders (pet_id, status, placed_at, updated_at, hold_expires_at)
        SELECT id, 'placed', ${now}::bigint, ${now}::bigint, ${now + hourMs}::bigint FROM pets`.execute(trx)
      })
    })
    // All of them together would exceed the bound of a commit.
    proxy.delay(2)
    service.advance(hourMs)
    const inventory = async () =>
      (await service.request('GET', '/v1/store/inventory', { key: service.operatorKey })).json
    await eventually('every pet is available', async () => (await inventory()).available === orders, 60_000)
  })
})

describe('a connection that breaks at the commit', { concurrency: 2 }, () => {
  for (const [what, when, isMade] of [
    ['before PostgreSQL has received it', 'before', false],
    ['after PostgreSQL has committed', 'afterResponse', true],
  ] as const) {
    test(`${what}: the error states that the outcome is unknown, and a retry with the same key creates one`, async (t) => {
      const { service, key, proxy, databaseEnv } = await proxiedService(reverseCleanup(t))
      const add = () =>
        service.request('POST', '/v1/pets', {
          key,
          body: { name: 'Milo', categoryId: 7 },
          headers: { 'idempotency-key': 'once' },
        })
      const cut = proxy.cutAt('create_pets_2', when)
      const [first] = await Promise.all([add(), cut])
      assertUnavailable(first, 'POST')
      assert.ok(isOutcomeUnknown(first), first.text)
      assert.deepEqual(await namesIn(databaseEnv), isMade ? ['Milo'] : [])
      const again = await add()
      assert.equal(again.status, 201, again.text)
      assert.equal(again.headers['idempotent-replayed'], isMade ? 'true' : undefined)
      const once = await add()
      assert.deepEqual([once.status, once.text], [201, again.text])
      assert.deepEqual(await namesIn(databaseEnv), ['Milo'])
    })

    test(`${what}: the same without a key, and never a confirmation`, async (t) => {
      const { service, key, proxy, databaseEnv } = await proxiedService(reverseCleanup(t))
      const { json: pet } = await service.request('POST', '/v1/pets', {
        key,
        body: { name: 'Milo', categoryId: 7 },
      })
      const cut = proxy.cutAt('COMMIT\0', when)
      const [removed] = await Promise.all([service.request('DELETE', `/v1/pets/${pet.id}`, { key }), cut])
      assertUnavailable(removed, 'DELETE')
      assert.ok(isOutcomeUnknown(removed), removed.text)
      assert.deepEqual(await namesIn(databaseEnv), isMade ? [] : ['Milo'])
    })
  }

  test('that stops responding instead: the same, in time, and a late response of the old one changes nothing', async (t) => {
    const { service, key, proxy, databaseEnv } = await proxiedService(reverseCleanup(t))
    const add = () =>
      service.request('POST', '/v1/pets', {
        key,
        body: { name: 'Milo', categoryId: 7 },
        headers: { 'idempotency-key': 'once' },
      })
    const startedAt = performance.now()
    const [first] = await Promise.all([add(), proxy.hangAt('create_pets_2')])
    const ms = performance.now() - startedAt
    assert.ok(ms < longestWaitMs.write + slackMs, `the change took ${ms} ms`)
    assertUnavailable(first, 'POST')
    assert.ok(isOutcomeUnknown(first), first.text)
    proxy.flow()
    const again = await eventually('a retry is served', async () => {
      const response = await add()
      return response.status === 201 && response
    })
    assert.equal(again.json.name, 'Milo')
    assert.deepEqual(await namesIn(databaseEnv), ['Milo'])
  })
})

describe('creates that share a statement', { concurrency: 2 }, () => {
  const size = 20

  /** Creates that arrive while others wait for a lock, so that they share statements. */
  async function batchOf(
    faulty: Proxied,
    count = size,
    beforeTurn = () => {},
  ): Promise<Promise<ClientResponse>[]> {
    const { service, key, databaseEnv } = faulty
    const { release } = await holdWriteLockOf(databaseEnv)
    const left = async () => (await service.request('GET', '/v1/limits', { key })).json.minute.remaining
    const before = await left()
    const responses = addAll(faulty, count)
    await eventually('all are admitted', async () => before - (await left()) === count)
    beforeTurn()
    await release()
    return responses
  }
  const addAll = ({ service, key }: Proxied, count = size) =>
    Array.from({ length: count }, (_, n) =>
      service.request('POST', '/v1/pets', {
        key,
        body: { name: `Pet ${n}`, categoryId: 7 },
        headers: { 'idempotency-key': `pet-${n}` },
      }),
    )

  test('all succeed over a slow connection', async (t) => {
    const faulty = await proxiedService(reverseCleanup(t))
    const responses = await batchOf(faulty, 100, () => faulty.proxy.delay(4))
    for (const { status, text } of await Promise.all(responses)) assert.equal(status, 201, text)
    assert.equal(new Set(await namesIn(faulty.databaseEnv)).size, responses.length)
  })

  /** The result of each, from its response. Commits before the fault are not included. */
  async function outcomesOf(responses: Promise<ClientResponse>[]) {
    const outcomes = { made: [] as string[], rejected: [] as string[], unknown: [] as string[] }
    for (const [n, response] of (await Promise.all(responses)).entries()) {
      if (response.status !== 201) assertUnavailable(response, 'POST')
      const reported = response.status === 201 ? 'made' : isOutcomeUnknown(response) ? 'unknown' : 'rejected'
      outcomes[reported].push(`Pet ${n}`)
    }
    return outcomes
  }

  async function assertRetriesMakeEachOnce(faulty: Proxied): Promise<void> {
    const { made } = await outcomesOf(addAll(faulty))
    assert.equal(made.length, size)
    assert.deepEqual((await namesIn(faulty.databaseEnv)).sort(), made.sort())
  }

  for (const [what, when] of [
    ['is not received', 'before'],
    ['is received, but its response is lost', 'afterResponse'],
  ] as const) {
    test(`that ${what}: each error states that the outcome is unknown, and retries create each once`, async (t) => {
      const faulty = await proxiedService(reverseCleanup(t))
      const cut = faulty.proxy.cutAt(`Pet ${size / 2}`, when)
      const { made, rejected, unknown } = await outcomesOf(await batchOf(faulty))
      await cut
      assert.ok(unknown.length > 0)
      assert.deepEqual(rejected, [])
      const existing = when === 'before' ? made : [...made, ...unknown]
      assert.deepEqual((await namesIn(faulty.databaseEnv)).sort(), existing.sort())
      await assertRetriesMakeEachOnce(faulty)
    })
  }
})

describe('a start', { concurrency: 2 }, () => {
  async function assertFails(
    address: string,
    code: number,
    message: RegExp,
    commands: readonly string[][] = [['serve']],
  ): Promise<void> {
    const env = { PETSTORE_DATA_DIR: temporaryFolder(), DATABASE_URL: address, PORT: '0' }
    const secret = /:([^:@/]+)@/.exec(address)?.[1] as string
    const ended = await Promise.all(commands.map((args) => runPetstore(args, env)))
    rmSync(env.PETSTORE_DATA_DIR, { recursive: true })
    for (const { code: status, stdout, stderr } of ended) {
      assert.equal(status, code, stderr)
      assert.equal(stdout, '')
      assert.match(stderr, message)
      assert.ok(!stderr.includes(secret), stderr)
      assert.doesNotMatch(stderr, /\n {4}at /, 'no stack')
    }
  }
  const cannotBeUsed = (address: string, why: string) => {
    const { host, pathname } = new URL(address)
    return new RegExp(
      `^The PostgreSQL database at ${host}${pathname} cannot be used \\(${why}\\): see DATABASE_URL\\.\\n$`,
    )
  }

  test('without its PostgreSQL fails with the host and the database name, and without the password', async (t) => {
    const undo = reverseCleanup(t)
    const [gone, hung] = [await proxyFor(undo, adminUrl()), await proxyFor(undo, adminUrl())]
    await gone.refuse()
    hung.hang()
    const nowhere = gone.through(adminUrl())
    const silent = hung.through(adminUrl())
    await Promise.all([
      assertFails(nowhere, 1, cannotBeUsed(nowhere, '.*ECONNREFUSED.*'), [['serve'], ['keys', 'list']]),
      assertFails(silent, 1, cannotBeUsed(silent, '.*timeout.*')),
    ])
  })

  test('with a wrong password, or an unknown database, says so without the password', async () => {
    const wrong = new URL(adminUrl())
    wrong.password = 'open-it'
    await assertFails(wrong.href, 1, cannotBeUsed(wrong.href, 'password authentication failed.*'))
    const elsewhere = new URL(adminUrl())
    elsewhere.pathname = '/nowhere'
    await assertFails(elsewhere.href, 1, cannotBeUsed(elsewhere.href, '.*"nowhere" does not exist'))
  })

  test('with an invalid URL is a configuration error that shows nothing of the URL', async () => {
    await Promise.all(
      [
        'postgres://milo:open-it@127.0.0.1:port/petstore',
        'mysql://milo:open-it@127.0.0.1/petstore',
        'postgres://milo:open-it@127.0.0.1',
        'milo:open-it@127.0.0.1/petstore',
      ].map((address) => assertFails(address, 2, /^Invalid configuration:\n {2}- DATABASE_URL must be/)),
    )
  })
})
