import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { isHoldExpired } from '../../src/orders/order.ts'
import { findOrder, lockPetAndOrder, placeOrder } from '../../src/orders/queries.ts'
import { expireHolds } from '../../src/schedule.ts'
import type { ClientResponse } from '../support/client.ts'
import { administer } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { type HeldWrites, type HoldPoint, heldWritesFor, type Side } from '../support/heldWrites.ts'
import { feedAfter, newestEventId, requestOk } from '../support/instances.ts'
import { holdMs } from '../support/orderClient.ts'
import { startOfTests } from '../support/service.ts'

/**
 * Every write that can meet another one on the same rows meets it, in both orders. What comes of it (both responses, the
 * feed, the rows) must be what comes of one after the other, or of the other after the one.
 */

/** What the operations of one pair are about. It is new for every pair. */
type World = {
  readonly number: number
  readonly key: string
  /** A category that no animal is in, one that only the animal is in, and one that does not exist. */
  readonly empty: number
  readonly own: number
  readonly absent: number
  readonly petId: number
  readonly etag: string
  readonly orderId: number
  readonly keyId: number
  readonly newestEventId: number
}
type Done = { status: number; kind?: string; json?: unknown; isReplayed?: boolean; rest?(): Promise<void> }
type Operation = (side: Side, world: World) => Promise<Done>

/** After the hold of the order, and before that of a later one. */
const late = startOfTests + holdMs - 1

/** A request whose path begins with the kind of its resource. */
const send =
  (
    kind: Kind,
    method: string,
    path: (world: World) => string,
    body?: (world: World) => object,
    headers: (world: World) => Record<string, string> = () => ({}),
  ): Operation =>
  async ({ service }, world) => {
    const options = { key: world.key, headers: headers(world), ...(body && { body: body(world) }) }
    const response = await service.request(method, `/v1${path(world)}`, options)
    return { ...comparable(response), kind }
  }
const comparable = ({ status, json, headers }: ClientResponse): Done => ({
  status,
  json,
  isReplayed: headers['idempotent-replayed'] !== undefined,
})

const toPet = ({ petId }: World) => `/pets/${petId}`
const toOrder = ({ orderId }: World) => `/store/orders/${orderId}`
const toOrders = () => '/store/orders'
const toKey = ({ keyId }: World) => `/keys/${keyId}`
const addTo = (category: (world: World) => number) =>
  send(
    'pet',
    'POST',
    () => '/pets',
    (world) => ({ name: 'Added', categoryId: category(world) }),
  )
const changePet = (change: (world: World) => object) => send('pet', 'PATCH', toPet, change)
const changeOrder = (status: string) => send('order', 'PATCH', toOrder, () => ({ status }))
const removeCategory = (category: (world: World) => number) =>
  send('category', 'DELETE', (world) => `/categories/${category(world)}`)
const once = ({ number }: World) => ({ 'idempotency-key': `once-${number}` })
const orderPet = (headers?: typeof once) =>
  send('order', 'POST', toOrders, ({ petId }) => ({ petId, customer: { name: 'Ada' } }), headers)

const rename = changePet(() => ({ name: 'Renamed' }))
const remove = send('pet', 'DELETE', toPet)

/** As the scheduled job does. It skips an order that another write has locked, and the next run expires it. */
const expire: Operation = async ({ database }, { orderId }) => {
  const run = () => expireHolds(database, () => late)
  await run()
  const order = await findOrder(database.read, orderId)
  return order && isHoldExpired(order, late) ? { status: 0, rest: run } : { status: 0 }
}

/** An order that is placed after the hold of the order before has expired. */
const orderLate: Operation = ({ database }, { petId }) =>
  database.write(async (trx) => {
    const { pet, openOrder } = await lockPetAndOrder(trx, BigInt(petId), late)
    if (!pet || openOrder || pet.status !== 'available') return { status: 409 }
    const { id } = await placeOrder(trx, pet, { customer: undefined, note: undefined, holdMs }, late)
    return { status: 201, kind: 'order', json: { id } }
  })

type Group = {
  readonly about: string
  readonly orderStatus?: 'placed' | 'approved'
  readonly hasCategory?: boolean
  readonly hasKey?: boolean
  readonly operations: Record<string, Operation>
}

const addCategory = send(
  'category',
  'POST',
  () => '/categories',
  () => ({ name: 'Next' }),
)
const moveToCategory = changePet(({ empty }) => ({ categoryId: empty }))

const groups: Group[] = [
  {
    about: 'a category',
    hasCategory: true,
    operations: {
      'create in it': addTo(({ empty }) => empty),
      'create in a new one': addTo(({ absent }) => absent),
      'move to it': moveToCategory,
      'move to a new one': changePet(({ absent }) => ({ categoryId: absent })),
      'remove it': removeCategory(({ empty }) => empty),
      'remove the new one': removeCategory(({ absent }) => absent),
      'rename it': send(
        'category',
        'PATCH',
        ({ empty }) => `/categories/${empty}`,
        () => ({ name: 'Renamed' }),
      ),
    },
  },
  {
    about: 'the next category',
    hasCategory: true,
    operations: {
      'add a category': addCategory,
      'create in it': addTo(({ empty }) => empty + 1),
    },
  },
  {
    about: 'the category of an animal',
    hasCategory: true,
    operations: {
      'remove it': removeCategory(({ own }) => own),
      'create in it': addTo(({ own }) => own),
      'move to another one': moveToCategory,
      'remove the animal': remove,
    },
  },
  {
    about: 'an available animal',
    operations: {
      rename,
      'rename if unchanged': send(
        'pet',
        'PATCH',
        toPet,
        () => ({ name: 'Same' }),
        ({ etag }) => ({ 'if-match': etag }),
      ),
      sell: changePet(() => ({ status: 'sold' })),
      remove,
      order: orderPet(),
      'order with an Idempotency-Key': orderPet(once),
    },
  },
  {
    about: 'an ordered animal',
    orderStatus: 'placed',
    operations: {
      rename,
      remove,
      order: orderPet(),
      'order with an Idempotency-Key': orderPet(once),
      'order when the hold has expired': orderLate,
      approve: changeOrder('approved'),
      cancel: changeOrder('cancelled'),
      expire,
      'erase the customer': send('order', 'DELETE', (world) => `${toOrder(world)}/customer`),
    },
  },
  {
    about: 'an animal with an approved order',
    orderStatus: 'approved',
    operations: {
      remove,
      order: orderPet(),
      deliver: changeOrder('delivered'),
      cancel: changeOrder('cancelled'),
    },
  },
  {
    about: 'one Idempotency-Key',
    operations: {
      create: send(
        'pet',
        'POST',
        () => '/pets',
        ({ own }) => ({ name: 'Once', categoryId: own }),
        once,
      ),
      'create another': send(
        'pet',
        'POST',
        () => '/pets',
        ({ own }) => ({ name: 'Other', categoryId: own }),
        once,
      ),
      order: orderPet(once),
    },
  },
  {
    about: 'a key',
    hasKey: true,
    operations: {
      rotate: send(
        'key',
        'POST',
        (world) => `${toKey(world)}/rotate`,
        () => ({ overlapSeconds: 60 }),
      ),
      rename: send('key', 'PATCH', toKey, () => ({ name: 'Renamed' })),
      'change the scopes': send('key', 'PATCH', toKey, () => ({ scopes: ['pets:read'] })),
      revoke: send('key', 'DELETE', toKey),
      'lift its ban': send('key', 'DELETE', (world) => `${toKey(world)}/ban`),
    },
  },
]

let worlds = 0

async function newWorld({ free, key, client }: HeldWrites, group: Group): Promise<World> {
  const { service } = free
  const number = ++worlds
  const ok = (method: string, path: string, body: object) =>
    requestOk(service, method, `/v1${path}`, body, key)
  const own = 2_000_000 + number
  // The categories of earlier worlds, so that all worlds can have the same names.
  await client.query('UPDATE categories SET name = NULL')
  const empty = group.hasCategory ? (await ok('POST', '/categories', { name: 'Empty' })).json.id : 0
  const { json: pet, headers } = await ok('POST', '/pets', { name: 'Milo', categoryId: own })
  let orderId = 0
  if (group.orderStatus) {
    const customer = { name: 'Grace' }
    orderId = (await ok('POST', '/store/orders', { petId: pet.id, customer })).json.id
    await client.query('UPDATE orders SET hold_expires_at = $1 WHERE id = $2', [late, orderId])
    if (group.orderStatus === 'approved')
      await ok('PATCH', `/store/orders/${orderId}`, { status: 'approved' })
  }
  return {
    number,
    key,
    empty,
    own,
    absent: 1_000_000 + number,
    petId: pet.id,
    etag: String(headers.etag),
    orderId,
    keyId: group.hasKey ? (await ok('POST', '/keys', { name: 'test' })).json.id : 0,
    newestEventId: await newestEventId(service, key),
  }
}

type Kind = 'pet' | 'order' | 'category' | 'key'

/** Names in place of ids, so that what comes of two worlds can be compared. */
class Names {
  readonly #names = new Map<string, string>()

  constructor(world: World, results: readonly Done[]) {
    const { empty, own, absent, petId, orderId, keyId } = world
    const categories = {
      [empty]: 'empty',
      [empty + 1]: 'next',
      [empty + 2]: 'next but one',
      [own]: 'own',
      [absent]: 'absent',
    }
    for (const [id, name] of Object.entries(categories)) this.#names.set(`category ${id}`, name)
    this.#names.set(`pet ${petId}`, 'the animal')
    this.#names.set(`order ${orderId}`, 'the order')
    this.#names.set(`key ${keyId}`, 'the key')
    for (const [index, { kind, json }] of results.entries()) {
      const name = `${kind} ${(json as { id?: number } | undefined)?.id}`
      if (!this.#names.has(name)) this.#names.set(name, `made by #${index}`)
    }
  }

  of(kind: string, id: unknown): string {
    return this.#names.get(`${kind} ${id}`) ?? `${kind} ${id}`
  }

  /** The fields of a resource with names in place of ids. */
  in(kind: string, json: unknown): unknown {
    if (typeof json !== 'object' || json === null) return json
    // Messages name ids.
    const { id, petId, categoryId, key, message: _, ...fields } = json as Record<string, unknown>
    return {
      ...fields,
      ...(id !== undefined && { id: this.of(kind, id) }),
      ...(petId !== undefined && { petId: this.of('pet', petId) }),
      ...(categoryId !== undefined && { categoryId: this.of('category', categoryId) }),
      // A secret, which is random.
      ...(key !== undefined && { key: typeof key }),
    }
  }
}

const rowQueries: Record<Kind, (world: World) => string> = {
  pet: ({ petId }) => `SELECT id, name, category_id AS "categoryId", status FROM pets WHERE id >= ${petId}`,
  order: ({ petId }) =>
    `SELECT id, pet_id AS "petId", status, customer_name, hold_expires_at, cancel_reason FROM orders WHERE pet_id >= ${petId}`,
  category: ({ empty, own, absent }) =>
    `SELECT category_id AS id, name FROM categories WHERE category_id IN (${[empty, empty + 1, empty + 2, own, absent].join()})`,
  key: ({ keyId }) =>
    `SELECT id, name, scopes, revoked_at, (SELECT json_agg(s.expires_at ORDER BY s.expires_at) FROM api_key_secrets s
      WHERE s.key_id = k.id) AS secrets FROM api_keys k WHERE id = ${keyId}`,
}

/** What came of two operations, in a form that can be compared. */
async function outcomeOf({ free, client }: HeldWrites, world: World, results: readonly Done[]) {
  const names = new Names(world, results)
  const events = await feedAfter(free.service, world.newestEventId, world.key)
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => world.newestEventId + 1 + index),
    'the feed has no gaps',
  )
  const queries = Object.entries(rowQueries).map(
    ([kind, query]) => `SELECT '${kind}' AS kind, row_to_json(r) AS row FROM (${query(world)}) AS r`,
  )
  const found = await client.query(queries.join(' UNION ALL '))
  const rows = found.rows.map(({ kind, row }) => `${kind} ${JSON.stringify(names.in(kind, row))}`).sort()
  return {
    responses: results.map(({ status, kind = '', json, isReplayed }) => ({
      status,
      isReplayed,
      json: names.in(kind, json),
    })),
    feed: events.map(({ type, data }) => ({ type, data: names.in(type.split('.')[0] as string, data) })),
    rows,
  }
}
type Outcome = Awaited<ReturnType<typeof outcomeOf>>

/** The outcome as if the operations had been given in the other order. */
function swapped(outcome: Outcome): Outcome {
  const text = JSON.stringify({ ...outcome, responses: outcome.responses.toReversed() })
  const renamed: Outcome = JSON.parse(text.replace(/made by #([01])/g, (_, n) => `made by #${1 - n}`))
  renamed.rows.sort()
  return renamed
}

/** As JSON, in which fields without a value are absent. */
const plain = (outcome: Outcome): Outcome => JSON.parse(JSON.stringify(outcome))

async function assertCounted({ client }: HeldWrites): Promise<void> {
  const { rows } = await client.query(`
    SELECT s.available - p.available AS available, s.pending - p.pending AS pending, s.sold - p.sold AS sold
    FROM (SELECT sum(available) AS available, sum(pending) AS pending, sum(sold) AS sold FROM counter_slots) AS s,
      (SELECT count(*) FILTER (WHERE status = 'available') AS available,
        count(*) FILTER (WHERE status = 'pending') AS pending,
        count(*) FILTER (WHERE status = 'sold') AS sold FROM pets) AS p`)
  assert.deepEqual(rows, [{ available: '0', pending: '0', sold: '0' }], 'the inventory is not a count')
}

/** Holds of earlier worlds must not expire with those of the next. */
const forgetHolds = ({ client }: HeldWrites) => client.query('UPDATE orders SET hold_expires_at = NULL')

type Pair = [Operation, Operation]

async function oneAfterTheOther(writes: HeldWrites, group: Group, [one, other]: Pair): Promise<Outcome> {
  const world = await newWorld(writes, group)
  const first = await one(writes.free, world)
  // A caller does not wait for the rollback of a write that has changed nothing. The expiry of holds skips locked animals.
  await eventually('no transaction is open', async () => {
    const open = await writes.client.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
    )
    return open.rows.length === 0
  })
  const results = [first, await other(writes.free, world)]
  const outcome = await outcomeOf(writes, world, results)
  await forgetHolds(writes)
  return plain(outcome)
}

async function atOnce(writes: HeldWrites, group: Group, [one, other]: Pair) {
  const world = await newWorld(writes, group)
  const met = await writes.meet(
    (side) => one(side, world),
    (side) => other(side, world),
  )
  for (const { rest } of met.results) await rest?.()
  const outcome = await outcomeOf(writes, world, met.results)
  await forgetHolds(writes)
  await assertCounted(writes)
  return { ...met, outcome: plain(outcome) }
}

const isEqual = (actual: unknown, expected: unknown): boolean => {
  try {
    assert.deepEqual(actual, expected)
    return true
  } catch {
    return false
  }
}

/** PostgreSQL counts the deadlocks of a connection at the latest when it ends. */
async function deadlocks({ databaseEnv }: HeldWrites): Promise<number> {
  const name = new URL(databaseEnv.DATABASE_URL as string).pathname.slice(1)
  const { rows: ended } = await administer(
    `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND application_name <> ''`,
  )
  const pids = ended.map(({ pid }) => pid)
  await eventually('the connections have ended', async () => {
    const { rows: left } = await administer(
      `SELECT pid FROM pg_stat_activity WHERE pid = ANY ('{${pids.join()}}')`,
    )
    return left.length === 0
  })
  const { rows } = await administer(`SELECT deadlocks FROM pg_stat_database WHERE datname = '${name}'`)
  return Number(rows[0].deadlocks)
}

const points: { point: HoldPoint; hasOneSlot: boolean }[] = [
  { point: 'before its last statement', hasOneSlot: false },
  { point: 'before its commit', hasOneSlot: true },
]
const places = await Promise.all(
  points.map(async ({ point, hasOneSlot }) => ({
    name: `${point}, on ${hasOneSlot ? 'one counter slot' : 'any counter slot'}`,
    writes: await heldWritesFor({ after }, point, { hasOneSlot }),
  })),
)

for (const group of groups) {
  describe(`two writes to ${group.about}`, () => {
    const names = Object.keys(group.operations)
    const pairs = names.flatMap((one) => names.map((other) => [one, other] as const))
    const operationsOf = (one: string, other: string) =>
      [group.operations[one], group.operations[other]] as Pair
    const serial = new Map<string, Promise<Outcome>>()

    for (const { name: place, writes } of places) {
      test(`have the outcome of one after the other, if one is held ${place}`, async (t) => {
        const inOrder = (one: string, other: string): Promise<Outcome> => {
          const name = `${one}, ${other}`
          const outcome = serial.get(name) ?? oneAfterTheOther(writes, group, operationsOf(one, other))
          serial.set(name, outcome)
          return outcome
        }
        let waits = 0
        for (const [one, other] of pairs) {
          const forward = await inOrder(one, other)
          const backward = swapped(await inOrder(other, one))
          const { outcome, isHeld, hasWaited } = await atOnce(writes, group, operationsOf(one, other))
          waits += Number(hasWaited)
          if (isEqual(outcome, backward)) continue
          const how = `${isHeld ? 'held' : 'ended'}, then ${hasWaited ? 'waiting' : 'ended'}`
          assert.deepEqual(outcome, forward, `${one} (${how}), ${other}`)
        }
        t.diagnostic(`${pairs.length} pairs, in ${waits} of them the second write waited`)
        assert.ok(waits > 0)
      })
    }
  })
}

for (const { name, writes } of places) {
  test(`no two writes have deadlocked, if one is held ${name}`, async () => {
    assert.equal(await deadlocks(writes), 0)
  })
}
