import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { eventIdMax, lastEventId } from '../../src/events/queries.ts'
import { petStatuses } from '../../src/pets/pet.ts'
import { cliOn as commandsAt, importOfNew } from '../support/commands.ts'
import { type DatabaseEnv, databaseFor, inDatabase, newDatabase, removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { SuiteCleanup } from '../support/servers.ts'
import { serviceFor, type TestService } from '../support/service.ts'

const adminKey = 'the-admin-key-of-the-export-test'
const hourMs = 60 * 60 * 1000

/** Commands on one database. A command that fails, fails the test. */
function cliOn(env: DatabaseEnv) {
  const { run, ok, export: exported } = commandsAt(env)
  return {
    env,
    run,
    export: exported,
    import: (...records: object[]) =>
      ok(['import', '--json'], records.map((record) => JSON.stringify(record)).join('\n')),
    importText: (text: string) => ok(['import', '--with-keys', '--json'], text),
    records: async (type: string) => recordsOf(await exported()).filter((record) => record.type === type),
    query: (text: string) => query(env, text),
  }
}
type Cli = ReturnType<typeof cliOn>

// biome-ignore lint/suspicious/noExplicitAny: a test looks into records of every shape.
const recordsOf = (text: string): Record<string, any>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** Without the position of the feed, which every import moves. */
const withoutFeed = (text: string) => text.replace(/,"lastEventId":\d+/, '')

const query = (env: DatabaseEnv, text: string) =>
  inDatabase(env, async (database) => {
    // Gives ids to all events.
    await database.readableThrough()
    return (await sql.raw<Record<string, unknown>>(text).execute(database.read)).rows
  })

const eventsOf = async (cli: Cli, after = 0) =>
  (await cli.query(`SELECT type, data FROM events WHERE id > ${after} ORDER BY id`)).map(
    ({ type, data }): [string, Record<string, unknown>] => [String(type), JSON.parse(String(data))],
  )
const newestEvent = (cli: Cli) =>
  inDatabase(cli.env, async (database) => {
    await database.readableThrough()
    return lastEventId(database.read, eventIdMax)
  })

/** Invariants of every database, after any import. */
async function assertConsistent(cli: Cli): Promise<void> {
  const violations = await cli.query(`
    SELECT o.id FROM orders o JOIN pets p ON p.id = o.pet_id
    WHERE o.status IN ('placed', 'approved') AND p.status <> 'pending'`)
  assert.deepEqual(violations, [], 'an animal with an open order is pending')
  await inDatabase(cli.env, async ({ read }) => {
    const counted = await sql<{ status: string; count: number }>`
      SELECT status, count(*) AS count FROM pets GROUP BY status`.execute(read)
    const counts = Object.fromEntries(counted.rows.map(({ status, count }) => [status, Number(count)]))
    assert.deepEqual(await read.dialect.counters(read, petStatuses), {
      available: 0,
      pending: 0,
      sold: 0,
      ...counts,
    })
  })
}

const send =
  (server: Pick<TestService, 'request'>) => async (method: string, path: string, body?: unknown) => {
    const response = await server.request(method, path, {
      key: adminKey,
      ...(body !== undefined && { body }),
    })
    assert.ok(response.status < 300, `${method} ${path}: ${response.text}`)
    return response.json
  }
const startOn = (t: Pick<TestContext, 'after'>, env: DatabaseEnv) =>
  serviceFor(t, { ...env, PETSTORE_ADMIN_KEY: adminKey })

const customer = { name: 'Zoë "the" Łast 🐾\u2028', email: 'zoe@example.com' }

/** Orders in every status. The last order and a category are deleted, so their ids are assigned and unused. */
async function databaseWithOrders(t: Pick<TestContext, 'after'>): Promise<{ cli: Cli; server: TestService }> {
  const env = await databaseFor(t)
  const server = await startOn(t, env)
  const call = send(server)
  for (let n = 1; n <= 6; n++) await call('POST', '/v1/pets', { name: `Pet ${n}`, categoryId: 1_000 })
  const order = async (petId: number, fields: object, ...statuses: string[]) => {
    const { id } = await call('POST', '/v1/store/orders', { petId, ...fields })
    for (const status of statuses) await call('PATCH', `/v1/store/orders/${id}`, { status })
  }
  await order(1, { customer, note: 'Has a garden.\n' })
  await order(2, { customer: { name: 'Only a name' } }, 'approved')
  await order(3, { note: '' }, 'approved', 'delivered')
  await order(4, {}, 'cancelled')
  await order(4, { customer }, 'approved')
  await order(5, {}, 'approved', 'delivered')
  await call('PATCH', '/v1/pets/5', { status: 'available' })
  await order(6, { customer }, 'cancelled')
  await call('DELETE', '/v1/store/orders/7/customer')
  await call('DELETE', '/v1/pets/6')
  for (const name of ['Rabbits', 'Gone']) await call('POST', '/v1/categories', { name })
  await call('DELETE', '/v1/categories/2')
  return { cli: cliOn(env), server }
}

describe('export and import', { concurrency: 2 }, () => {
  /** No test here changes this database. */
  let cli: Cli
  let server: TestService
  let exported: string
  const lasting = new SuiteCleanup()
  before(async () => {
    ;({ cli, server } = await databaseWithOrders(lasting))
    exported = await cli.export()
  })
  after(() => lasting.end())

  test('transfer orders with customers and notes, and no id is assigned twice', async (t) => {
    assert.equal(recordsOf(exported).filter(({ type }) => type === 'order').length, 7)
    const cleanup = reverseCleanup(t)
    const second = cliOn(await databaseFor(cleanup))
    const counts = JSON.parse(await second.importText(exported))
    const added = importOfNew({ pets: 5, categories: 2, orders: 7, keys: 1 })
    const expected = { ...added, keysRenumbered: 0, keysUnchanged: 0 }
    assert.deepEqual(counts, expected)
    assert.equal(withoutFeed(await second.export()), withoutFeed(exported))
    await assertConsistent(second)

    const copy = await startOn(cleanup, second.env)
    for (const path of ['/v1/store/orders', '/v1/pets', '/v1/store/inventory', '/v1/categories']) {
      const [there, here] = await Promise.all(
        [server, copy].map((each) => each.request('GET', path, { key: adminKey })),
      )
      assert.equal(here?.status, 200)
      assert.equal(here?.text, there?.text, path)
    }
    const call = send(copy)
    assert.deepEqual((await call('GET', '/v1/store/orders/1')).customer, customer)
    assert.equal((await call('PATCH', '/v1/store/orders/2', { status: 'delivered' })).status, 'delivered')
    assert.equal((await call('POST', '/v1/store/orders', { petId: 5 })).id, 8)
    assert.equal((await call('POST', '/v1/categories', { name: 'Next' })).id, 3)
  })

  test('record an event of every new or changed order, without personal data, and none twice', async (t) => {
    const second = cliOn(await databaseFor(t))
    await second.importText(exported)
    const orders = recordsOf(exported)
      .filter(({ type }) => type === 'order')
      .toSorted((a, b) => a.id - b.id)
    const recorded = (await eventsOf(second))
      .filter(([type]) => type.startsWith('order.'))
      .toSorted(([, a], [, b]) => Number(a.id) - Number(b.id))
    assert.deepEqual(
      recorded,
      orders.map(({ id, petId, status }) => [`order.${status}`, { id, petId, status }]),
    )
    assert.doesNotMatch(JSON.stringify(await eventsOf(second)), /Zoë|zoe@|garden|Only a name/)
    const newest = await newestEvent(second)
    await second.importText(exported)
    assert.equal(withoutFeed(await second.export()), withoutFeed(exported))
    const again = (await eventsOf(second, newest)).filter(([type]) => !type.startsWith('key.'))
    assert.deepEqual(again, [], 'without a change there is no event')
  })

  test('keep the events of the second database and continue after those of the first', async (t) => {
    const { lastEventId } = recordsOf(exported)[0] as { lastEventId: number }
    assert.equal(lastEventId, await newestEvent(cli))
    const second = cliOn(await databaseFor(t))
    await second.import({ name: 'Own', categoryId: 1 })
    await second.importText(exported)
    const ids = (await second.query('SELECT id FROM events ORDER BY id')).map(({ id }) => Number(id))
    assert.deepEqual(ids.slice(0, 2), [1, 2])
    for (const id of ids.slice(2)) assert.ok(id > lastEventId)
  })

  test('work while a server runs on the second database: it returns the orders, and an overdue hold expires', async (t) => {
    const cleanup = reverseCleanup(t)
    const env = await databaseFor(cleanup)
    const server = await startOn(cleanup, env)
    const call = send(server)
    const cli = cliOn(env)
    await cli.import(
      { type: 'pet', id: 1, name: 'A', categoryId: 1, status: 'pending' },
      { ...order, holdExpiresAt: server.now() - 1 },
    )
    await eventually(
      'the hold expires',
      async () => (await call('GET', '/v1/store/orders/1')).cancelReason === 'hold_expired',
    )
    assert.equal((await call('GET', '/v1/pets?id=1'))[0].status, 'available')
    await assertConsistent(cli)
  })
})

const order = {
  type: 'order',
  id: 1,
  petId: 1,
  status: 'placed',
  customer: null,
  note: null,
  placedAt: 1,
  updatedAt: 2,
  holdExpiresAt: Date.now() + 1_000 * hourMs,
  cancelReason: null,
}
const approved = { ...order, status: 'approved', holdExpiresAt: null }
const cancelled = { ...order, status: 'cancelled', holdExpiresAt: null }
const delivered = { ...order, status: 'delivered', holdExpiresAt: null }
const pet = (status: string, id = 1) => ({ type: 'pet', id, name: 'A', categoryId: 1, status })

describe('an import into a database with an open order', () => {
  const later = { ...approved, id: 101 }
  const scenarios: [what: string, first: object[], second: object[], petStatus: string, orders: string[]][] =
    [
      ['keeps the status of its animal', [pet('pending'), order], [pet('sold')], 'pending', ['placed']],
      [
        'keeps it while approved, too',
        [pet('pending'), approved],
        [pet('available')],
        'pending',
        ['approved'],
      ],
      ['that cancels it frees the animal', [pet('pending'), order], [cancelled], 'available', ['cancelled']],
      ['that delivers it sells the animal', [pet('pending'), approved], [delivered], 'sold', ['delivered']],
      [
        'from a database with the order cancelled takes the status of the animal from there',
        [pet('pending'), order],
        [cancelled, pet('sold')],
        'sold',
        ['cancelled'],
      ],
      [
        'from a database with the animal returned makes it available',
        [pet('pending'), approved],
        [delivered, pet('available')],
        'available',
        ['delivered'],
      ],
      [
        'from a database with a later order continues with that order',
        [pet('pending'), order],
        [cancelled, pet('pending'), later],
        'pending',
        ['cancelled', 'approved'],
      ],
      ['that opens one on an available animal holds it', [pet('available')], [order], 'pending', ['placed']],
      [
        'that opens one before its animal is there holds it all the same',
        [],
        [order, pet('available')],
        'pending',
        ['placed'],
      ],
    ]

  /** Each scenario has its own animal and its own orders. */
  const recordsOfAll = (which: 1 | 2) =>
    scenarios.flatMap((scenario, index) =>
      (scenario[which] as { id: number; petId?: number }[]).map(({ id, petId, ...rest }) => ({
        ...rest,
        id: id + index,
        ...(petId !== undefined && { petId: petId + index }),
      })),
    )
  let cli: Cli
  before(async () => {
    cli = cliOn(await newDatabase())
    await cli.import(...recordsOfAll(1))
    await cli.import(...recordsOfAll(2))
  })
  after(() => removeDatabase(cli.env))

  for (const [index, [what, , , petStatus, orders]] of scenarios.entries()) {
    test(what, async () => {
      const statuses = async (text: string) => (await cli.query(text)).map(({ status }) => status)
      assert.deepEqual(await statuses(`SELECT status FROM pets WHERE id = ${index + 1}`), [petStatus])
      assert.deepEqual(
        await statuses(`SELECT status FROM orders WHERE pet_id = ${index + 1} ORDER BY id`),
        orders,
      )
    })
  }

  test('leaves the database consistent', () => assertConsistent(cli))

  const recordOf = async (type: string, id: number) =>
    (await cli.records(type)).find((record) => record.id === id)

  test('still changes the name and the category of the animal', async () => {
    await cli.import(pet('pending', 50), { ...order, id: 50, petId: 50 })
    await cli.import({ ...pet('available', 50), name: 'Rex', categoryId: 9 })
    const { createdAt: _, updatedAt: __, ...changed } = (await recordOf('pet', 50)) ?? {}
    assert.deepEqual(changed, { ...pet('pending', 50), name: 'Rex', categoryId: 9 })
  })

  test('whose hold has expired releases the animal', async () => {
    await cli.import(pet('pending', 51), { ...order, id: 51, petId: 51, holdExpiresAt: 5 })
    await cli.import(pet('sold', 51))
    assert.equal((await recordOf('pet', 51))?.status, 'sold')
    assert.equal((await recordOf('order', 51))?.cancelReason, 'hold_expired')
    await assertConsistent(cli)
  })

  test('that moves the order to another animal releases the first', async () => {
    await cli.import(pet('pending', 52), pet('available', 53), { ...order, id: 52, petId: 52 })
    await cli.import({ ...order, id: 52, petId: 53 })
    assert.equal((await recordOf('pet', 52))?.status, 'available')
    assert.equal((await recordOf('pet', 53))?.status, 'pending')
    await assertConsistent(cli)
  })

  test('that would open a second one on the same animal is rejected with a clear message', async () => {
    await cli.import(pet('pending', 54), { ...order, id: 54, petId: 54 })
    const { code, stderr } = await cli.run(['import'], JSON.stringify({ ...approved, id: 55, petId: 54 }))
    assert.equal(code, 1)
    assert.equal(
      stderr,
      'Line 1: the order is open, but animal 54 has the open order 54\nNothing was imported.\n',
    )
    assert.equal(await recordOf('order', 55), undefined)
  })
})
