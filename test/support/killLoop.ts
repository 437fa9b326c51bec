import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../../src/database/database.ts'
import { addOnce, adopt, letHoldExpire, longAgo, orderConcurrently } from './adoptions.ts'
import { assertIntegrity, engine, openTestDatabase } from './engine.ts'
import { eventually } from './eventually.ts'
import { assertMirrored, assertNothingDoubled, assertNothingLost, stateOf } from './expectedState.ts'
import { type Caller, callerOf, ExpectedState, Fleet, isBusy, logProblems, WorkPeriod } from './fleet.ts'
import {
  adminKey,
  type Event,
  feedAfter,
  instancesDefault,
  makeAmpleKey,
  makeKey,
  sharedDatabase,
  tally,
} from './instances.ts'
import { serverFor } from './servers.ts'
import { startTestService } from './service.ts'
import {
  loopbackAllowed,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from './webhookReceiver.ts'

const lookEveryMs = 50
const sharedAnimals = 4
const banAfterRejections = 5
/** If the number of kills is given: a slow machine gets the time for so many changes before the next one. */
const changesBetweenKills = 20
const changesMaxMs = 60_000
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

export type KillLoop = {
  seconds: number
  killEveryMs: number
  /** Ends the loop earlier, after so many kills, with changes between them. */
  killsMax?: number
}

/**
 * Callers change data for some time while instances are killed and started again: one instance on SQLite, three on
 * PostgreSQL. Then everything that a caller was promised is checked: changes, retries, holds, the feed, webhooks, rate
 * limits and bans.
 */
export async function runKillLoop(
  t: TestContext,
  { seconds, killEveryMs, killsMax = Number.POSITIVE_INFINITY }: KillLoop,
): Promise<void> {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const env = {
    ...databaseEnv,
    ...loopbackAllowed,
    PETSTORE_ADMIN_KEY: adminKey,
    PETSTORE_LOG_LEVEL: 'error',
    PETSTORE_BAN_AFTER_REFUSALS: String(banAfterRejections),
  }
  const fleet = new Fleet(() => serverFor(owner, env), engine === 'postgres' ? instancesDefault : 1)
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

  const banned = await bannedKey(fleet, database)
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
    keepOn(() => Promise.all([banned.use(), pause(lookEveryMs)])),
    // The moments are random: an instance must survive a kill at any point.
    keepOn(async () => {
      const before = known.acknowledged
      await Promise.all([fleet.killOne(), pause(killEveryMs)])
      if (fleet.kills >= killsMax) shift.end()
      else if (Number.isFinite(killsMax))
        await eventually(
          'changes are confirmed between kills',
          () => known.acknowledged >= before + changesBetweenKills,
          changesMaxMs,
        )
    }),
  ])
  await fleet.complete()
  await eventually('every due hold is expired', async () => {
    const due = database.read.selectFrom('orders').select('id').where('hold_expires_at', '=', longAgo)
    return (await due.executeTakeFirst()) === undefined
  })
  // All writers have stopped. The feed of SQLite shows an event when it is on disk, which may be later.
  await eventually('the follower has every event', async () => {
    while ((await follow()) > 0) {
      // There may be more.
    }
    const newest = await database.read
      .selectFrom('events')
      .select((eb) => eb.fn.max('id').as('id'))
      .executeTakeFirst()
    return (seen.at(-1)?.id ?? 0) >= Number(newest?.id)
  })

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
  await assertAllDelivered(t, { env, fleet, receiver, feed, waitMaxMs: seconds * 1000 + 60_000 })
  await assertOrdersFit(database)
  assertIntegrity(databaseEnv)

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
}

/** A key that has reached its limit and is banned. That is in the database, so no kill lets it do another request. */
async function bannedKey(fleet: Fleet, database: Database) {
  const settings = { plan: 'enterprise', limits: { perMinute: 1_000, perDay: 1 } }
  const { id, key } = await makeKey(fleet.any(), settings)
  const request = () => fleet.any().request('GET', '/v1/pets', { key })
  const stored = async () => {
    const usage = database.read.selectFrom('key_usage').select('banned_until').where('key_id', '=', id)
    return Number((await usage.executeTakeFirst())?.banned_until ?? 0)
  }
  for (let n = 0; n <= banAfterRejections; n++) await request()
  const bannedUntil = await eventually(
    'the ban is in the database',
    async () => (await stored()) || undefined,
  )
  return {
    async use(): Promise<void> {
      const response = await request().catch(() => undefined)
      if (!response || isBusy(response)) return
      assert.equal(response.json.code, 'key_banned', response.text)
      assert.equal(await stored(), bannedUntil)
    },
  }
}

type DeliveryCheck = {
  env: Record<string, string>
  fleet: Fleet
  receiver: WebhookReceiver
  feed: readonly Event[]
  waitMaxMs: number
}

/** An endpoint has received every event of its types, first attempts in the order of the feed. */
async function assertAllDelivered(
  t: TestContext,
  { env, fleet, receiver, feed, waitMaxMs }: DeliveryCheck,
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
      waitMaxMs,
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

/** An order and its pet change together. */
async function assertOrdersFit({ read }: Database): Promise<void> {
  const violations = await sql`
    SELECT o.id, o.status, p.status AS pet_status FROM orders o LEFT JOIN pets p ON p.id = o.pet_id
    WHERE (o.status IN ('placed', 'approved') AND p.status IS DISTINCT FROM 'pending')
       OR (o.status = 'delivered' AND p.status NOT IN ('sold'))`.execute(read)
  assert.deepEqual(violations.rows, [])
  const loose = await sql`
    SELECT id FROM pets WHERE status = 'pending'
      AND NOT EXISTS (SELECT 1 FROM orders WHERE pet_id = pets.id AND status IN ('placed', 'approved'))`.execute(
    read,
  )
  assert.deepEqual(loose.rows, [])
}
