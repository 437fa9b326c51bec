/**
 * The primary of two PostgreSQL servers fails under load, and its synchronous standby is promoted. The instances reach
 * the primary through HAProxy with the configuration of deploy/haproxy/postgres.cfg.
 *
 *     npm run test:failover
 *     PETSTORE_TEST_FAILOVER_ROUNDS=30 npm run test:failover
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { addOnce, adopt, letHoldExpire, longAgo, orderConcurrently } from '../support/adoptions.ts'
import { openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { assertMirrored, assertNothingDoubled, assertNothingLost, stateOf } from '../support/expectedState.ts'
import { type Caller, callerOf, ExpectedState, logProblems, pick, WorkPeriod } from '../support/fleet.ts'
import { feedAfter, tally } from '../support/instances.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { folderFor, type Server } from '../support/servers.ts'
import { eventText, Follower, followPages, followStream } from './followers.ts'
import { failures } from './postgresPair.ts'
import { type Service, serviceFor } from './service.ts'

const rounds = Number(process.env.PETSTORE_TEST_FAILOVER_ROUNDS ?? 6)
const loadBeforeMs = { min: 1_000, max: 4_000 }
const loadAfterMs = 2_000
const sharedAnimals = 4
const recoveryMaxMs = 60_000

type Setup = Service & {
  readonly known: ExpectedState
  readonly followers: readonly Follower[]
  /** Ends the followers. */
  stopFollowing(): Promise<void>
}

async function setUp(owner: Pick<TestContext, 'after'>): Promise<Setup> {
  const service = await serviceFor(owner)
  const known = new ExpectedState()
  const following = startFollowers(service.servers, service.key, known)
  owner.after(() => following.stopFollowing().catch(() => {}))
  return { ...service, known, ...following }
}

/** At each instance one that reads pages and one that reads a stream. */
function startFollowers(servers: readonly Server[], key: string, known: ExpectedState) {
  let isOver = false
  const followers: Follower[] = []
  const follow = (name: string, run: (follower: Follower) => Promise<void>) => {
    const follower = new Follower(name)
    followers.push(follower)
    return run(follower)
  }
  const running = Promise.all(
    servers.flatMap((server, n) => [
      follow(`pages of instance ${n}`, (one) =>
        followPages(one, callerOf({ any: () => server }, key, known), () => isOver),
      ),
      follow(`stream of instance ${n}`, (one) => followStream(one, server, key, () => isOver)),
    ]),
  )
  // Reported by stopFollowing.
  running.catch(() => {})
  return {
    followers,
    async stopFollowing() {
      isOver = true
      await running
    },
  }
}

type Database = Awaited<ReturnType<typeof openTestDatabase>>
type Load = { caller: Caller; database: Database; shared: readonly number[] }

/** Callers that use any instance. */
function startLoad({ known }: Setup, { caller, database, shared }: Load, round: number) {
  const period = new WorkPeriod(Number.POSITIVE_INFINITY)
  const times = (count: number, work: (worker: string, turn: number) => Promise<unknown>) =>
    Array.from({ length: count }, (_, worker) =>
      period.repeat((turn) => work(`${round}-${worker}-${turn}`, turn)),
    )
  const running = period.over([
    ...times(8, (name, turn) => adopt(caller, known, `adopted-${name}`, turn)),
    ...times(8, (name) => addOnce(caller, known, `added-${name}`)),
    ...times(2, () => orderConcurrently(caller, known, shared)),
    ...times(2, (name, turn) => letHoldExpire(caller, known, database, `expired-${name}`, turn)),
  ])
  running.catch(() => {})
  return {
    async stop() {
      period.end()
      await running
    },
  }
}

const readiness = async ({ request }: Server) => (await request('GET', '/readyz')).status

const untilReadiness = (servers: readonly Server[], status: number) =>
  Promise.all(
    servers.map((server) =>
      eventually(`readiness ${status}`, async () => (await readiness(server)) === status, recoveryMaxMs),
    ),
  )

type Times = { toFirstWriteMs: number[]; fromPromotionMs: number[] }

/** One failover under load. Returns the times until each instance has made a change again. */
async function failOver(setup: Setup, load: Load, round: number): Promise<Times> {
  const { pair, servers, key, known } = setup
  assert.deepEqual(await Promise.all(servers.map(readiness)), [200, 200, 200])
  const running = startLoad(setup, load, round)
  try {
    await pause(loadBeforeMs.min + Math.random() * (loadBeforeMs.max - loadBeforeMs.min))
    assert.ok(await pair.isSynchronous())
    const failedAt = performance.now()
    failureOf(round)[1](pair.primary)
    await untilReadiness(servers, 503)
    await pair.promote()
    const promotedAt = performance.now()
    const recoveredAt = await Promise.all(
      servers.map(async (server, n) => {
        await addOnce(callerOf({ any: () => server }, key, known), known, `recovered-${round}-${n}`)
        return performance.now()
      }),
    )
    await untilReadiness(servers, 200)
    await pause(loadAfterMs)
    return {
      toFirstWriteMs: recoveredAt.map((at) => at - failedAt),
      fromPromotionMs: recoveredAt.map((at) => at - promotedAt),
    }
  } finally {
    await running.stop()
  }
}

const failureOf = (round: number) => {
  const all = Object.entries(failures)
  return all[round % all.length] as (typeof all)[number]
}

/** Compares everything that was acknowledged and seen with the final state. Returns the number of events. */
async function assertConsistent({ servers, known, followers, stopFollowing }: Setup): Promise<number> {
  const feed = await feedAfter(servers[0] as Server, 0)
  await eventually(
    'every follower has seen all events',
    () => followers.every(({ seen }) => seen.length >= feed.length),
    recoveryMaxMs,
  ).catch(() => {})
  await stopFollowing()
  const texts = feed.map(eventText)
  for (const { name, seen } of followers) assert.deepEqual(seen, texts, name)
  assert.ok(
    feed.every(({ id }, index) => id === index + 1),
    'the feed has no gaps',
  )
  for (const server of servers) {
    const state = await stateOf(server)
    assertMirrored(feed, state)
    assertNothingLost(known, state)
  }
  assertNothingDoubled(known, feed)
  return feed.length
}

const seconds = (ms: number) => (ms / 1000).toFixed(1)
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

test(`a primary that fails under load and whose synchronous standby is promoted: no acknowledged change is lost, no position of the feed is used twice, and the instances recover (${rounds} rounds)`, async (t) => {
  const owner = reverseCleanup(t)
  const setup = await setUp(owner)
  const { pair, servers, key, known, followers } = setup
  const database = await openTestDatabase({
    PETSTORE_DATA_DIR: folderFor(owner),
    DATABASE_URL: setup.databaseUrl,
  })
  owner.after(() => database.close())
  const caller = callerOf({ any: () => pick(servers) }, key, known)
  const shared: number[] = []
  for (let n = 0; n < sharedAnimals; n++)
    shared.push((await caller.ok('POST', '/v1/pets', { body: { name: `shared ${n}`, categoryId: 7 } })).id)

  const all: Times = { toFirstWriteMs: [], fromPromotionMs: [] }
  for (let round = 0; round < rounds; round++) {
    if (round > 0) await pair.addStandby()
    const before = known.acknowledged
    const times = await failOver(setup, { caller, database, shared }, round)
    all.toFirstWriteMs.push(...times.toFirstWriteMs)
    all.fromPromotionMs.push(...times.fromPromotionMs)
    t.diagnostic(
      `round ${round + 1}, ${failureOf(round)[0]}: ${known.acknowledged - before} changes acknowledged; first change of each instance after ${times.toFirstWriteMs.map(seconds).join(', ')} s, ${times.fromPromotionMs.map(seconds).join(', ')} s after the promotion`,
    )
  }
  await eventually('every due hold is expired', async () => {
    const due = database.read.selectFrom('orders').select('id').where('hold_expires_at', '=', longAgo)
    return (await due.executeTakeFirst()) === undefined
  })

  const events = await assertConsistent(setup)
  const responses = tally(known.responses)
  for (const [since, values] of [
    ['failure', all.toFirstWriteMs],
    ['promotion', all.fromPromotionMs],
  ] as const)
    t.diagnostic(
      `first change of an instance after the ${since}: median ${seconds(median(values))} s, longest ${seconds(Math.max(...values))} s`,
    )
  t.diagnostic(
    `${known.acknowledged} changes acknowledged, none lost; ${known.replayed} retries had been applied before; ${events} events; streams opened ${followers.reduce((sum, { opened }) => sum + opened, 0)} times`,
  )
  t.diagnostic(`responses ${JSON.stringify(responses)}`)
  t.diagnostic(`errors in the logs ${JSON.stringify(logProblems(servers))}`)
  const expected =
    /^(?:20[014]|404 pet_not_found|409 (?:pet_unavailable|idempotency_in_progress)|503 unavailable)$/
  for (const response of Object.keys(responses)) assert.match(response, expected)
  assert.ok(responses['503 unavailable'], 'the load met the outage')
  assert.equal(known.lost, 0, 'every request got a response')
  for (const { child } of servers) assert.equal(child.exitCode, null, 'no instance was restarted')
})
