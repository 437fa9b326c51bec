import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { addOnce, adopt, letHoldExpire, longAgo, orderConcurrently } from '../support/adoptions.ts'
import { administer, inDatabase, openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { assertMirrored, assertNothingDoubled, assertNothingLost, stateOf } from '../support/expectedState.ts'
import { type Caller, callerOf, ExpectedState, Fleet, logProblems, WorkPeriod } from '../support/fleet.ts'
import {
  adminKey,
  type Event,
  feedAfter,
  instancesFor,
  listAllItems,
  makeAmpleKey,
  requestOk,
  retryWhile503,
  sharedDatabase,
  tally,
} from '../support/instances.ts'
import { type Server, serverFor } from '../support/servers.ts'
import { startTestService } from '../support/service.ts'
import {
  loopbackAllowed,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhookReceiver.ts'

/** The full run takes 120; the default is shorter. */
const seconds = Number(process.env.PETSTORE_TEST_KILL_SECONDS ?? 10)
const killEveryMs = 2_000
const lookEveryMs = 50
const sharedAnimals = 4
/** Longer than a claim of a delivery: the instance that made it was killed. */
const claimExpiredMs = 60_000
const webhookTypes = [
  ['pet.created'],
  ['pet.updated'],
  ['pet.deleted'],
  ['order.placed'],
  ['order.cancelled'],
  ['order.approved', 'order.delivered'],
]

/** Lists, as callers that only read do. */
async function look({ ok }: Caller) {
  await ok('GET', '/v1/pets?limit=50')
  await ok('GET', '/v1/store/orders?limit=50&status=placed')
  await ok('GET', '/v1/store/inventory')
}

test(`instances that are killed every two seconds lose no confirmed change and duplicate nothing (${seconds} seconds)`, async (t) => {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const env = {
    ...databaseEnv,
    ...loopbackAllowed,
    PETSTORE_ADMIN_KEY: adminKey,
    PETSTORE_LOG_LEVEL: 'error',
  }
  const fleet = new Fleet(() => serverFor(owner, env))
  await fleet.begin()
  const database = await openTestDatabase(databaseEnv)
  owner.after(() => database.close())
  const receiver = await startWebhookReceiver()
  owner.after(() => receiver.stop())
  const first = fleet.any()
  const operator = { request: first.request, operatorKey: adminKey }
  for (const [index, types] of webhookTypes.entries())
    await registerWebhook(operator, `${receiver.url}/${index}`, types)
  const known = new ExpectedState()
  const caller = callerOf(fleet, await makeAmpleKey(first), known)
  const shared: number[] = []
  for (let n = 0; n < sharedAnimals; n++)
    shared.push((await caller.ok('POST', '/v1/pets', { body: { name: `shared ${n}`, categoryId: 7 } })).id)

  const shift = new WorkPeriod(seconds * 1000)
  const { repeat: keepOn } = shift
  const times = (count: number, work: (worker: number, turn: number) => Promise<unknown>) =>
    Array.from({ length: count }, (_, worker) => keepOn((turn) => work(worker, turn)))
  const seen: Event[] = []
  const follow = async () => {
    const page: Event[] = await caller.ok('GET', `/v1/events?after=${seen.at(-1)?.id ?? 0}&limit=1000`)
    seen.push(...page)
    return page.length
  }
  await shift.over([
    ...times(6, (worker, turn) => adopt(caller, known, `adopted-${worker}-${turn}`, turn)),
    ...times(6, (worker, turn) => addOnce(caller, known, `added-${worker}-${turn}`)),
    ...times(2, () => orderConcurrently(caller, known, shared)),
    ...times(2, (worker, turn) => letHoldExpire(caller, known, database, `expired-${worker}-${turn}`, turn)),
    // Readers leave the writers time.
    keepOn(() => Promise.all([look(caller), pause(lookEveryMs)])),
    keepOn(() => Promise.all([follow(), pause(lookEveryMs)])),
    // The moments are random: an instance must survive a kill at any point.
    keepOn(() => Promise.all([fleet.killOne(), pause(killEveryMs)])),
  ])
  await fleet.complete()
  await eventually('every due hold is expired', async () => {
    const due = database.read.selectFrom('orders').select('id').where('hold_expires_at', '=', longAgo)
    return (await due.executeTakeFirst()) === undefined
  })
  while ((await follow()) > 0) {
    // Until there is nothing more: all writers have stopped.
  }

  const feed = await feedAfter(fleet.any(), 0)
  assert.deepEqual(
    seen.map(({ id }) => id),
    feed.map(({ id }) => id),
    'a client that followed the feed over all kills has seen all events',
  )
  assert.ok(
    feed.every(({ id }, index) => id === index + 1),
    'the feed has no gaps',
  )
  const state = await stateOf(fleet.any())
  assertMirrored(feed, state)
  assertNothingLost(known, state)
  assertNothingDoubled(known, feed)
  await assertAllDelivered(t, { env, fleet, receiver, feed })

  const responses = tally(known.responses)
  t.diagnostic(`${fleet.kills} kills, ${known.responses.length + known.lost} requests, ${feed.length} events`)
  t.diagnostic(`responses ${JSON.stringify(responses)}, without a response ${known.lost}`)
  t.diagnostic(
    `${known.pets.size} animals and ${known.orders.size} orders confirmed, ${known.held.size} holds`,
  )
  t.diagnostic(`${known.replayed} retries had been applied before their response was lost`)
  t.diagnostic(`complaints ${JSON.stringify(logProblems(fleet.all))}`)
  const expected =
    /^(?:20[014]|404 pet_not_found|409 (?:pet_unavailable|idempotency_in_progress)|503 unavailable)$/
  for (const response of Object.keys(responses)) assert.match(response, expected)
  assert.ok(fleet.kills > 0 && known.lost > 0, 'an instance was killed during a request')
})

type DeliveryCheck = {
  env: Record<string, string>
  fleet: Fleet
  receiver: WebhookReceiver
  feed: readonly Event[]
}

/** An endpoint has received every event of its types, first attempts in the order of the feed. */
async function assertAllDelivered(
  t: TestContext,
  { env, fleet, receiver, feed }: DeliveryCheck,
): Promise<void> {
  const receivedBefore = receiver.received.length
  for (const { child, ended } of fleet.all) {
    child.kill('SIGKILL')
    await ended
  }
  const came = (index: number) => {
    const messages = receiver.received.filter(({ path }) => path.endsWith(`/${index}`))
    return [...new Set(messages.map(({ id }) => id))]
  }
  const expected = webhookTypes.map((types) =>
    feed.filter(({ type }) => types.includes(type)).map(({ id }) => `msg_${id}`),
  )
  // Claims of killed instances expire. This instance starts after that.
  const later = await startTestService(env, { startAt: Date.now() + claimExpiredMs })
  try {
    await eventually(
      'every message has come',
      () => new Set(receiver.received.map(({ id }) => id)).size >= expected.flat().length,
      seconds * 1000 + 60_000,
    )
  } finally {
    await later.stop()
  }
  for (const [index, types] of webhookTypes.entries())
    assert.deepEqual(came(index), expected[index], types.join())
  t.diagnostic(
    `${expected.flat().length} webhook messages in ${receiver.received.length} deliveries, ${receivedBefore} of them under fire`,
  )
}

const moments = [
  { when: 'after its change was made and before it could say so', timing: 'DEFERRED', isReplayed: true },
  { when: 'in the middle of a change', timing: 'IMMEDIATE', isReplayed: false },
]
for (const { when, timing, isReplayed } of moments) {
  test(`a request to an instance that is killed ${when} is done once, and another instance responds to a retry`, async (t) => {
    const { databaseEnv, all } = await instancesFor(t, {}, 2)
    const [killed, other] = all as [Server, Server]
    // PostgreSQL is slow at the chosen point: at the row, or at the commit.
    await inDatabase(databaseEnv, ({ migrate }) =>
      migrate(async (trx) => {
        await sql`CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql
          AS 'BEGIN PERFORM pg_sleep(1); RETURN NULL; END'`.execute(trx)
        await sql`CREATE CONSTRAINT TRIGGER be_slow AFTER INSERT ON orders DEFERRABLE INITIALLY ${sql.raw(timing)}
          FOR EACH ROW EXECUTE FUNCTION be_slow()`.execute(trx)
      }),
    )
    const { id } = (await requestOk(other, 'POST', '/v1/pets', { name: 'Slow', categoryId: 3 })).json
    const send = ({ request }: Server) =>
      request('POST', '/v1/store/orders', {
        key: adminKey,
        body: { petId: id },
        headers: { 'idempotency-key': 'once' },
      })
    const lost = send(killed).then(
      () => 'answered',
      () => 'lost',
    )
    const database = new URL(databaseEnv.DATABASE_URL as string).pathname.slice(1)
    await eventually('PostgreSQL is at the slow point', async () => {
      const { rows } = await administer(
        `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event = 'PgSleep'`,
      )
      return rows.length > 0
    })
    killed.child.kill('SIGKILL')
    assert.equal(await lost, 'lost')
    const response = await retryWhile503(() => send(other))
    assert.equal(response.status, 201, response.text)
    assert.equal(response.headers['idempotent-replayed'], isReplayed ? 'true' : undefined)
    assert.deepEqual(await listAllItems(other, '/v1/store/orders'), [response.json])
    const placed = (await feedAfter(other, 0)).filter(({ type }) => type === 'order.placed')
    assert.deepEqual(
      placed.map(({ data }) => data.id),
      [response.json.id],
    )
  })
}
