import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../../src/database/database.ts'
import type { ClientResponse } from '../support/client.ts'
import { administer, inDatabase, openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { type Caller, callerOf, ExpectedState, Fleet, isBusy, pick, WorkPeriod } from '../support/fleet.ts'
import {
  adminKey,
  type Event,
  feedAfter,
  instancesFor,
  listAllItems,
  makeAmpleKey,
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

/** Adds a pet, changes it, orders it, and completes or cancels the order. */
async function adopt(
  { attempt, insist: retryUntilResponse, ok }: Caller,
  known: ExpectedState,
  name: string,
  turn: number,
) {
  const body = { name, categoryId: turn % 20 }
  const isRetried = turn % 3 !== 0
  const noted: { id?: number; isRetried: boolean } = { isRetried }
  known.animals.set(name, noted)
  const made = isRetried
    ? (await retryUntilResponse('POST', '/v1/pets', { body, idempotencyKey: name })).response
    : await attempt('POST', '/v1/pets', { body })
  // Without a key the outcome is unknown, and the request must not be repeated.
  if (!made || isBusy(made)) return
  assert.equal(made.status, 201, made.text)
  const { id } = made.json
  noted.id = id
  known.pets.set(id, { name, status: 'available' })
  // A confirmed change is visible everywhere immediately.
  assert.deepEqual(await ok('GET', `/v1/pets?id=${id}`), [made.json])

  await ok('PATCH', `/v1/pets/${id}`, { body: { name: `${name} renamed` } })
  known.pets.set(id, { name: `${name} renamed`, status: 'available' })
  const order = await ok('POST', '/v1/store/orders', {
    body: { petId: id, note: name },
    idempotencyKey: `order-${name}`,
  })
  known.orders.set(order.id, 'placed')
  known.pets.set(id, { name: `${name} renamed`, status: 'pending' })
  const ways = [['approved', 'delivered'], ['approved', 'cancelled'], ['cancelled'], ['approved'], []]
  const petStatus: Record<string, string> = { delivered: 'sold', cancelled: 'available' }
  for (const status of pick(ways)) {
    await ok('PATCH', `/v1/store/orders/${order.id}`, { body: { status } })
    known.orders.set(order.id, status)
    known.pets.set(id, { name: `${name} renamed`, status: petStatus[status] ?? 'pending' })
  }
  assert.equal((await ok('GET', `/v1/store/orders/${order.id}`)).status, known.orders.get(order.id))
  if (!petStatus[known.orders.get(order.id) as string] || turn % 2 === 0) return
  const { response, failedAttempts } = await retryUntilResponse('DELETE', `/v1/pets/${id}`)
  // The attempt whose response was lost may have done it.
  if (response.status === 404) assert.ok(failedAttempts > 0)
  else assert.equal(response.status, 204, response.text)
  known.pets.set(id, 'gone')
}

/** Adds a pet, and repeats the request until there is a response. */
async function addOnce({ ok }: Caller, known: ExpectedState, name: string): Promise<number> {
  known.animals.set(name, { isRetried: true })
  const { id } = await ok('POST', '/v1/pets', { body: { name, categoryId: 7 }, idempotencyKey: name })
  known.animals.set(name, { id, isRetried: true })
  known.pets.set(id, { name, status: 'available' })
  return id
}

/** Many callers order the same pet, and the one that gets it cancels. No request is repeated. */
async function orderConcurrently({ attempt, ok }: Caller, known: ExpectedState, petIds: readonly number[]) {
  const petId = pick(petIds)
  const response = await attempt('POST', '/v1/store/orders', { body: { petId } })
  if (response?.status === 201) known.orders.set(response.json.id, 'cancelled')
  else if (response) assert.ok(response.json.code === 'pet_unavailable' || isBusy(response), response.text)
  // An order whose response was lost is cancelled by the next caller that finds it.
  const open = await ok('GET', `/v1/store/orders?petId=${petId}&status=placed`)
  const ids: number[] =
    response?.status === 201 ? [response.json.id] : open.map(({ id }: { id: number }) => id)
  for (const id of ids) {
    await ok('PATCH', `/v1/store/orders/${id}`, { body: { status: 'cancelled' } })
    known.orders.set(id, 'cancelled')
  }
}

/** Later than any time of the run. */
const longAgo = 1

async function endHold(database: Database, id: number): Promise<true> {
  await database.write((trx) =>
    trx
      .updateTable('orders')
      .set({ hold_expires_at: longAgo })
      .where('id', '=', id)
      .where('status', '=', 'placed')
      .execute(),
  )
  return true
}

/** An order whose hold expires. Every other time the next order comes before an instance has expired it. */
async function letHoldExpire(
  caller: Caller,
  known: ExpectedState,
  database: Database,
  name: string,
  turn: number,
) {
  const petId = await addOnce(caller, known, name)
  const order = await caller.ok('POST', '/v1/store/orders', {
    body: { petId },
    idempotencyKey: `held-${name}`,
  })
  await eventually('its hold has ended', () => endHold(database, order.id).catch(() => false))
  known.held.add(order.id)
  known.orders.set(order.id, 'cancelled')
  if (turn % 2 === 0) return
  const next = await caller.ok('POST', '/v1/store/orders', {
    body: { petId },
    idempotencyKey: `next-${name}`,
  })
  known.orders.set(next.id, 'placed')
  known.pets.set(petId, { name, status: 'pending' })
}

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
  t.diagnostic(`complaints ${JSON.stringify(fleet.logProblems())}`)
  const expected =
    /^(?:20[014]|404 pet_not_found|409 (?:pet_unavailable|idempotency_in_progress)|503 unavailable)$/
  for (const response of Object.keys(responses)) assert.match(response, expected)
  assert.ok(fleet.kills > 0 && known.lost > 0, 'an instance was killed during a request')
})

type State = {
  pet: Map<number, ClientResponse['json']>
  category: Map<number, unknown>
  order: Map<number, ClientResponse['json']>
}

async function stateOf(instance: Server): Promise<State> {
  const byId = async (path: string) =>
    new Map<number, ClientResponse['json']>(
      (await listAllItems(instance, path)).map((thing) => [thing.id, thing]),
    )
  const state = {
    pet: await byId('/v1/pets?limit=100'),
    category: await byId('/v1/categories?limit=100'),
    order: await byId('/v1/store/orders?limit=100'),
  }
  const inventory = await instance.request('GET', '/v1/store/inventory', { key: adminKey })
  const counted = tally([...state.pet.values()].map(({ status }) => status))
  assert.deepEqual(inventory.json, { available: 0, pending: 0, sold: 0, ...counted })
  return state
}

/** The feed is complete: a follower has the same state as the lists. */
function assertMirrored(feed: readonly Event[], state: State): void {
  const mirror: Record<string, Map<number, unknown>> = {
    pet: new Map(),
    category: new Map(),
    order: new Map(),
  }
  for (const { type, data } of feed) {
    const [kind = '', what] = type.split('.')
    if (what === 'deleted') mirror[kind]?.delete(data.id)
    else mirror[kind]?.set(data.id, data)
  }
  const reported = ({ id, petId, status, cancelReason }: ClientResponse['json']) =>
    cancelReason === undefined ? { id, petId, status } : { id, petId, status, cancelReason }
  const sorted = (map: Map<number, unknown> | undefined) => [...(map ?? [])].sort(([a], [b]) => a - b)
  const orders = new Map([...state.order].map(([id, order]) => [id, reported(order)]))
  assert.deepEqual(sorted(mirror.pet), sorted(state.pet))
  assert.deepEqual(sorted(mirror.category), sorted(state.category))
  assert.deepEqual(sorted(mirror.order), sorted(orders))
}

/** Every confirmed change is present. */
function assertNothingLost(known: ExpectedState, state: State): void {
  for (const [id, expected] of known.pets) {
    const found = state.pet.get(id)
    if (expected === 'gone') assert.equal(found, undefined, `animal ${id} was removed`)
    else assert.deepEqual({ name: found?.name, status: found?.status }, expected, `animal ${id}`)
  }
  for (const [id, status] of known.orders) assert.equal(state.order.get(id)?.status, status, `order ${id}`)
  for (const id of known.held) assert.equal(state.order.get(id)?.cancelReason, 'hold_expired', `order ${id}`)
}

/** Nothing was done twice: neither repeated requests nor scheduled work. */
function assertNothingDoubled(known: ExpectedState, feed: readonly Event[]): void {
  const created = feed.filter(({ type }) => type === 'pet.created')
  const byName = Map.groupBy(created, ({ data }) => String(data.name))
  for (const [name, { id, isRetried }] of known.animals) {
    const ids = (byName.get(name) ?? []).map(({ data }) => data.id)
    if (id !== undefined) assert.deepEqual(ids, [id], name)
    else assert.ok(!isRetried || ids.length === 1, `${name} was sent until it got a response`)
    assert.ok(ids.length <= 1, name)
  }
  const openOrder = new Map<unknown, number>()
  const way = new Map<number, string[]>()
  for (const { type, data } of feed) {
    if (!type.startsWith('order.')) continue
    way.set(data.id, [...(way.get(data.id) ?? []), type.slice('order.'.length)])
    if (type === 'order.placed') {
      assert.equal(openOrder.get(data.petId), undefined, `animal ${data.petId} was ordered twice`)
      openOrder.set(data.petId, data.id)
    }
    if (type === 'order.cancelled') {
      assert.equal(openOrder.get(data.petId), data.id)
      openOrder.delete(data.petId)
    }
  }
  for (const [id, steps] of way)
    assert.match(steps.join(' '), /^placed(?: approved)?(?: delivered| cancelled)?$/, `order ${id}`)
  for (const id of known.held)
    assert.deepEqual(way.get(id), ['placed', 'cancelled'], `the hold of order ${id}`)
}

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
        await sql`CREATE CONSTRAINT TRIGGER be_slow AFTER INSERT ON pets DEFERRABLE INITIALLY ${sql.raw(timing)}
          FOR EACH ROW EXECUTE FUNCTION be_slow()`.execute(trx)
      }),
    )
    const send = ({ request }: Server) =>
      request('POST', '/v1/pets', {
        key: adminKey,
        body: { name: 'Slow', categoryId: 3 },
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
    assert.deepEqual(await listAllItems(other, '/v1/pets'), [response.json])
    const created = (await feedAfter(other, 0)).filter(({ type }) => type === 'pet.created')
    assert.deepEqual(
      created.map(({ data }) => data.id),
      [response.json.id],
    )
  })
}
