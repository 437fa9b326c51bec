import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { allTracesDisappear, remainingTraces, uniqueCustomer } from '../support/customerData.ts'
import { type DatabaseEnv, databaseFor } from '../support/engine.ts'
import { type OrderClient, startOrderClient } from '../support/orderClient.ts'
import { serverFor } from '../support/servers.ts'

let client: OrderClient
before(async () => {
  client = await startOrderClient()
})
after(() => client.service.stop())

const erase = (orderId: number) => client.call('DELETE', `/v1/store/orders/${orderId}/customer`)

/** A reader with an open snapshot of the database. */
function startReading(env: DatabaseEnv): DatabaseSync {
  const reader = new DatabaseSync(databaseFile(env.PETSTORE_DATA_DIR), { readOnly: true })
  reader.exec('BEGIN; SELECT count(*) FROM orders')
  reader.prepare('SELECT count(*) FROM orders').get()
  return reader
}

test('a concurrent reader only delays the erasure', async () => {
  const person = uniqueCustomer()
  const { databaseEnv } = client.service
  const { id } = await client.place(await client.addPet(), { customer: person.customer, note: person.note })
  const reader = startReading(databaseEnv)
  try {
    assert.equal((await erase(id)).status, 204)
    // The snapshot of the reader still needs the old data.
    for (let n = 0; n < 5; n++) await client.place(await client.addPet())
    assert.notDeepEqual(await remainingTraces(person, databaseEnv), [])
  } finally {
    reader.close()
  }
  await allTracesDisappear(person, databaseEnv)
})

test('a shutdown during the erasure is clean', async () => {
  const own = await startOrderClient()
  const person = uniqueCustomer()
  let reader: DatabaseSync | undefined
  try {
    const { id } = await own.place(await own.addPet(), { customer: person.customer, note: person.note })
    reader = startReading(own.service.databaseEnv)
    assert.equal((await own.call('DELETE', `/v1/store/orders/${id}/customer`)).status, 204)
    await own.service.restart()
    reader.close()
    await allTracesDisappear(person, own.service.databaseEnv)
  } finally {
    if (reader?.isOpen) reader.close()
    await own.service.stop()
  }
})

test('a crash after the request delays the erasure until the next start', async (t) => {
  const databaseEnv = await databaseFor(t)
  const adminKey = 'the-admin-key-of-the-erasure-test'
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey }
  const person = uniqueCustomer()
  const first = await serverFor(t, env)
  const send = (method: string, path: string, body?: unknown) =>
    first.request(method, path, { key: adminKey, ...(body !== undefined && { body }) })
  const { json: pet } = await send('POST', '/v1/pets', { name: 'Milo', categoryId: 3 })
  const { customer, note } = person
  const { json: order } = await send('POST', '/v1/store/orders', { petId: pet.id, customer, note })
  const reader = startReading(databaseEnv)
  try {
    assert.equal((await send('DELETE', `/v1/store/orders/${order.id}/customer`)).status, 204)
    first.child.kill('SIGKILL')
    await first.ended
  } finally {
    reader.close()
  }
  assert.notDeepEqual(await remainingTraces(person, databaseEnv), [], 'the crash came in between')
  const second = await serverFor(t, env)
  await allTracesDisappear(person, databaseEnv)
  const { json } = await second.request('GET', `/v1/store/orders/${order.id}`, { key: adminKey })
  assert.equal(json.customer, undefined)
})
