import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPets } from '../../src/pets/storedPets.ts'
import { assertSameExport, cliOn } from '../support/commands.ts'
import { databaseFor, inDatabase } from '../support/engine.ts'
import { adminKey, makeAmpleKey, requestOk, servicesFor } from '../support/instances.ts'
import { runInProcess } from '../support/process.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { proxyFor } from '../support/tcpProxy.ts'

const petCount = 12_000
const writers = 6
/** The pets of a writer, which are far from each other. */
const petsOfWriter = 8
const exportCount = 4
const delayMs = 4

type Exported = {
  readonly pets: Map<number, { name: string; status: string }>
  readonly orders: Map<number, { petId: number; status: string; customer: unknown; note: string | null }>
}

function parse(text: string): Exported {
  const records = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const of = (wanted: string) =>
    new Map(records.filter(({ type }) => type === wanted).map((each) => [each.id, each]))
  return { pets: of('pet'), orders: of('order') }
}

const turnOf = (text: string | null | undefined): number => Number(/\d+$/.exec(text ?? '0')?.[0])

test('exports while writers run are each a state of the store at one point in time', async (t) => {
  const undo = reverseCleanup(t)
  const { databaseEnv, all, first } = await servicesFor(undo, {}, {}, 2)
  const key = await makeAmpleKey(first)
  await inDatabase(databaseEnv, async (database) => {
    const pets = Array.from({ length: petCount }, () => ({ name: 'turn 0', categoryId: 1n }))
    for (let from = 0; from < petCount; from += 2_000)
      await database.write((trx) => createPets(trx, pets.slice(from, from + 2_000), 1))
  })
  const call = async (n: number, method: string, path: string, body?: unknown) =>
    (await requestOk(all[n % all.length] as (typeof all)[number], method, path, body, key)).json

  let isOver = false
  /** Everything that was confirmed: the turn of each writer, and pets by id. */
  const turns: number[] = []
  const added = new Map<number, string>()

  /** Changes one pet after another, places and cancels an order, erases its customer, and adds a pet. */
  async function write(n: number): Promise<void> {
    for (let turn = 1; !isOver; turn++) {
      for (const id of chainOf(n)) await call(n, 'PATCH', `/v1/pets/${id}`, { name: `turn ${turn}` })
      const petId = 1 + n
      const customer = { name: `turn ${turn}` }
      const { id } = await call(n, 'POST', '/v1/store/orders', { petId, customer, note: `writer ${n}` })
      await call(n, 'DELETE', `/v1/store/orders/${id}/customer`)
      await call(n, 'PATCH', `/v1/pets/${erasedMarkerOf(n)}`, { name: `erased ${id}` })
      await call(n, 'PATCH', `/v1/store/orders/${id}`, { status: 'cancelled' })
      const name = `new ${n} ${turn}`
      added.set((await call(n, 'POST', '/v1/pets', { name, categoryId: 2 })).id, name)
      turns[n] = turn
    }
  }

  const writing = Promise.all(Array.from({ length: writers }, (_, n) => write(n)))
  const proxy = await proxyFor(undo, databaseEnv.DATABASE_URL as string)
  proxy.delay(delayMs)
  const env = { ...databaseEnv, DATABASE_URL: proxy.through(databaseEnv.DATABASE_URL as string) }
  const texts: string[] = []
  try {
    for (let number = 0; number < exportCount; number++) {
      const [turnsBefore, addedBefore] = [[...turns], new Map(added)]
      const { code, stdout, stderr } = await runInProcess(['export'], env)
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      texts.push(stdout)
      const exported = parse(stdout)
      assertOnePoint(exported)
      for (const [n, turn] of turnsBefore.entries())
        for (const id of chainOf(n)) assert.ok(turnOf(exported.pets.get(id)?.name) >= turn)
      for (const [id, name] of addedBefore) assert.equal(exported.pets.get(id)?.name, name)
      t.diagnostic(`export ${number + 1}: turns ${turnsBefore} to ${turns}`)
      assert.notDeepEqual(turnsBefore, turns, 'the writers were not idle')
    }
  } finally {
    isOver = true
    await writing
  }

  const copy = cliOn(await databaseFor(undo), { PETSTORE_ADMIN_KEY: adminKey })
  const last = texts.at(-1) as string
  await copy.ok(['import', '--with-keys'], last)
  assertSameExport(await copy.export(), last)
})

/** Alternately from the start and the end of the store: neither direction of reading is right by chance. */
const chainOf = (n: number): number[] =>
  Array.from({ length: petsOfWriter }, (_, place) => {
    const step = Math.floor(petCount / petsOfWriter / 2)
    return place % 2 ? petCount - place * step - n : 100 + place * step + n
  })
const erasedMarkerOf = (n: number) => petCount / 2 + n

/** What holds at every moment, because each writer waits for the response to each of its changes. */
function assertOnePoint({ pets, orders }: Exported): void {
  for (let n = 0; n < writers; n++) {
    const chain = chainOf(n).map((id) => turnOf(pets.get(id)?.name))
    const [newest = 0] = chain
    const changed = chain.filter((turn) => turn === newest).length
    const expected = chain.map((_, place) => (place < changed ? newest : newest - 1))
    assert.deepEqual(chain, expected, `the pets of writer ${n} are of one moment`)
  }
  for (const [id, { petId, status, customer }] of orders) {
    const isOpen = status === 'placed'
    const erased = turnOf(pets.get(erasedMarkerOf(petId - 1))?.name)
    if (isOpen) assert.equal(pets.get(petId)?.status, 'pending', `order ${id}`)
    if (id <= erased || !isOpen) assert.equal(customer, null, `the customer of order ${id} was erased`)
  }
  const open = [...orders.values()].filter(({ status }) => status === 'placed')
  const pending = [...pets.values()].filter(({ status }) => status === 'pending')
  assert.equal(pending.length, open.length, 'every pending pet has an open order')
}
