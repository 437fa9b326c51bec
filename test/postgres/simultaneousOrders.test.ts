import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expireDueHolds } from '../../src/orders/queries.ts'
import { databaseFor, openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { clientFor, untilWaiting } from '../support/lockWaiters.ts'
import { amplePlan, assertError } from '../support/responses.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { startTestService } from '../support/service.ts'
import { proxyFor } from '../support/tcpProxy.ts'

/** A setting of the connections that read. */
const readSetting = 'SET statement_timeout = 2500'
const orders = 100

test('orders that wait for one animal share a check: it takes a few reads, not one for each', async (t) => {
  const env = await databaseFor(t)
  const proxy = await proxyFor(t, env.DATABASE_URL as string)
  const readRoundTrips = proxy.countRoundTrips(readSetting)
  const service = await startTestService({
    ...env,
    DATABASE_URL: proxy.through(env.DATABASE_URL as string),
    PETSTORE_DATABASE_POOL: '1',
  })
  t.after(() => service.stop())
  const { key } = await service.makeKey(amplePlan)
  const pet = await service.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } })
  const { id: petId } = pet.json
  const order = () => service.request('POST', '/v1/store/orders', { key, body: { petId } })
  const writesWaiting = async () => {
    const { text } = await service.request('GET', '/metrics', { key: service.operatorKey })
    return Number(/^petstore_writes_waiting (\d+)$/m.exec(text)?.[1])
  }
  const holder = await clientFor(t, env)
  // A transaction sees the activity of the others as it was at first.
  const observer = await clientFor(t, env)
  await holder.query('BEGIN')
  await holder.query('SELECT 1 FROM pets WHERE id = $1 FOR UPDATE', [petId])
  const responses = [order()]
  await untilWaiting(observer)
  while (responses.length < orders) responses.push(order())
  // All but the first, which has the only connection.
  await eventually('the others wait', async () => (await writesWaiting()) === orders - 1)
  const before = readRoundTrips()
  await holder.query('ROLLBACK')
  const [first, ...others] = await Promise.all(responses)
  assert.equal(first?.status, 201)
  for (const response of others) assertError(response, 409, 'pet_unavailable')
  const reads = readRoundTrips() - before
  // Background work reads as well.
  assert.ok(reads < orders / 4, `${reads} reads`)
})

test('an expired hold is skipped, and not counted, while another transaction has locked its animal', async (t) => {
  const undo = reverseCleanup(t)
  const { env, database } = await openDatabaseFor(undo)
  const other = await clientFor(undo, env)
  await other.query("INSERT INTO categories (category_id, name) VALUES (1, 'Cats')")
  await other.query("INSERT INTO pets (id, name, category_id, status) VALUES (1, 'Milo', 1, 'pending')")
  await other.query(`
    INSERT INTO orders (id, pet_id, status, placed_at, updated_at, hold_expires_at)
    VALUES (1, 1, 'placed', 0, 0, 1)`)
  await other.query('BEGIN')
  await other.query('SELECT 1 FROM pets WHERE id = 1 FOR UPDATE')
  const expire = () => database.write((trx) => expireDueHolds(trx, 1))
  assert.equal(await expire(), 0)
  await other.query('COMMIT')
  assert.equal(await expire(), 1)
})
