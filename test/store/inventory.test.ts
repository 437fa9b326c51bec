import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import type { Database } from '../../src/database/database.ts'
import { petStatuses } from '../../src/pets/pet.ts'
import type { Client } from '../support/client.ts'
import { cliOn } from '../support/commands.ts'
import { inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { amplePlan, assertError, assertResponseHeaders } from '../support/responses.ts'
import { serviceFor } from '../support/service.ts'
import { useService } from '../support/useService.ts'

type Counts = { available: number; pending: number; sold: number }

const service = useService()
let key: string
before(async () => {
  key = (await service.makeKey(amplePlan)).key
})

async function inventory(at: Pick<Client, 'request'>, withKey: string | undefined): Promise<Counts> {
  const response = await at.request('GET', '/v1/store/inventory', { key: withKey })
  assertResponseHeaders(response, 'GET')
  assert.equal(response.status, 200, response.text)
  assert.equal(response.headers['x-stability'], 'beta')
  assert.deepEqual(Object.keys(response.json), ['available', 'pending', 'sold'])
  return response.json
}

/** The pets in the database, counted row by row. */
async function counted({ read }: Database): Promise<Counts> {
  const rows = await read
    .selectFrom('pets')
    .select((eb) => ['status', eb.fn.countAll().as('n')])
    .groupBy('status')
    .execute()
  const counts = new Map(rows.map(({ status, n }) => [status, Number(n)]))
  return Object.fromEntries(petStatuses.map((status) => [status, counts.get(status) ?? 0])) as Counts
}

/** An expired hold may be processed between two reads, so both counts must agree eventually. */
const assertRight = (at: Pick<Client, 'request'>, withKey: string | undefined, database: Database) =>
  eventually('the counts agree', async () => {
    const [first, shown, second] = [
      await counted(database),
      await inventory(at, withKey),
      await counted(database),
    ]
    if (JSON.stringify(first) !== JSON.stringify(second)) return undefined
    assert.deepEqual(shown, first)
    return first
  })

test('an empty database has zero pets of each status', async () => {
  assert.deepEqual(await inventory(service, key), { available: 0, pending: 0, sold: 0 })
})

test('the inventory requires pets:read, and every response is marked as beta', async () => {
  const { key: reader } = await service.makeKey({ ...amplePlan, scopes: ['pets:read'] })
  const { key: other } = await service.makeKey({ ...amplePlan, scopes: ['orders:read', 'categories:read'] })
  await inventory(service, reader)
  const rejected = await service.request('GET', '/v1/store/inventory', { key: other })
  assertError(rejected, 403, 'insufficient_scope')
  const anonymous = await service.request('GET', '/v1/store/inventory')
  assertError(anonymous, 401, 'missing_api_key')
  for (const response of [rejected, anonymous]) assert.equal(response.headers['x-stability'], 'beta')
  assertError(await service.request('POST', '/v1/store/inventory', { key }), 405, 'method_not_allowed')
})

type Choice = { what: string; pick: number; status: string; orderStatus: string }
const choice: fc.Arbitrary<Choice> = fc.record({
  what: fc.constantFrom(
    'add',
    'add',
    'add',
    'change',
    'change',
    'remove',
    'order',
    'order',
    'move',
    'expire holds',
  ),
  pick: fc.nat(),
  // Only an available pet can be ordered.
  status: fc.constantFrom('available', 'available', ...petStatuses),
  orderStatus: fc.constantFrom('approved', 'delivered', 'cancelled'),
})

/** One random request, which may be rejected. */
async function sendRandomRequest(
  { what, pick, status, orderStatus }: Choice,
  pets: number[],
  orders: number[],
) {
  const pet = pets[pick % pets.length] ?? 1
  const order = orders[pick % orders.length] ?? 1
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await service.request(method, path, { key, ...(body !== undefined && { body }) })
    assert.ok(response.status < 500, response.text)
    return response
  }
  if (what === 'add')
    pets.push((await send('POST', '/v1/pets', { name: 'A', categoryId: 1, status })).json.id)
  if (what === 'change') await send('PATCH', `/v1/pets/${pet}`, { status })
  if (what === 'remove') await send('DELETE', `/v1/pets/${pet}`)
  if (what === 'order') {
    const placed = await send('POST', '/v1/store/orders', { petId: pet })
    if (placed.status === 201) orders.push(placed.json.id)
  }
  if (what === 'move') await send('PATCH', `/v1/store/orders/${order}`, { status: orderStatus })
  if (what === 'expire holds') service.advance(10 * 60 * 60 * 1000)
}

test('the inventory equals the number of pets after any sequential and simultaneous operations', async () => {
  const pets: number[] = []
  const orders: number[] = []
  const database = await service.openDatabase()
  await fc.assert(
    fc.asyncProperty(
      fc.array(choice, { minLength: 20, maxLength: 20 }),
      fc.boolean(),
      async (all, atOnce) => {
        if (atOnce) await Promise.all(all.map((each) => sendRandomRequest(each, pets, orders)))
        else for (const each of all) await sendRandomRequest(each, pets, orders)
        await assertRight(service, key, database)
      },
    ),
    { numRuns: 15, endOnFailure: true },
  )
  assert.ok(pets.length > 30 && orders.length > 5, `${pets.length} pets, ${orders.length} orders`)
})

test('the inventory is correct after any SQL statement by any writer', async () => {
  const database = await service.openDatabase()
  for (const statement of [
    'INSERT INTO categories (category_id) VALUES (4242) ON CONFLICT DO NOTHING',
    "INSERT INTO pets (name, category_id, status) SELECT 'x', 4242, 'sold' FROM pets LIMIT 30",
    "UPDATE pets SET status = 'pending' WHERE category_id = 4242 AND id % 2 = 0",
    "UPDATE pets SET name = 'y', status = status WHERE category_id = 4242",
    "INSERT INTO pets (id, name, category_id, status) SELECT id, 'z', 4242, 'available' FROM pets WHERE category_id = 4242 ON CONFLICT (id) DO UPDATE SET status = excluded.status",
    'DELETE FROM pets WHERE category_id = 4242 AND id % 3 = 0',
  ]) {
    await database.write((trx) => sql.raw(statement).execute(trx))
    await assertRight(service, key, database)
  }
  const undone = database.write(async (trx) => {
    await trx.updateTable('pets').set({ status: 'sold' }).execute()
    throw new Error('No, rather not.')
  })
  await assert.rejects(undone, /rather not/)
  await assertRight(service, key, database)
})

test('seed, import and export keep the inventory correct, also with a running server', async (t) => {
  const server = await serviceFor(t)
  const { databaseEnv, operatorKey } = server
  const cli = cliOn(databaseEnv)
  const right = () => inDatabase(databaseEnv, (database) => assertRight(server, operatorKey, database))
  await cli.ok(['seed', '--count', '730'])
  assert.deepEqual(await right(), { available: 511, pending: 146, sold: 73 })

  const exported = await cli.export()
  const line = (id: number, status: string) => JSON.stringify({ id, name: 'Other', categoryId: 9, status })
  await cli.ok(['import'], [line(1, 'sold'), line(2, 'sold'), line(9_000, 'pending')].join('\n'))
  assert.deepEqual(await right(), { available: 509, pending: 147, sold: 75 })
  await cli.ok(['import', '--with-keys'], exported)
  assert.deepEqual(await right(), { available: 511, pending: 147, sold: 73 })
  for (const id of [1, 2, 3]) await server.request('DELETE', `/v1/pets/${id}`, { key: operatorKey })
  assert.deepEqual(await right(), { available: 508, pending: 147, sold: 73 })
})
