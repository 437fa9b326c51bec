import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import type { ClientResponse } from '../support/client.ts'
import { assertError } from '../support/responses.ts'

const { call } = useCheckedCalls()

async function add(pet: Record<string, unknown> = {}): Promise<ClientResponse['json']> {
  const added = await call('POST', '/v1/pets', { body: { name: 'Milo', categoryId: 3, ...pet } })
  assert.equal(added.status, 201, added.text)
  return added.json
}

const read = async (id: number) => (await call('GET', `/v1/pets?id=${id}`)).json[0]

const int64Max = '9223372036854775807'
const int64Min = '-9223372036854775808'

// createPet

test('createPet returns the complete pet with Location and ETag', async () => {
  const added = await call('POST', '/v1/pets', { body: { name: 'Rex', categoryId: 7, status: 'pending' } })
  assert.equal(added.status, 201)
  const { id } = added.json
  assert.ok(Number.isSafeInteger(id) && id >= 1)
  assert.deepEqual(added.json, { id, name: 'Rex', categoryId: 7, status: 'pending' })
  assert.equal(added.headers.location, `/v1/pets/${id}`)
  assert.match(String(added.headers.etag), /^"[^"]+"$/)
  const found = await call('GET', String(added.headers.location))
  assert.equal(found.text, added.text)
  assert.equal(found.headers.etag, added.headers.etag)
})

test('ids increase and are never reused, even after the newest pet is removed', async () => {
  const first = await add()
  assert.equal((await call('DELETE', `/v1/pets/${first.id}`)).status, 204)
  assert.ok((await add()).id > first.id)
})

test('a name can have 255 characters of any kind', async () => {
  for (const name of ['🐕'.repeat(255), '  Ł"\\\u2028 \'']) {
    const { id } = await add({ name })
    assert.equal((await read(id)).name, name)
  }
})

test('the status defaults to available', async () => {
  assert.equal((await add()).status, 'available')
})

// listPets

test('the list is an array, newest first, with 20 pets per page by default', async () => {
  await Promise.all(Array.from({ length: 21 }, () => add()))
  const { json } = await call('GET', '/v1/pets')
  assert.equal(json.length, 20)
  const ids = json.map((pet: { id: number }) => pet.id)
  assert.deepEqual(
    ids,
    ids.toSorted((a: number, b: number) => b - a),
  )
  assert.equal((await call('GET', '/v1/pets?limit=1')).json.length, 1)
  assert.ok((await call('GET', '/v1/pets?limit=100')).json.length > 20)
})

test('every combination of filters returns exactly the pets that match all of them', async () => {
  const categories = ['1001', '1002', '9223372036854775800']
  const statuses = ['available', 'pending', 'sold']
  const made: { id: number; status: string; category: string }[] = []
  for (const category of categories) {
    for (const status of [...statuses, ...statuses]) {
      const body = `{"name":"F","categoryId":${category},"status":"${status}"}`
      made.push({ id: (await call('POST', '/v1/pets', { body })).json.id, status, category })
    }
  }
  const someIds = made.filter((_, index) => index % 2 === 0).map((pet) => pet.id)
  for (const category of [undefined, ...categories]) {
    for (const status of [undefined, ...statuses]) {
      for (const ids of [undefined, someIds]) {
        const query = new URLSearchParams([
          ['limit', '100'],
          ...(category === undefined ? [] : [['categoryId', category]]),
          ...(status === undefined ? [] : [['status', status]]),
          ...(ids ?? []).map((id) => ['id', String(id)]),
        ])
        const expected = made
          .filter((pet) => category === undefined || pet.category === category)
          .filter((pet) => status === undefined || pet.status === status)
          .filter((pet) => ids === undefined || ids.includes(pet.id))
          .map((pet) => pet.id)
          .reverse()
        const { json } = await call('GET', `/v1/pets?${query}`)
        const mine = json
          .map((pet: { id: number }) => pet.id)
          .filter((id: number) => made.some((pet) => pet.id === id))
        assert.deepEqual(mine, expected, String(query))
        if (category !== undefined || ids !== undefined) assert.equal(json.length, expected.length)
      }
    }
  }
})

test('up to 100 pets can be listed by id; unknown and repeated ids are ignored', async () => {
  const added = await Promise.all(Array.from({ length: 97 }, () => add()))
  const ids: number[] = added.map(({ id }) => id).sort((a, b) => a - b)
  const requested = [...ids, ids[0], int64Max, int64Min].map((id) => `id=${id}`)
  assert.equal(requested.length, 100)
  const { json } = await call('GET', `/v1/pets?limit=100&${requested.join('&')}`)
  assert.deepEqual(
    json.map((pet: { id: number }) => pet.id),
    ids.toReversed(),
  )
})

for (const categoryId of [
  int64Max,
  '9223372036854775806',
  int64Min,
  '-9223372036854775807',
  '9007199254740993',
]) {
  test(`categoryId ${categoryId} is exact in requests, filters and responses`, async () => {
    const name = `exact ${categoryId}`
    const added = await call('POST', '/v1/pets', { body: `{"name":"${name}","categoryId":${categoryId}}` })
    assert.equal(
      added.text,
      `{"id":${added.json.id},"name":"${name}","categoryId":${categoryId},"status":"available"}`,
    )
    const listed = await call('GET', `/v1/pets?categoryId=${categoryId}`)
    assert.ok(listed.text.startsWith(`[${added.text}`))
    assert.deepEqual(
      new Set(listed.text.match(/"categoryId":-?\d+/g)),
      new Set([`"categoryId":${categoryId}`]),
    )
    const changed = await call('PATCH', `/v1/pets/${added.json.id}`, { body: '{"categoryId":-1}' })
    assert.match(changed.text, /"categoryId":-1,/)
    const back = await call('PATCH', `/v1/pets/${added.json.id}`, { body: `{"categoryId":${categoryId}}` })
    assert.equal(back.text, added.text)
  })
}

// getPet

for (const petId of ['0', '-1', int64Max, int64Min, '9007199254740993']) {
  test(`/pets/${petId} does not exist: 404 for every method`, async () => {
    for (const [method, body] of [['GET'], ['PATCH', { name: 'A' }], ['DELETE']] as const) {
      assertError(await call(method, `/v1/pets/${petId}`, { body }), 404, 'pet_not_found')
    }
  })
}

// updatePet

const changes: [what: string, body: string, after: Record<string, unknown>][] = [
  ['nothing', '{}', {}],
  ['the name alone', '{"name":"Rex"}', { name: 'Rex' }],
  ['the category alone', '{"categoryId":-5}', { categoryId: -5 }],
  ['the status alone', '{"status":"sold"}', { status: 'sold' }],
  [
    'all three',
    '{"name":"Rex","categoryId":8.0,"status":"pending"}',
    { name: 'Rex', categoryId: 8, status: 'pending' },
  ],
  [
    'known fields and ignores unknown and read-only ones',
    '{"id":1,"colour":"red","name":"Rex"}',
    { name: 'Rex' },
  ],
]
for (const [what, body, after] of changes) {
  test(`updatePet changes ${what} and keeps the rest`, async () => {
    const pet = await add()
    const changed = await call('PATCH', `/v1/pets/${pet.id}`, { body })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(changed.json, { ...pet, ...after })
    assert.deepEqual(await read(pet.id), { ...pet, ...after })
    assert.equal(changed.headers.etag, (await call('GET', `/v1/pets/${pet.id}`)).headers.etag)
  })
}

// If-Match

test('a change with If-Match succeeds only with the current ETag', async () => {
  for (const [method, body, done] of [
    ['PATCH', { name: 'Rex' }, 200],
    ['DELETE', undefined, 204],
  ] as const) {
    const pet = await add()
    const path = `/v1/pets/${pet.id}`
    const etag = String((await call('GET', path)).headers.etag)
    for (const stale of ['"other"', `W/${etag}`, 'nonsense', '""']) {
      const rejected = await call(method, path, { body, headers: { 'if-match': stale } })
      assertError(rejected, 412, 'precondition_failed')
      assert.deepEqual(await read(pet.id), pet)
    }
    const headers = { 'if-match': `"other", ${etag}` }
    assert.equal((await call(method, path, { body, headers })).status, done)
  }
})

test('If-Match rejects the ETag of an outdated state and accepts it again once the pet has the same content', async () => {
  const { id } = await add()
  const path = `/v1/pets/${id}`
  const etag = String((await call('GET', path)).headers.etag)
  await call('PATCH', path, { body: { name: 'Rex' } })
  assertError(
    await call('PATCH', path, { body: { name: 'Max' }, headers: { 'if-match': etag } }),
    412,
    'precondition_failed',
  )
  assert.equal((await call('DELETE', path, { headers: { 'if-match': etag } })).status, 412)
  await call('PATCH', path, { body: { name: 'Milo' } })
  assert.equal((await call('DELETE', path, { headers: { 'if-match': etag } })).status, 204)
})

test('exactly one of several simultaneous changes with the same If-Match succeeds', async () => {
  const { id } = await add()
  const etag = String((await call('GET', `/v1/pets/${id}`)).headers.etag)
  const headers = { 'if-match': etag }
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      call('PATCH', `/v1/pets/${id}`, { body: { name: `Rex ${index}` }, headers }),
    ),
  )
  assert.equal(responses.filter(({ status }) => status === 200).length, 1)
  assert.equal(responses.filter(({ status }) => status === 412).length, 19)
})

test('If-Match: * requires only that the pet exists', async () => {
  const { id } = await add()
  const headers = { 'if-match': '*' }
  assert.equal((await call('PATCH', `/v1/pets/${id}`, { body: {}, headers })).status, 200)
  assert.equal((await call('DELETE', `/v1/pets/${id}`, { headers })).status, 204)
})

// deletePet

test('a removed pet is not returned by any operation and cannot be removed again', async () => {
  const { id } = await add()
  const path = `/v1/pets/${id}`
  const removed = await call('DELETE', path)
  assert.equal(removed.status, 204)
  assert.equal(removed.headers['content-type'], undefined)
  for (const [method, body] of [['GET'], ['PATCH', { name: 'A' }], ['DELETE']] as const) {
    assertError(await call(method, path, { body }), 404, 'pet_not_found')
  }
  assert.deepEqual((await call('GET', `/v1/pets?id=${id}`)).json, [])
})
