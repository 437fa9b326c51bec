import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { idsOf as ids, useCategories } from '../support/categoryCalls.ts'
import type { ClientResponse } from '../support/client.ts'
import { cliOnNewDatabase } from '../support/commands.ts'
import { assertError, nextPage } from '../support/responses.ts'

const int64Max = '9223372036854775807'
const int64Min = '-9223372036854775808'

const { call, withOwn, addNamed, addPetOf } = useCategories()

test('createCategory returns the complete category with Location', async () => {
  const added = await call('POST', '/v1/categories', { body: { name: 'Rabbits' } })
  assert.equal(added.status, 201)
  const { id } = added.json
  assert.ok(Number.isSafeInteger(id) && id >= 1)
  assert.equal(added.text, `{"id":${id},"name":"Rabbits"}`)
  assert.equal(added.headers.location, `/v1/categories/${id}`)
  const found = await call('GET', String(added.headers.location))
  assert.equal(found.status, 200)
  assert.equal(found.text, added.text)
  assert.equal((await call('HEAD', String(added.headers.location))).status, 200)
})

test('updateCategory changes the name and keeps fields that are left out', async () => {
  const { id } = await addNamed('Bird')
  const path = `/v1/categories/${id}`
  for (const [body, name] of [
    [{ name: 'Birds' }, 'Birds'],
    [{}, 'Birds'],
    [{ id: 7, colour: 'red' }, 'Birds'],
    [{ name: 'Birds' }, 'Birds'],
  ] as const) {
    const changed = await call('PATCH', path, { body })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(changed.json, { id, name })
    assert.deepEqual((await call('GET', path)).json, { id, name })
  }
})

test('null removes the name, and a name can be set again', async () => {
  const { id } = await addNamed('Fish')
  const path = `/v1/categories/${id}`
  const nameless = await call('PATCH', path, { body: { name: null } })
  assert.equal(nameless.text, `{"id":${id}}`)
  assert.equal((await call('GET', path)).text, `{"id":${id}}`)
  assert.deepEqual((await call('PATCH', path, { body: { name: 'Fishes' } })).json, { id, name: 'Fishes' })
})

test('a category that no pet uses can be removed once', async () => {
  const { id } = await addNamed('Snakes')
  const path = `/v1/categories/${id}`
  assert.equal((await call('DELETE', path)).status, 204)
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { body: { name: 'Snakes' } } : {}
    assertError(await call(method, path, body), 404, 'category_not_found')
  }
})

for (const [what, id] of [
  ['the largest int64', int64Max],
  ['the smallest int64', int64Min],
  ['2^53 + 1', '9007199254740993'],
  ['-(2^53 + 1)', '-9007199254740993'],
  ['zero', '0'],
  ['minus one', '-1'],
] as const) {
  test(`${what} is a valid and exact category id`, async () => {
    const path = `/v1/categories/${id}`
    assertError(await call('GET', path), 404, 'category_not_found')
    const pet = await addPetOf(id)
    assert.equal((await call('GET', path)).text, `{"id":${id}}`, 'adding the pet created it without a name')
    const named = `{"id":${id},"name":"Named"}`
    assert.equal((await call('PATCH', path, { body: { name: 'Named' } })).text, named)
    assert.equal((await call('GET', path)).text, named)
    assertError(await call('DELETE', path), 409, 'category_in_use')
    assert.equal((await call('DELETE', `/v1/pets/${pet.id}`)).status, 204)
    assert.equal((await call('GET', path)).text, named, 'it remains after its last pet is removed')
    assert.equal((await call('DELETE', path)).status, 204)
    assertError(await call('GET', path), 404, 'category_not_found')
  })
}

test('moving a pet to an unknown category creates the category', async () => {
  const pet = await addPetOf(500)
  assert.equal((await call('PATCH', `/v1/pets/${pet.id}`, { body: { categoryId: 501 } })).status, 200)
  assert.equal((await call('GET', '/v1/categories/501')).text, '{"id":501}')
  assert.equal((await call('DELETE', '/v1/categories/500')).status, 204, 'no pet uses the old category')
  assertError(await call('DELETE', '/v1/categories/501'), 409, 'category_in_use')
  assert.equal((await call('GET', '/v1/categories/501')).status, 200)
})

test('adding a pet does not change the name of its category', async () => {
  const { id } = await addNamed('Cats')
  await addPetOf(id)
  assert.deepEqual((await call('GET', `/v1/categories/${id}`)).json, { id, name: 'Cats' })
})

test('a rejected pet does not create a category', async () => {
  const rejected = await call('POST', '/v1/pets', { body: { name: '', categoryId: 777_777 } })
  assert.equal(rejected.status, 400)
  assertError(await call('GET', '/v1/categories/777777'), 404, 'category_not_found')
})

test('the service assigns ids from 1, skips ids that pets introduced, and never reuses one', () =>
  withOwn(async (own, send) => {
    for (const id of [2, 3, 5, -4, 0, int64Max]) await addPetOf(id, send)
    const picked: number[] = []
    for (const name of ['a', 'b', 'c']) picked.push((await addNamed(name, send)).id)
    assert.deepEqual(picked, [1, 4, 6])
    for (const id of [6, 4]) assert.equal((await send('DELETE', `/v1/categories/${id}`)).status, 204)
    assert.equal((await addNamed('d', send)).id, 7, 'removed ids are not assigned again')
    await own.restart()
    assert.equal((await send('DELETE', '/v1/categories/7')).status, 204)
    assert.equal((await addNamed('e', send)).id, 8, 'not even after a restart')
    const rejected = await send('POST', '/v1/categories', { body: { name: '' } })
    assert.equal(rejected.status, 400)
    assert.equal((await addNamed('f', send)).id, 9, 'a rejected request uses no id')
  }))

test('the next free id is found after a long run of used ids', () =>
  withOwn(async (own, send) => {
    const { write } = await own.openDatabase()
    const used = Array.from({ length: 1_200 }, (_, index) => ({ category_id: BigInt(index + 1) }))
    await write((trx) => trx.insertInto('categories').values(used).execute())
    assert.equal((await addNamed('behind', send)).id, 1_201)
  }))

test('categories that are added simultaneously get different ids', async () => {
  const added = await Promise.all(Array.from({ length: 30 }, (_, index) => addNamed(`at once ${index}`)))
  assert.equal(new Set(added.map(({ id }) => id)).size, 30)
})

test('a retry with the same Idempotency-Key adds one category', async () => {
  const send = () =>
    call('POST', '/v1/categories', { body: { name: 'Once' }, headers: { 'idempotency-key': 'category' } })
  const [first, again] = [await send(), await send()]
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(again.text, first.text)
})

test('pages return all categories in order of id, named or not', () =>
  withOwn(async (_own, send) => {
    const inOrder = [int64Min, '-9007199254740993', '-1', '0', '3', '9007199254740993', int64Max]
    for (const id of inOrder.toReversed()) await addPetOf(id, send)
    await addNamed('Named', send)
    inOrder.splice(4, 0, '1')
    for (const limit of [1, 2, 3, 7, 8, 9]) {
      const seen: string[] = []
      let pages = 0
      let next: string | undefined = `/v1/categories?limit=${limit}`
      while (next !== undefined) {
        const page: ClientResponse = await send('GET', next)
        assert.equal(page.status, 200, page.text)
        assert.ok(page.json.length <= limit)
        seen.push(...[...page.text.matchAll(/"id":(-?\d+)/g)].map((match) => match[1] as string))
        next = nextPage(page)
        pages++
      }
      assert.deepEqual(seen, inOrder)
      assert.equal(
        pages,
        Math.ceil(inOrder.length / limit),
        'Link is present exactly if there is a next page',
      )
    }
    assert.match((await send('GET', '/v1/categories')).text, /\{"id":1,"name":"Named"\}/)
  }))

test('a traversal returns every category that exists throughout exactly once during concurrent changes', () =>
  withOwn(async (_own, send) => {
    for (let n = 0; n < 9; n++) await addNamed(`c${n}`, send)
    const first = await send('GET', '/v1/categories?limit=3')
    assert.deepEqual(ids(first), [1, 2, 3])
    for (const id of [2, 3, 5]) await send('DELETE', `/v1/categories/${id}`)
    await addPetOf(-7, send)
    await addNamed('late', send)
    const second = await send('GET', String(nextPage(first)))
    assert.deepEqual(ids(second), [4, 6, 7])
    assert.deepEqual(ids(await send('GET', String(nextPage(second)))), [8, 9, 10])
  }))

test('a category is renamed or removed with If-Match only in the state that its ETag names', async () => {
  const added = await call('POST', '/v1/categories', { body: { name: 'Hamsters' } })
  const path = String(added.headers.location)
  const first = String(added.headers.etag)
  assert.match(first, /^"[^"]+"$/)
  assert.equal((await call('GET', path)).headers.etag, first)
  const rename = (name: string, etag: string) =>
    call('PATCH', path, { body: { name }, headers: { 'if-match': etag } })
  const renamed = await rename('Rodents', first)
  assert.equal(renamed.status, 200)
  const second = String(renamed.headers.etag)
  assert.notEqual(second, first)
  assertError(await rename('Mice', first), 412, 'precondition_failed')
  assertError(await call('DELETE', path, { headers: { 'if-match': first } }), 412, 'precondition_failed')
  assert.equal((await call('GET', path)).json.name, 'Rodents')
  assert.equal((await call('DELETE', path, { headers: { 'if-match': second } })).status, 204)
})

test('exactly one of several simultaneous new names with the same If-Match succeeds', async () => {
  const added = await call('POST', '/v1/categories', { body: { name: 'Fish' } })
  const headers = { 'if-match': String(added.headers.etag) }
  const results = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      call('PATCH', String(added.headers.location), { body: { name: `Fish ${index}` }, headers }),
    ),
  )
  const statuses = results.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, 412, 412, 412, 412, 412, 412, 412])
})

describe('a name that another category has', () => {
  const inUse = async (sent: Promise<ClientResponse>) => assertError(await sent, 409, 'category_name_in_use')
  const create = (name: string) => call('POST', '/v1/categories', { body: { name } })
  const rename = (id: number, name: string | null, headers = {}) =>
    call('PATCH', `/v1/categories/${id}`, { body: { name }, headers })

  for (const [name, ...others] of [
    ['Ferrets', 'Ferrets', 'ferrets', 'FERRETS'],
    ['Vögel', 'VÖGEL', 'VO\u0308GEL', 'vögel'],
    ['Straßenkatzen', 'STRASSENKATZEN'],
    ['ΣΑΎΡΟΣ', 'σαύρος', 'σαύροσ'],
    ['İguana', 'i\u0307guana'],
    ['Кролики', 'КРОЛИКИ'],
  ] as const) {
    test(`is rejected if it differs only in case: ${name}`, async () => {
      const { id } = await addNamed(name)
      const { id: other } = await addNamed(`Not ${name}`)
      for (const same of others) {
        await inUse(create(same))
        await inUse(rename(other, same))
      }
      assert.equal((await call('GET', `/v1/categories/${other}`)).json.name, `Not ${name}`)
      assert.match((await create(name)).json.message, new RegExp(`Category ${id} has the name "${name}"`))
    })
  }

  test('is not that of the category itself, nor one with other letters', async () => {
    const { id } = await addNamed('Geese')
    for (const name of ['GEESE', 'Geese', 'Geese']) assert.equal((await rename(id, name)).json.name, name)
    for (const name of ['Geesé', 'Geese ', 'Gees']) assert.equal((await create(name)).status, 201)
  })

  test('is free again when the category is renamed or removed', async () => {
    const { id } = await addNamed('Goats')
    await rename(id, null)
    const { id: second } = await addNamed('goats')
    await inUse(rename(id, 'GOATS'))
    await call('DELETE', `/v1/categories/${second}`)
    assert.equal((await rename(id, 'GOATS')).status, 200)
  })

  test('does not replace the checks before it, and a repeated request gets the same response', async () => {
    const { id } = await addNamed('Ducks')
    const { id: other } = await addNamed('Swans')
    assertError(await rename(other, 'ducks', { 'if-match': '"other"' }), 412, 'precondition_failed')
    assertError(await rename(999_999_999, 'ducks'), 404, 'category_not_found')
    const send = () =>
      call('POST', '/v1/categories', { body: { name: 'DUCKS' }, headers: { 'idempotency-key': 'ducks' } })
    await inUse(send())
    await call('DELETE', `/v1/categories/${id}`)
    await inUse(send())
  })

  test('is found among thousands of categories', () =>
    withOwn(async (own, send) => {
      const { write } = await own.openDatabase()
      const rows = Array.from({ length: 2_500 }, (_, index) => ({
        category_id: BigInt(index - 1_000),
        name: `Kind ${index}`,
      }))
      await write((trx) => trx.insertInto('categories').values(rows).execute())
      for (const name of ['KIND 0', 'kind 999', 'kind 1000', 'kind 2499'])
        assertError(await send('POST', '/v1/categories', { body: { name } }), 409, 'category_name_in_use')
      assert.equal((await send('POST', '/v1/categories', { body: { name: 'kind 2500' } })).status, 201)
    }))

  test('is given to exactly one of several simultaneous requests', async () => {
    const others = await Promise.all(Array.from({ length: 6 }, (_, index) => addNamed(`Race ${index}`)))
    const spellings = ['owls', 'Owls', 'OWLS', 'oWls', 'owLs', 'owlS']
    const responses = await Promise.all([
      ...spellings.map((name) => create(name)),
      ...spellings.map((name, index) => rename(others[index].id, name)),
    ])
    const done = responses.filter(({ status }) => status < 300)
    assert.equal(done.length, 1)
    for (const response of responses)
      if (response !== done[0]) assertError(response, 409, 'category_name_in_use')
    const all = await call('GET', '/v1/categories?limit=100')
    const owls = all.json.filter(({ name }: { name?: string }) => name?.toLowerCase() === 'owls')
    assert.deepEqual(owls, [done[0]?.json])
  })

  test('is kept by an import and an export', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const records = ['Cats', 'CATS', 'Cats'].map((name, index) => ({ type: 'category', id: index + 1, name }))
    const text = records.map((record) => JSON.stringify(record)).join('\n')
    await cli.ok(['import'], text)
    const exported = await cli.export()
    for (const line of text.split('\n')) assert.ok(exported.includes(line), line)
    const other = await cliOnNewDatabase(t)
    await other.ok(['import', '--with-keys'], exported)
    assert.deepEqual(
      (await other.export()).split('\n').filter((line) => line.includes('"category"')),
      text.split('\n'),
    )
  })
})
