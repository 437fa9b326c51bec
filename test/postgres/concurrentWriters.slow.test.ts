import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { toJson } from '../../src/api/json.ts'
import { DatabaseUnavailableError } from '../../src/database/database.ts'
import { type Migration, migrate, migrations } from '../../src/database/migrate.ts'
import { withRetry } from '../../src/database/retry.ts'
import type { ClientResponse } from '../support/client.ts'
import { Caller, Known, Random } from '../support/concurrentCallers.ts'
import { administer, type DatabaseEnv, databaseFor, inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import {
  type FeedEvent,
  FeedReplay,
  type Item,
  type Kind,
  parseItems,
  shownInEvents,
} from '../support/feedReplay.ts'
import {
  adminKey,
  instancesDefault,
  makeAmpleKey,
  newestEventId,
  retryWhile503,
  tally,
} from '../support/instances.ts'
import { runPetstore } from '../support/process.ts'
import { nextPage } from '../support/responses.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { proxyFor, type TcpProxy } from '../support/tcpProxy.ts'

const seed = Number(process.env.PETSTORE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const callers = 24
const minuteMs = 60_000
const holdMs = 60 * minuteMs
const stepMs = 10 * minuteMs
/** An idempotency record is kept for a day. */
const stepsMax = 80
const lookEveryMs = 50
const killEveryMs = 50
const cutWaitMs = 100
/** Of the log. */
const errorLevel = 50

type After = Pick<TestContext, 'after'>

type Store = {
  readonly databaseName: string
  readonly instances: readonly TestService[]
  readonly proxies: readonly TcpProxy[]
  /** A key with all scopes, for everything but the callers. */
  readonly key: string
  readonly callerKey: string
  /** The id of the last event before the callers start. */
  readonly startId: number
}

/** Instances on one database. With `isProxied`, each is behind a proxy. */
async function startStore(t: After, isProxied: boolean): Promise<Store> {
  const databaseEnv: DatabaseEnv = await databaseFor(t)
  const url = databaseEnv.DATABASE_URL as string
  const env = {
    ...databaseEnv,
    PETSTORE_ADMIN_KEY: adminKey,
    PETSTORE_DATABASE_POOL: '5',
    PETSTORE_ORDER_HOLD_HOURS: '1',
    PETSTORE_TRUSTED_PROXIES: '127.0.0.1',
  }
  const instances: TestService[] = []
  const proxies: TcpProxy[] = []
  for (let n = 0; n < instancesDefault; n++) {
    const proxy = isProxied ? await proxyFor(t, url) : undefined
    const service = await startTestService({ ...env, DATABASE_URL: proxy?.through(url) ?? url })
    t.after(() => service.stop())
    instances.push(service)
    if (proxy) proxies.push(proxy)
  }
  const [first] = instances as [TestService]
  const [key, callerKey] = [await makeAmpleKey(first), await makeAmpleKey(first)]
  const startId = await newestEventId(first)
  return { databaseName: new URL(url).pathname.slice(1), instances, proxies, key, callerKey, startId }
}

/** Causes faults until `isOver`. Returns how many. */
type Fault = (store: Store & { known: Known }, isOver: () => boolean, random: Random) => Promise<number>

type Run = {
  readonly turns: number
  /** The turns are repeated until enough has happened, at most this often. */
  readonly roundsMax?: number
  isEnough?(effects: ReadonlyMap<string, number>): boolean
  readonly fault?: Fault
  readonly isProxied?: boolean
}

type Results = { known: Known; replay: FeedReplay; faults: number }

/** Lets all callers act, and checks the store during that time and afterwards. */
async function run(t: TestContext, options: Run): Promise<Results> {
  t.diagnostic(`PETSTORE_TEST_SEED=${seed}`)
  try {
    return await runSeeded(t, options)
  } catch (error) {
    throw new Error(`Failed with PETSTORE_TEST_SEED=${seed}`, { cause: error })
  }
}

async function runSeeded(t: TestContext, options: Run): Promise<Results> {
  const { turns, roundsMax = 1, isEnough, fault, isProxied = false } = options
  const store = await startStore(reverseCleanup(t), isProxied)
  const isFaulty = fault !== undefined
  const known = new Known()
  let steps = 0
  const advance = () => {
    if (++steps > stepsMax) return
    for (const instance of store.instances) instance.advance(stepMs)
  }
  const callerOptions = { instances: store.instances, key: store.callerKey, known, isFaulty, advance }
  const all = Array.from(
    { length: callers },
    (_, number) => new Caller(callerOptions, new Random(seed + number), number),
  )
  let areCallersDone = false
  let isOver = false
  const read: Read = (instance, path, settings) =>
    readOk(instance, path, { key: store.key, ...settings }, isFaulty)
  const followers = Promise.all(store.instances.map((instance) => follow(instance, read, () => isOver)))
  const faults = Promise.resolve(
    fault?.({ ...store, known }, () => areCallersDone, new Random(seed + callers)) ?? 0,
  )
  // Awaited below.
  for (const running of [followers, faults]) running.catch(() => {})
  let feeds: string[][]
  try {
    for (let round = 0; round < roundsMax; round++) {
      await actTogether(all, turns)
      if (isEnough?.(known.confirmed)) break
    }
    areCallersDone = true
    await faults
    await all[0]?.repeatOnceRequests()
    await noHoldIsOverdue(store, read)
  } finally {
    areCallersDone = true
    isOver = true
    feeds = await followers
    await faults
  }

  const replay = await replayFeed(store, read, feeds)
  await assertStoreEquals(store, read, replay)
  assertEffects(known, replay)
  await assertSecrets(store, known, replay)
  if (!isFaulty) assertNoErrorsLogged(store)
  await report(t, store, { known, replay, faults: await faults })
  return { known, replay, faults: await faults }
}

/** All callers stop when one has failed. */
async function actTogether(all: readonly Caller[], turns: number): Promise<void> {
  let hasFailed = false
  const results = await Promise.allSettled(
    all.map(async (caller) => {
      try {
        for (let turn = 0; turn < turns && !hasFailed; turn++) await caller.act()
      } catch (error) {
        hasFailed = true
        throw error
      }
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

type Settings = { key?: string; headers?: Record<string, string> }
type Read = (instance: TestService, path: string, settings?: Settings) => Promise<ClientResponse>

async function readOk(instance: TestService, path: string, settings: Settings, isFaulty: boolean) {
  const send = () => instance.request('GET', path, settings)
  const response = await (isFaulty ? retryWhile503(send) : send())
  assert.equal(response.status, 200, `GET ${path}: ${response.text}`)
  return response
}

/** Reads the feed from its begin. Every id comes once, in order. Returns the events as JSON. */
async function follow(instance: TestService, read: Read, isOver: () => boolean): Promise<string[]> {
  const seen: string[] = []
  for (;;) {
    const wasOver = isOver()
    const { text } = await read(instance, `/v1/events?after=${seen.length}&limit=500`)
    const page = parseItems<FeedEvent>(text)
    for (const event of page) {
      assert.equal(event.id, BigInt(seen.length + 1), 'the feed has no gaps and does not go back')
      seen.push(eventText(event))
    }
    if (page.length > 0) continue
    if (wasOver) return seen
    await pause(lookEveryMs)
  }
}

const eventText = ({ id, type, data }: FeedEvent) => `${id} ${type} ${toJson(data)}`

/** Every item of a list, exactly as the pages show it. */
async function listItems<T = Item>(read: Read, instance: TestService, path: string): Promise<T[]> {
  const items: T[] = []
  for (let page: string | undefined = path; page; ) {
    const response = await read(instance, page)
    items.push(...parseItems<T>(response.text))
    page = nextPage(response)
  }
  return items
}

async function noHoldIsOverdue({ instances }: Store, read: Read): Promise<void> {
  const [first] = instances as [TestService]
  await eventually('every hold that is due has expired', async () => {
    const orders = await listItems(read, first, '/v1/store/orders?status=placed&limit=100')
    return orders.every(({ holdExpiresAt }) => Date.parse(holdExpiresAt as string) > first.now())
  })
}

/** Replays the whole feed, which the followers at all instances have seen. */
async function replayFeed({ instances, startId }: Store, read: Read, feeds: string[][]): Promise<FeedReplay> {
  const [first] = instances as [TestService]
  const feed = await listItems<FeedEvent>(read, first, '/v1/events?limit=1000')
  for (const seen of feeds) assert.deepEqual(seen, feed.map(eventText), 'a follower has seen the whole feed')
  const replay = new FeedReplay(holdMs)
  for (const event of feed) {
    replay.apply(event)
    if (event.id === BigInt(startId)) replay.effects.clear()
  }
  replay.assertComplete()
  return replay
}

const lists: Record<Kind, string> = {
  pet: '/v1/pets?limit=100',
  category: '/v1/categories?limit=100',
  order: '/v1/store/orders?limit=100',
  key: '/v1/keys?limit=100',
}

async function assertStoreEquals({ instances }: Store, read: Read, replay: FeedReplay): Promise<void> {
  const byId = (a: Item, b: Item) => (a.id < b.id ? -1 : 1)
  for (const instance of instances) {
    for (const [kind, path] of Object.entries(lists) as [Kind, string][]) {
      const items = (await listItems(read, instance, path)).sort(byId)
      const replayed = [...replay.items[kind].values()].sort(byId)
      assert.deepEqual(items.map(shownInEvents[kind]), replayed.map(shownInEvents[kind]), kind)
    }
    const counts = tally([...replay.items.pet.values()].map(({ status }) => status as string))
    const { json } = await read(instance, '/v1/store/inventory')
    assert.deepEqual(json, { available: 0, pending: 0, sold: 0, ...counts })
  }
  const { pet: pets, order: orders } = replay.items
  const open = [...orders.values()].filter(({ status }) => status === 'placed' || status === 'approved')
  for (const { id, petId } of open)
    assert.equal(pets.get(petId as bigint)?.status, 'pending', `the pet of order ${id}`)
  const ordered = new Set(open.map(({ petId }) => petId))
  assert.equal(ordered.size, open.length, 'a pet has at most one open order')
  for (const { id, status } of pets.values()) {
    if (status === 'pending' && replay.changedByOrder.has(id))
      assert.ok(ordered.has(id), `pet ${id} is pending without an open order`)
  }
}

/** Everything that was confirmed has happened, and nothing has happened more often than it was requested. */
function assertEffects({ confirmed, unknown }: Known, { effects, expiries }: FeedReplay): void {
  for (const effect of new Set([...effects.keys(), ...confirmed.keys()])) {
    const times = effects.get(effect) ?? 0
    const least = confirmed.get(effect) ?? 0
    const most = least + (unknown.get(effect) ?? 0) + Number(expiries.has(effect) && least === 0)
    assert.ok(least <= times && times <= most, `${effect}: ${times} times, not ${least} to ${most}`)
  }
}

/** Of all secrets of a key, the last one can be used, unless the key is revoked. */
async function assertSecrets({ instances }: Store, known: Known, replay: FeedReplay): Promise<void> {
  let checks = 0
  for (const [id, secrets] of known.secrets) {
    let usable = 0
    for (const key of secrets) {
      const instance = instances[checks++ % instances.length] as TestService
      // The address pays for a request with an invalid key.
      const headers = { 'x-forwarded-for': `10.0.${checks >> 8}.${checks & 255}` }
      const { status, text } = await retryWhile503(() =>
        instance.request('GET', '/v1/pets?limit=1', { key, headers }),
      )
      assert.ok(status === 200 || status === 401, text)
      if (status === 200) usable++
    }
    const isRevoked = replay.items.key.get(BigInt(id))?.revokedAt !== undefined
    const most = isRevoked ? 0 : 1
    // The last secret may be in a response that was lost.
    const least = known.unknown.has(`key ${id} rotated`) ? 0 : most
    assert.ok(least <= usable && usable <= most, `key ${id}: ${usable} secrets of ${secrets.length}`)
  }
}

function assertNoErrorsLogged({ instances }: Store): void {
  const errors = instances.flatMap(({ logLines }) =>
    logLines.filter((line) => JSON.parse(line).level >= errorLevel),
  )
  assert.deepEqual(errors, [])
}

async function report(
  t: TestContext,
  { databaseName }: Store,
  { known, replay, faults }: Results,
): Promise<void> {
  const { rows } = await administer(
    `SELECT deadlocks FROM pg_stat_database WHERE datname = '${databaseName}'`,
  )
  const { pet, order, category, key } = replay.items
  t.diagnostic(
    `${faults} faults, ${rows[0].deadlocks} deadlocks, responses ${JSON.stringify(tally(known.responses))}`,
  )
  t.diagnostic(
    `${pet.size} pets, ${order.size} orders, ${category.size} categories, ${key.size} keys, ${replay.expiries.size} expired holds, ${known.onceRequests.length} idempotency keys, ${known.unknown.size} unknown outcomes`,
  )
}

/** Terminates a connection of the service in PostgreSQL every 50 ms, every other time one that is in use. */
const killConnections: Fault = async ({ databaseName }, isOver, random) => {
  let kills = 0
  while (!isOver()) {
    const order = random.isTrue(0.5) ? `state = 'idle', random()` : 'random()'
    const { rows } = await administer(`
      SELECT pg_terminate_backend(pid) FROM (
        SELECT pid FROM pg_stat_activity WHERE datname = '${databaseName}' AND application_name = 'petstore'
        ORDER BY ${order} LIMIT 1) AS victim`)
    kills += rows.length
    await pause(killEveryMs)
  }
  return kills
}

/** Statements are prepared once on every connection. Later only their name and values are sent, with names of pets. */
const cutTexts = ['COMMIT', 'COMMIT', 'create_pets_2', 'petstore_append_changes', '-1-', '-2-', '-3-', '-4-']
const noText = '\0no statement has this text\0'

/** Cuts connections when a statement is sent, before it arrives or after the response to it. */
const cutConnections: Fault = async ({ proxies }, isOver, random) => {
  let cuts = 0
  while (!isOver()) {
    const cut = random
      .pick(proxies)
      .cutAt(random.pick(cutTexts), random.pick(['before', 'afterResponse'] as const))
      .then(() => cuts++)
    await Promise.race([cut, pause(cutWaitMs)])
  }
  for (const proxy of proxies) void proxy.cutAt(noText, 'before')
  return cuts
}

/** A next version of the schema, with a new version of a trigger. */
const nextMigration: Migration = {
  name: 'next',
  script: () => `
    ALTER TABLE categories ADD COLUMN parent bigint;
    ALTER TABLE pets ADD COLUMN born_at bigint NOT NULL DEFAULT 0;
    CREATE INDEX pets_by_birth ON pets (born_at, id);
    ALTER TABLE orders ADD COLUMN priority bigint;
    ALTER TABLE events ADD COLUMN source text DEFAULT 'unknown';
    CREATE FUNCTION count_inserted_2() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      counts bigint[] := coalesce(nullif(current_setting('petstore.counts', true), ''), '{0,0,0}');
    BEGIN
      SELECT ARRAY[
        counts[1] + count(*) FILTER (WHERE status = 'available'),
        counts[2] + count(*) FILTER (WHERE status = 'pending'),
        counts[3] + count(*) FILTER (WHERE status = 'sold')] INTO counts FROM new_rows;
      PERFORM set_config('petstore.counts', counts::text, true);
      RETURN NULL;
    END $$;
    DROP TRIGGER count_inserted ON pets;
    CREATE TRIGGER count_inserted AFTER INSERT ON pets
      REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_inserted_2()`,
}
const writesBeforeMigration = 300

/** Migrates the schema while all callers write. The instances do not know the new version. */
const migrateSchema: Fault = async ({ instances, known }, isOver) => {
  const [{ databaseEnv }] = instances as [TestService]
  while (!isOver() && known.responses.length < writesBeforeMigration) await pause(lookEveryMs)
  assert.ok(!isOver())
  await inDatabase(databaseEnv, async (database) => {
    const migrateOnce = () => migrate(database, 0, [...migrations, nextMigration])
    // As at the start of a process.
    const isRetryable = (error: unknown) => error instanceof DatabaseUnavailableError
    assert.deepEqual(await withRetry(migrateOnce, { waitMaxMs: 10_000, retryMs: 250, isRetryable }), ['next'])
  })
  assert.ok(!isOver(), 'the callers go on after the migration')
  const { code, stderr } = await runPetstore(['serve'], { ...databaseEnv, PORT: '0' })
  assert.deepEqual([code, /supports versions up to/.test(stderr)], [1, true], 'an old version does not start')
  return 1
}

test('concurrent writers at three instances leave the inventory, the orders and the feed consistent', async (t) => {
  const patterns = [
    /^pet \d+ removed$/,
    /^order \d+ delivered$/,
    /^category \d+ removed$/,
    /^key \d+ revoked$/,
  ]
  /** What has happened too rarely for a test of it. */
  const rare = (effects: ReadonlyMap<string, number>) =>
    patterns.filter((pattern) => {
      const happened = [...effects.keys()].filter((effect) => pattern.test(effect))
      return happened.length <= 5
    })
  const isEnough = (effects: ReadonlyMap<string, number>) => rare(effects).length === 0
  const { known, replay } = await run(t, { turns: 100, roundsMax: 5, isEnough })
  assert.equal(known.unknown.size, 0)
  const { effects, expiries } = replay
  assert.deepEqual(rare(effects), [])
  assert.ok(expiries.size > 5)
})

test('the same while connections are terminated: nothing confirmed is lost, and nothing is doubled', async (t) => {
  const { known, faults } = await run(t, { turns: 45, fault: killConnections })
  assert.ok(faults > 10 && known.responses.includes('503 unavailable'))
})

test('the same while connections break when a statement was sent: nothing is doubled', async (t) => {
  const { known, faults } = await run(t, { turns: 45, fault: cutConnections, isProxied: true })
  assert.ok(faults > 10 && known.unknown.size > 5)
})

test('the same while the schema is migrated: instances that do not know the new version lose and double nothing', async (t) => {
  const { known, faults } = await run(t, { turns: 60, fault: migrateSchema })
  assert.equal(faults, 1)
  assert.equal(known.unknown.size, 0)
})
