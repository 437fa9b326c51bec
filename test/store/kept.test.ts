import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let key: string
before(async () => {
  service = await startTestService({ PETSTORE_ADMIN_KEY: 'operator-of-the-kept-answers' })
  key = service.operatorKey
})
after(() => service.stop())

const rounds = 25
const list = (query = '') => service.request('GET', `/v1/pets?limit=5${query}`, { key })
const add = async (name: string, categoryId = 1) =>
  (await service.request('POST', '/v1/pets', { key, body: { name, categoryId } })).json as { id: number }
const namesOf = ({ json }: { json: { name: string }[] }) => json.map(({ name }) => name)

describe('an answer that is kept is never shown after it has become untrue', () => {
  test('a list, after an animal was added, changed and removed', async () => {
    for (let round = 0; round < rounds; round++) {
      await Promise.all([list(), list('&status=available')])
      const { id } = await add(`added ${round}`)
      for (const answer of await Promise.all([list(), list('&status=available')]))
        assert.equal(namesOf(answer)[0], `added ${round}`)
      await service.request('PATCH', `/v1/pets/${id}`, { key, body: { name: `changed ${round}` } })
      assert.equal(namesOf(await list())[0], `changed ${round}`)
      await service.request('DELETE', `/v1/pets/${id}`, { key })
      assert.notEqual(namesOf(await list())[0], `changed ${round}`)
    }
  })

  test('while others read without pause', async () => {
    let isOver = false
    const readers = Array.from({ length: 8 }, async () => {
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

  test('what another process has changed', async () => {
    const store = await service.store()
    for (let round = 0; round < rounds; round++) {
      const { id } = await add(`ours ${round}`)
      assert.equal(namesOf(await list())[0], `ours ${round}`)
      await store.write(async (trx) => {
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

  test('nobody gets what his key may not see', async () => {
    await list()
    const { key: other } = await service.makeKey({ scopes: ['orders:read'] })
    assert.equal((await service.request('GET', '/v1/pets?limit=5', { key: other })).status, 403)
  })
})
