import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idsOf as ids, useCategories } from '../support/categoryCalls.ts'
import { amplePlan, assertError, nextPage } from '../support/responses.ts'

const { service, call, withOwn, addNamed, addPetOf } = useCategories()

test('a page has 20 categories by default', () =>
  withOwn(async (_own, send) => {
    for (let n = 0; n < 21; n++) await addNamed(`c${n}`, send)
    const page = await send('GET', '/v1/categories')
    assert.equal(page.json.length, 20)
    assert.deepEqual(ids(await send('GET', String(nextPage(page)))), [21])
  }))

const badQueries: [query: string, code: string][] = [
  ...['0', '101', 'abc', '1.5', '%2B5', '', '-1'].map((limit): [string, string] => [
    `limit=${limit}`,
    'validation_failed',
  ]),
  ['limit=1&limit=2', 'validation_failed'],
  ['cursor=', 'invalid_cursor'],
  ['cursor=nonsense', 'invalid_cursor'],
]
for (const [query, code] of badQueries) {
  test(`listCategories rejects ?${query}`, async () => {
    assertError(await call('GET', `/v1/categories?${query}`), 400, code)
  })
}

test('a damaged cursor and a cursor of another list are rejected', async () => {
  await addPetOf(1)
  await addPetOf(2)
  const own = String(nextPage(await call('GET', '/v1/categories?limit=1')))
  const last = own.at(-1) === 'A' ? 'B' : 'A'
  assertError(await call('GET', own.slice(0, -1) + last), 400, 'invalid_cursor')
  const cursor = new URL(String(nextPage(await call('GET', '/v1/pets?limit=1'))), service.base).searchParams
  assertError(await call('GET', `/v1/categories?cursor=${cursor.get('cursor')}`), 400, 'invalid_cursor')
})

const goodNames = ['A', 'a'.repeat(255), '🐕'.repeat(255), '  Milo ', 'Ł"\\\u2028']
for (const name of goodNames) {
  test(`a name can be ${JSON.stringify(name).slice(0, 30)}`, async () => {
    const { id } = await addNamed(name)
    const path = `/v1/categories/${id}`
    assert.equal((await call('GET', path)).json.name, name)
    await call('PATCH', path, { body: { name: null } })
    assert.equal((await call('PATCH', path, { body: { name } })).json.name, name)
  })
}

const badBodies: [what: string, body: string, code: string, path?: string][] = [
  ['no body', '', 'malformed_json'],
  ['half a body', '{"name":', 'malformed_json'],
  ['the same key twice', '{"name":"A","name":"B"}', 'malformed_json'],
  ['an escaped NUL', '{"name":"A\\u0000"}', 'malformed_json'],
  ['an array', '[]', 'validation_failed', ''],
  ['an empty name', '{"name":""}', 'validation_failed', '/name'],
  ['a blank name', '{"name":" \\t\\u00a0"}', 'validation_failed', '/name'],
  ['a name of 256 characters', `{"name":"${'a'.repeat(256)}"}`, 'validation_failed', '/name'],
  ['a name of 256 emoji', `{"name":"${'🐕'.repeat(256)}"}`, 'validation_failed', '/name'],
  ['a name that is a number', '{"name":1}', 'validation_failed', '/name'],
]
for (const [what, body, code, path] of badBodies) {
  test(`${what} is rejected by createCategory and updateCategory`, async () => {
    const { id } = await addNamed('Kept')
    const requests = [
      ['POST', '/v1/categories'],
      ['PATCH', `/v1/categories/${id}`],
    ] as const
    for (const [method, target] of requests) {
      const rejected = await call(method, target, { body })
      assertError(rejected, 400, code)
      if (path !== undefined) assert.equal(rejected.json.details[0].path, path)
    }
    assert.deepEqual((await call('GET', `/v1/categories/${id}`)).json, { id, name: 'Kept' })
    await call('DELETE', `/v1/categories/${id}`)
  })
}

for (const body of ['{}', '{"name":null}']) {
  test(`createCategory requires a name: ${body} is rejected`, async () => {
    const rejected = await call('POST', '/v1/categories', { body })
    assertError(rejected, 400, 'validation_failed')
    assert.equal(rejected.json.details[0].path, '/name')
  })
}

for (const id of ['9223372036854775808', '-9223372036854775809', 'abc', '1.5', '%20', '0x10']) {
  test(`an id that is not an int64 gets 404: ${id}`, async () => {
    assertError(await call('GET', `/v1/categories/${id}`), 404, 'category_not_found')
    assertError(
      await call('PATCH', `/v1/categories/${id}`, { body: { name: 'x' } }),
      404,
      'category_not_found',
    )
    assertError(await call('DELETE', `/v1/categories/${id}`), 404, 'category_not_found')
  })
}

test('reading and writing require different scopes, and errors are marked as beta', async () => {
  const { id } = await addNamed('Guarded')
  const keys = new Map<string, string>()
  for (const scope of ['categories:read', 'categories:write', 'pets:write'])
    keys.set(scope, (await service.makeKey({ ...amplePlan, scopes: [scope] })).key)
  const operations: [method: string, path: string, scope: string, status: number][] = [
    ['GET', '/v1/categories', 'categories:read', 200],
    ['GET', `/v1/categories/${id}`, 'categories:read', 200],
    ['POST', '/v1/categories', 'categories:write', 201],
    ['PATCH', `/v1/categories/${id}`, 'categories:write', 200],
    ['DELETE', `/v1/categories/${id}`, 'categories:write', 204],
  ]
  for (const [method, path, needed, status] of operations) {
    const body = method === 'POST' || method === 'PATCH' ? { body: { name: `Guarded ${method}` } } : {}
    assertError(await call(method, path, { key: undefined, ...body }), 401, 'missing_api_key')
    for (const [scope, withScope] of keys) {
      if (scope === needed) continue
      assertError(await call(method, path, { key: withScope, ...body }), 403, 'insufficient_scope')
    }
    assert.equal((await call(method, path, { key: keys.get(needed), ...body })).status, status)
  }
})

test('operations on pets are stable and have no X-Stability header', async () => {
  assert.equal((await call('GET', '/v1/pets')).headers['x-stability'], undefined)
})
