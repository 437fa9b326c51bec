import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pet } from '../../src/pets/pet.ts'
import { findPetForUpdate, updatePet } from '../../src/pets/queries.ts'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { jpeg } from '../support/images.ts'
import { amplePlan, assertError, nextPage } from '../support/responses.ts'

const { service, call, callersKey } = useCheckedCalls()

type Entry = { id: number; type: string; data: { id: unknown }; actor?: { keyId?: number; name?: string } }
const history = async (id: number, query = '', key = callersKey()): Promise<Entry[]> =>
  (await call('GET', `/v1/pets/${id}/history${query}`, { key })).json
const addPet = async (key = callersKey()): Promise<number> =>
  (await call('POST', '/v1/pets', { key, body: { name: 'Luna', categoryId: 3 } })).json.id

test('the history has every change of an animal, newest first, with who made it', async () => {
  const other = await service.makeKey({ ...amplePlan, name: 'Front desk' })
  const id = await addPet()
  await addPet()
  await call('PATCH', `/v1/pets/${id}/profile`, { key: other.key, body: { sex: 'male' } })
  const headers = { 'content-type': 'image/jpeg' }
  await call('POST', `/v1/pets/${id}/photos`, { body: await jpeg(32, 32), headers })
  const order = await call('POST', '/v1/store/orders', {
    key: other.key,
    body: { petId: id, customer: { name: 'Ada' } },
  })
  assert.equal(order.status, 201)
  await call('PATCH', `/v1/store/orders/${order.json.id}`, { body: { status: 'cancelled' } })
  const entries = await history(id)
  assert.deepEqual(
    entries.map(({ type, actor }) => [type, actor?.name]),
    [
      ['pet.updated', 'test'],
      ['order.cancelled', 'test'],
      ['pet.updated', 'Front desk'],
      ['order.placed', 'Front desk'],
      ['photo.added', 'test'],
      ['profile.updated', 'Front desk'],
      ['pet.created', 'test'],
    ],
  )
  assert.equal(entries[2]?.actor?.keyId, other.id)
  assert.ok(!JSON.stringify(entries).includes('Ada'))
})

test('the history has the entries of orders for keys with orders:read only', async () => {
  const id = await addPet()
  await call('POST', '/v1/store/orders', { body: { petId: id } })
  const writer = (await service.makeKey({ ...amplePlan, scopes: ['pets:write'] })).key
  assert.deepEqual(
    (await history(id, '', writer)).map(({ type }) => type),
    ['pet.updated', 'pet.created'],
  )
  const reader = (await service.makeKey({ ...amplePlan, scopes: ['pets:read', 'orders:read'] })).key
  assertError(await call('GET', `/v1/pets/${id}/history`, { key: reader }), 403, 'insufficient_scope')
})

test('the history is paged, outlives the animal, and is 404 without one', async () => {
  const id = await addPet()
  for (const name of ['a', 'b', 'c']) await call('PATCH', `/v1/pets/${id}`, { body: { name } })
  await call('DELETE', `/v1/pets/${id}`)
  const types: string[] = []
  for (let path: string | undefined = `/v1/pets/${id}/history?limit=2`; path !== undefined; ) {
    const response = await call('GET', path)
    types.push(...response.json.map(({ type }: Entry) => type))
    path = nextPage(response)
  }
  assert.deepEqual(types, ['pet.deleted', 'pet.updated', 'pet.updated', 'pet.updated', 'pet.created'])
  assertError(await call('GET', '/v1/pets/999999/history'), 404, 'pet_not_found')
})

test('a cursor of the history of another animal is rejected', async () => {
  const [id, other] = [await addPet(), await addPet()]
  for (const each of [id, other]) await call('PATCH', `/v1/pets/${each}`, { body: { name: 'Nova' } })
  const next = String(nextPage(await call('GET', `/v1/pets/${id}/history?limit=1`)))
  assert.equal((await call('GET', next)).status, 200)
  assertError(await call('GET', next.replace(`/${id}/`, `/${other}/`)), 400, 'invalid_cursor')
})

test('the history has changes of earlier versions, which did not record who made them', async () => {
  const id = await addPet()
  const database = await service.openDatabase()
  await database.write(async (trx) => {
    const pet = (await findPetForUpdate(trx, BigInt(id))) as Pet
    await updatePet(trx, pet, { name: 'Nova' }, service.now())
  })
  const [entry] = await history(id)
  assert.deepEqual([entry?.type, entry?.actor], ['pet.updated', undefined])
})

test('events do not show who made a change', async () => {
  await addPet()
  const { json } = await call('GET', '/v1/events?limit=1', { key: service.operatorKey })
  assert.deepEqual(Object.keys(json[0]), ['id', 'type', 'createdAt', 'data'])
})
