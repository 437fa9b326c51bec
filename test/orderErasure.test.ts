import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { timestamp } from '../src/clock.ts'
import { databaseFile } from '../src/database/sqlite.ts'
import { assertRefused } from './support/answers.ts'
import { eventually } from './support/eventually.ts'
import { holdMs, type OrderStore, startOrderStore } from './support/orders.ts'
import { runPetstore } from './support/process.ts'
import { folderFor, serverFor } from './support/servers.ts'

const execute = promisify(execFile)

let store: OrderStore
before(async () => {
  store = await startOrderStore()
})
after(() => store.service.stop())

const searcher = `
  const { existsSync, readFileSync } = require('node:fs')
  const { files, traces } = JSON.parse(process.argv[1])
  const bytes = Buffer.concat(files.filter((file) => existsSync(file)).map((file) => readFileSync(file)))
  console.log(JSON.stringify(traces.filter((trace) => bytes.includes(trace))))
`

/**
 * Which of these can be found in the bytes of the store: in its file, or in the log of pages beside it. Another process
 * looks, for one that closes a file gives up the locks that SQLite has on it in the same process.
 */
async function foundInStore(traces: string[], dataDir: string): Promise<string[]> {
  const files = ['', '-wal', '-shm'].map((end) => `${databaseFile(dataDir)}${end}`)
  const { stdout } = await execute(process.execPath, ['-e', searcher, JSON.stringify({ files, traces })])
  return JSON.parse(stdout)
}

let persons = 0
/** Somebody whose traces can be told from everybody else's. */
function somebody(noteLength = 20) {
  const mark = `person-${++persons}-of-the-test`
  const customer = { name: `Name ${mark}`, email: `${mark}@example.com` }
  const note = `note-${mark} `.padEnd(noteLength, 'x')
  return { customer, note, traces: [customer.name, customer.email, `note-${mark}`] }
}
const tracesOf = ({ traces }: { traces: string[] }, dataDir: string) => foundInStore(traces, dataDir)
const allTracesGo = (person: { traces: string[] }, dataDir: string) =>
  eventually('all traces are gone', async () => (await tracesOf(person, dataDir)).length === 0)
const erase = (orderId: number) => store.call('DELETE', `/v1/store/orders/${orderId}/customer`)

for (const status of ['placed', 'approved', 'delivered', 'cancelled']) {
  test(`erasing takes customer and note from an order that is ${status}, and leaves the order`, async () => {
    const person = somebody()
    const petId = await store.addPet()
    const { id } = await store.place(petId, { customer: person.customer, note: person.note })
    if (status === 'delivered') await store.move(id, 'approved')
    if (status !== 'placed') await store.move(id, status)
    const { customer, note, ...rest } = await store.read(id)
    assert.deepEqual({ customer, note }, { customer: person.customer, note: person.note })
    const newest = await store.newestEventId()
    store.service.advance(1_000)
    assert.equal((await erase(id)).status, 204)
    const erased = { ...rest, updatedAt: timestamp(store.service.now()) }
    assert.deepEqual(await store.read(id), erased)
    assert.deepEqual((await store.call('GET', `/v1/store/orders?petId=${petId}`)).json, [erased])
    assert.equal((await erase(id)).status, 204, 'again changes nothing')
    assert.deepEqual(await store.eventsAfter(newest), [])
  })
}

test('an order goes on as before when its customer is erased', async () => {
  const petId = await store.addPet()
  const { id } = await store.place(petId, { customer: somebody().customer })
  await erase(id)
  assert.equal((await store.move(id, 'approved')).status, 200)
  assert.equal((await store.move(id, 'delivered')).status, 200)
  assert.equal(await store.petStatus(petId), 'sold')
  const other = await store.place(await store.addPet(), { customer: somebody().customer })
  await erase(other.id)
  store.service.advance(holdMs)
  await eventually('it lapses', async () => (await store.read(other.id)).cancelReason === 'hold_expired')
})

for (const [length, what] of [
  [20, 'a short note'],
  [1_000, 'a long note'],
] as const) {
  test(`of an erased customer with ${what} no byte is left in the store's files`, async () => {
    const { dataDir } = store.service
    const [person, neighbour] = [somebody(length), somebody(length)]
    const neighbours = await store.place(await store.addPet(), {
      customer: neighbour.customer,
      note: neighbour.note,
    })
    const petId = await store.addPet()
    const placed = await store.call('POST', '/v1/store/orders', {
      body: { petId, customer: person.customer, note: person.note },
      headers: { 'idempotency-key': `erasure-${length}` },
    })
    await store.move(placed.json.id, 'approved')
    assert.deepEqual(await tracesOf(person, dataDir), person.traces, 'this is where they are')
    assert.equal((await erase(placed.json.id)).status, 204)
    await allTracesGo(person, dataDir)
    assert.deepEqual(await tracesOf(neighbour, dataDir), neighbour.traces)
    assert.deepEqual((await store.read(neighbours.id)).customer, neighbour.customer)
  })
}

test('of a hundred customers who are erased in any order, no byte is left', async () => {
  const own = await startOrderStore()
  try {
    const orders = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const person = somebody((n * 37) % 1_000)
        const { customer, note } = person
        const placed = await own.call('POST', '/v1/store/orders', {
          body: { petId: await own.addPet(), customer, note },
          headers: n % 2 === 0 ? {} : { 'idempotency-key': `many-${n}` },
        })
        return { id: placed.json.id as number, person }
      }),
    )
    for (const { id } of orders) if (id % 3 === 0) await own.move(id, id % 2 === 0 ? 'approved' : 'cancelled')
    const byChance = orders.toSorted((a, b) => ((a.id * 61) % 101) - ((b.id * 61) % 101))
    for (const { id } of byChance) await own.call('DELETE', `/v1/store/orders/${id}/customer`)
    const traces = orders.flatMap(({ person }) => person.traces)
    await allTracesGo({ traces }, own.service.dataDir)
  } finally {
    await own.service.stop()
  }
})

test('a retry still gets the first answer, without the customer, and orders nothing anew', async () => {
  const { customer, note } = somebody()
  const petId = await store.addPet()
  const send = () =>
    store.call('POST', '/v1/store/orders', {
      body: { petId, customer, note },
      headers: { 'idempotency-key': 'retried' },
    })
  const first = await send()
  assert.equal(first.status, 201)
  assert.equal((await store.move(first.json.id, 'cancelled')).status, 200)
  await erase(first.json.id)
  const again = await send()
  assert.equal(again.status, 201, again.text)
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(again.headers.location, first.headers.location)
  const { customer: _customer, note: _note, ...rest } = first.json
  assert.deepEqual(again.json, rest)
  assert.equal(await store.petStatus(petId), 'available')
  assert.equal((await store.call('GET', `/v1/store/orders?petId=${petId}`)).json.length, 1)
})

test('an export has nothing of an erased customer, and all of the others', async () => {
  const [gone, kept] = [somebody(), somebody()]
  const { id } = await store.place(await store.addPet(), { customer: gone.customer, note: gone.note })
  await store.place(await store.addPet(), { customer: kept.customer, note: kept.note })
  await erase(id)
  const { stdout } = await runPetstore(['export'], { PETSTORE_DATA_DIR: store.service.dataDir })
  for (const trace of gone.traces) assert.ok(!stdout.includes(trace))
  for (const trace of kept.traces) assert.ok(stdout.includes(trace))
})

/** Somebody who reads the store as it is now, for as long as it takes. */
function startReading(dataDir: string): DatabaseSync {
  const reader = new DatabaseSync(databaseFile(dataDir), { readOnly: true })
  reader.exec('BEGIN; SELECT count(*) FROM orders')
  reader.prepare('SELECT count(*) FROM orders').get()
  return reader
}

test('who reads the store meanwhile only delays it', async () => {
  const person = somebody()
  const { dataDir } = store.service
  const { id } = await store.place(await store.addPet(), { customer: person.customer, note: person.note })
  const reader = startReading(dataDir)
  try {
    assert.equal((await erase(id)).status, 204)
    // The reader is still owed the store as it was, so the traces cannot be gone yet.
    for (let n = 0; n < 5; n++) await store.place(await store.addPet())
    assert.notDeepEqual(await tracesOf(person, dataDir), [])
  } finally {
    reader.close()
  }
  await allTracesGo(person, dataDir)
})

test('a stop in the middle of it is a clean stop', async () => {
  const own = await startOrderStore()
  const person = somebody()
  let reader: DatabaseSync | undefined
  try {
    const { id } = await own.place(await own.addPet(), { customer: person.customer, note: person.note })
    reader = startReading(own.service.dataDir)
    assert.equal((await own.call('DELETE', `/v1/store/orders/${id}/customer`)).status, 204)
    await own.service.restart()
    reader.close()
    await allTracesGo(person, own.service.dataDir)
  } finally {
    if (reader?.isOpen) reader.close()
    await own.service.stop()
  }
})

test('a crash right after it delays it to the next start', async (t) => {
  const dataDir = folderFor(t)
  const adminKey = 'the-admin-key-of-the-erasure-test'
  const env = { PETSTORE_DATA_DIR: dataDir, PETSTORE_ADMIN_KEY: adminKey }
  const person = somebody()
  const first = await serverFor(t, env)
  const send = (method: string, path: string, body?: unknown) =>
    first.request(method, path, { key: adminKey, ...(body !== undefined && { body }) })
  const { json: pet } = await send('POST', '/v1/pets', { name: 'Milo', categoryId: 3 })
  const { customer, note } = person
  const { json: order } = await send('POST', '/v1/store/orders', { petId: pet.id, customer, note })
  const reader = startReading(dataDir)
  try {
    assert.equal((await send('DELETE', `/v1/store/orders/${order.id}/customer`)).status, 204)
    first.child.kill('SIGKILL')
    await first.ended
  } finally {
    reader.close()
  }
  assert.notDeepEqual(await tracesOf(person, dataDir), [], 'the crash came in between')
  const second = await serverFor(t, env)
  await allTracesGo(person, dataDir)
  const { json } = await second.request('GET', `/v1/store/orders/${order.id}`, { key: adminKey })
  assert.equal(json.customer, undefined)
})

test('the customer of an order that is not there cannot be erased', async () => {
  assertRefused(await erase(999_999), 404, 'order_not_found')
})
