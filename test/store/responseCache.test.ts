import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { useService } from '../support/useService.ts'

const service = useService({ PETSTORE_ADMIN_KEY: 'the-operator-key-of-the-response-cache' })
let key: string
before(async () => {
  key = service.operatorKey
})

const rounds = 6
const list = (query = '') => service.request('GET', `/v1/pets?limit=5${query}`, { key })
const add = async (name: string, categoryId = 1) =>
  (await service.request('POST', '/v1/pets', { key, body: { name, categoryId } })).json as { id: number }
const namesOf = ({ json }: { json: { name: string }[] }) => json.map(({ name }) => name)

describe('a cached response is never returned after the data has changed', () => {
  test('a list, after an animal was added, changed and removed', async () => {
    for (let round = 0; round < rounds; round++) {
      await Promise.all([list(), list('&status=available')])
      const { id } = await add(`added ${round}`)
      for (const response of await Promise.all([list(), list('&status=available')]))
        assert.equal(namesOf(response)[0], `added ${round}`)
      await service.request('PATCH', `/v1/pets/${id}`, { key, body: { name: `changed ${round}` } })
      assert.equal(namesOf(await list())[0], `changed ${round}`)
      await service.request('DELETE', `/v1/pets/${id}`, { key })
      assert.notEqual(namesOf(await list())[0], `changed ${round}`)
    }
  })

  test('during continuous reads', async () => {
    let isOver = false
    const readers = Array.from({ length: 4 }, async () => {
      while (!isOver) assert.equal((await list()).status, 200)
    })
    try {
      for (let round = 0; round < rounds; round++) {
        await add(`busy ${round}`)
        assert.equal(namesOf(await list())[0], `busy ${round}`)
      }
    } finally {
      isOver = true
      await Promise.all(readers)
    }
  })

  test('one animal, its category and the inventory', async () => {
    const { id } = await add('one', 77)
    const pet = () => service.request('GET', `/v1/pets/${id}`, { key })
    const category = () => service.request('GET', '/v1/categories/77', { key })
    const pending = async () =>
      (await service.request('GET', '/v1/store/inventory', { key })).json.pending as number
    assert.equal((await pet()).json.status, 'available')
    const before = await pending()
    assert.equal((await category()).json.name, undefined)
    await service.request('PATCH', `/v1/pets/${id}`, { key, body: { status: 'pending' } })
    assert.equal((await pet()).json.status, 'pending')
    assert.equal(await pending(), before + 1)
    await service.request('PATCH', '/v1/categories/77', { key, body: { name: 'Ones' } })
    assert.equal((await category()).json.name, 'Ones')
    await service.request('DELETE', `/v1/pets/${id}`, { key })
    assert.equal((await pet()).status, 404)
  })

  test('one pet, changed in any way, with any notation of its path', async () => {
    const statusAt = async (path: string) => {
      const { status, json } = await service.request('GET', path, { key })
      return status === 200 ? json.status : status
    }
    for (let round = 0; round < rounds; round++) {
      const { id } = await add(`wanted ${round}`)
      const ways = [
        `/v1/pets/${id}`,
        `/v1/pets/${id}?x=1`,
        `/v1/pets/%${String(id).charCodeAt(0).toString(16)}${String(id).slice(1)}`,
      ]
      const isEverywhere = async (expected: unknown) => {
        for (const way of [...ways, ...ways]) assert.equal(await statusAt(way), expected, way)
      }
      await isEverywhere('available')
      // A rejected request changes nothing, also not for the others of the same commit.
      const body = { petId: id }
      const orders = await Promise.all(
        Array.from({ length: 3 }, () => service.request('POST', '/v1/store/orders', { key, body })),
      )
      await isEverywhere('pending')
      const placed = orders.find(({ status }) => status === 201)?.json as { id: number }
      await service.request('PATCH', `/v1/store/orders/${placed.id}`, { key, body: { status: 'cancelled' } })
      await isEverywhere('available')
      await service.request('DELETE', `/v1/pets/${id}`, { key })
      await isEverywhere(404)
    }
  })

  test('one pet, during continuous reads', async () => {
    const { id } = await add('read without pause')
    const name = async () => (await service.request('GET', `/v1/pets/${id}`, { key })).json.name
    let isOver = false
    const readers = Array.from({ length: 4 }, async () => {
      let seen = -1
      while (!isOver) {
        // No client sees an older state after a newer one.
        const round = Number((await name()).split(' ')[1])
        assert.ok(!(round < seen), `${round} after ${seen}`)
        if (round > seen) seen = round
      }
    })
    try {
      for (let round = 0; round < 4 * rounds; round++) {
        await service.request('PATCH', `/v1/pets/${id}`, { key, body: { name: `name ${round}` } })
        assert.equal(await name(), `name ${round}`)
      }
    } finally {
      isOver = true
      await Promise.all(readers)
    }
  })

  test('what another process has changed', async () => {
    const database = await service.openDatabase()
    for (let round = 0; round < rounds; round++) {
      const { id } = await add(`ours ${round}`)
      const name = async () => (await service.request('GET', `/v1/pets/${id}`, { key })).json.name
      assert.equal(namesOf(await list())[0], `ours ${round}`)
      assert.equal(await name(), `ours ${round}`)
      await database.write(async (trx) => {
        await trx
          .updateTable('pets')
          .set({ name: `theirs ${round}` })
          .where('id', '=', id)
          .execute()
        const data = `{"id":${id},"name":"theirs ${round}","categoryId":1,"status":"available"}`
        const event = { type: 'pet.updated', created_at: service.now(), data, is_private: 0 }
        await trx.insertInto('events').values(event).execute()
      })
      assert.equal(namesOf(await list())[0], `theirs ${round}`)
      assert.equal(await name(), `theirs ${round}`)
    }
  })

  test('the ETag follows the content, and comes back with it', async () => {
    const { id } = await add('tagged')
    const tag = async () => String((await list()).headers.etag)
    const first = await tag()
    assert.equal(await tag(), first)
    await service.request('PATCH', `/v1/pets/${id}`, { key, body: { name: 'other' } })
    assert.notEqual(await tag(), first)
    await service.request('PATCH', `/v1/pets/${id}`, { key, body: { name: 'tagged' } })
    assert.equal(await tag(), first)
    const headers = { 'if-none-match': first }
    assert.equal((await service.request('GET', '/v1/pets?limit=5', { key, headers })).status, 304)
  })

  test('a key gets no response that its scopes do not allow', async () => {
    await list()
    const { key: other } = await service.makeKey({ scopes: ['orders:read'] })
    assert.equal((await service.request('GET', '/v1/pets?limit=5', { key: other })).status, 403)
  })
})
