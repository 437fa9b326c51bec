import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { encodeCursor } from '../../src/api/pagination.ts'
import type { ClientResponse, RequestOptions } from '../support/client.ts'
import { amplePlan, assertError, assertResponseHeaders, nextPage } from '../support/responses.ts'
import { useService } from '../support/useService.ts'

const service = useService()
let key: string
before(async () => {
  key = (await service.makeKey(amplePlan)).key
})

type Pet = { id: number; name: string; categoryId: number; status: string }

async function call(method: string, path: string, options: RequestOptions = {}): Promise<ClientResponse> {
  const response = await service.request(method, path, { key, ...options })
  assertResponseHeaders(response, method)
  return response
}

/** Every test lists a separate category. */
let lastCategory = 0
const newCategory = () => ++lastCategory

async function add(categoryId: number, count: number, status = 'available'): Promise<number[]> {
  const ids: number[] = []
  for (let i = 0; i < count; i++) {
    const added = await call('POST', '/v1/pets', { body: { name: `Pet ${i}`, categoryId, status } })
    assert.equal(added.status, 201, added.text)
    ids.push(added.json.id)
  }
  return ids
}

const remove = async (id: number | undefined) =>
  assert.equal((await call('DELETE', `/v1/pets/${id}`)).status, 204)
const change = async (id: number | undefined, body: unknown) =>
  assert.equal((await call('PATCH', `/v1/pets/${id}`, { body })).status, 200)
const idsOf = (response: ClientResponse): number[] => response.json.map((pet: Pet) => pet.id)

/** Follows the links to the last page, and runs an action between pages. */
async function traverse(start: string, betweenPages: (page: number) => Promise<unknown> = async () => {}) {
  const seen: number[] = []
  for (let path: string | undefined = start, page = 1; path !== undefined; page++) {
    const response = await call('GET', path)
    assert.equal(response.status, 200, response.text)
    seen.push(...idsOf(response))
    path = nextPage(response)
    if (path !== undefined) await betweenPages(page)
  }
  return seen
}

test('the Link contains limit and filters', async () => {
  const category = newCategory()
  const ids = await add(category, 5, 'pending')
  const filters = `limit=2&status=pending&categoryId=${category}&${ids.map((id) => `id=${id}`).join('&')}`
  const next = String(nextPage(await call('GET', `/v1/pets?${filters}`)))
  assert.match(next, /^\/v1\/pets\?/)
  const query = new URL(next, 'http://store').searchParams
  assert.equal(query.get('limit'), '2')
  assert.equal(query.get('status'), 'pending')
  assert.equal(query.get('categoryId'), String(category))
  assert.deepEqual(query.getAll('id').map(Number), ids)
  assert.deepEqual(await traverse(`/v1/pets?${filters}`), ids.toReversed())
})

/** A cursor of a list of pending pets of one category. */
async function someCursor() {
  const category = newCategory()
  const ids = await add(category, 6, 'pending')
  const next = nextPage(await call('GET', `/v1/pets?limit=2&status=pending&categoryId=${category}`))
  const cursor = String(new URL(String(next), 'http://store').searchParams.get('cursor'))
  return { category, ids, cursor }
}

test('a cursor contains its filters: it returns the same page with and without them', async () => {
  const { category, ids, cursor } = await someCursor()
  for (const filters of [
    '',
    '&status=pending',
    `&categoryId=${category}`,
    `&categoryId=${category}.0&status=pending`,
  ]) {
    const page = await call('GET', `/v1/pets?limit=2&cursor=${cursor}${filters}`)
    assert.deepEqual(idsOf(page), ids.slice(2, 4).reverse(), filters)
  }
})

test('the page size can change between pages', async () => {
  const { ids, cursor } = await someCursor()
  assert.deepEqual(idsOf(await call('GET', `/v1/pets?limit=100&cursor=${cursor}`)), ids.slice(0, 4).reverse())
  assert.deepEqual(idsOf(await call('GET', `/v1/pets?limit=1&cursor=${cursor}`)), ids.slice(3, 4))
})

test('a cursor with other filters is rejected', async () => {
  const { category, ids, cursor } = await someCursor()
  for (const filters of [
    'status=sold',
    `categoryId=${category + 1}`,
    `id=${ids[0]}`,
    `status=available&categoryId=${category}`,
  ]) {
    assertError(await call('GET', `/v1/pets?cursor=${cursor}&${filters}`), 400, 'invalid_cursor')
  }
  const unfiltered = new URL(String(nextPage(await call('GET', '/v1/pets?limit=1'))), 'http://store')
  for (const filters of ['status=pending', `categoryId=${category}`, `id=${ids[0]}`]) {
    assertError(await call('GET', `/v1/pets${unfiltered.search}&${filters}`), 400, 'invalid_cursor')
  }
})

test('a cursor with ids accepts the same ids in any order and rejects others', async () => {
  const ids = await add(newCategory(), 3)
  const query = (some: readonly (number | undefined)[]) => some.map((id) => `id=${id}`).join('&')
  const next = nextPage(await call('GET', `/v1/pets?limit=1&${query(ids)}`))
  const cursor = new URL(String(next), 'http://store').searchParams.get('cursor')
  const page = await call('GET', `/v1/pets?cursor=${cursor}&${query([...ids.toReversed(), ids[0]])}`)
  assert.deepEqual(idsOf(page), [ids[1], ids[0]])
  for (const others of [ids.slice(1), [...ids, 999_999]]) {
    assertError(await call('GET', `/v1/pets?cursor=${cursor}&${query(others)}`), 400, 'invalid_cursor')
  }
})

test('a damaged cursor is rejected', async () => {
  const { cursor } = await someCursor()
  const damaged = Array.from(
    cursor,
    (character, at) => cursor.slice(0, at) + (character === 'A' ? 'B' : 'A') + cursor.slice(at + 1),
  )
  for (const text of [
    ...damaged,
    cursor.slice(1),
    cursor.slice(0, -1),
    `${cursor}A`,
    `${cursor}=`,
    ` ${cursor}`,
    `${cursor}\u0000`,
    cursor + cursor,
    '',
    'null',
    '1',
    '🐕',
    'A'.repeat(8_000),
  ]) {
    assertError(await call('GET', `/v1/pets?cursor=${encodeURIComponent(text)}`), 400, 'invalid_cursor')
  }
})

/** A cursor with arbitrary content and a correct checksum, which contains no secret. */
const forged = (payload: string) => {
  const bytes = Buffer.from(payload)
  const checksum = createHash('sha256').update(bytes).digest().subarray(0, 6)
  return Buffer.concat([checksum, bytes]).toString('base64url')
}

const forgeries = [
  forged('nonsense'),
  forged(''),
  forged('null'),
  forged('{}'),
  forged('"pets"'),
  forged('["pets"'),
  encodeCursor('pets', []),
  encodeCursor('pets', [1]),
  encodeCursor('pets', ['1', {}]),
  encodeCursor('pets', [1.5, {}]),
  encodeCursor('pets', [{}, {}]),
  encodeCursor('pets', [1, { status: 'lost' }]),
  encodeCursor('pets', [1, { categoryId: 'x' }]),
  encodeCursor('pets', [1, { categoryId: 7 }]),
  encodeCursor('pets', [1, { categoryId: '9223372036854775808' }]),
  encodeCursor('pets', [1, { id: ['x'] }]),
  encodeCursor('pets', [1, { id: 'x' }]),
  encodeCursor('pets', [1, {}, 'more']),
]
for (const [index, cursor] of forgeries.entries()) {
  test(`a forged cursor is rejected (${index + 1})`, async () => {
    assertError(await call('GET', `/v1/pets?cursor=${cursor}`), 400, 'invalid_cursor')
  })
}

test('a cursor of another list is rejected', async () => {
  await service.makeKey()
  const keys = await call('GET', '/v1/keys?limit=1', { key: service.operatorKey })
  const keysCursor = new URL(String(nextPage(keys)), 'http://store').searchParams.get('cursor')
  assertError(await call('GET', `/v1/pets?cursor=${keysCursor}`), 400, 'invalid_cursor')
  const { cursor } = await someCursor()
  const response = await call('GET', `/v1/keys?cursor=${cursor}`, { key: service.operatorKey })
  assertError(response, 400, 'invalid_cursor')
})

test('the ETag of a page follows its content', async () => {
  const category = newCategory()
  const ids = await add(category, 3)
  const etag = async () => (await call('GET', `/v1/pets?categoryId=${category}`)).headers.etag
  const seen = [await etag()]
  assert.equal(await etag(), seen[0])
  await change(ids[1], { name: 'Rex' })
  seen.push(await etag())
  await change(ids[1], { status: 'sold' })
  seen.push(await etag())
  await remove(ids[0])
  seen.push(await etag())
  await add(category, 1)
  seen.push(await etag())
  assert.equal(new Set(seen).size, seen.length)
})

test('the ETag of a page changes when a next page appears or disappears', async () => {
  const category = newCategory()
  const [oldest] = await add(category, 3)
  const page = () => call('GET', `/v1/pets?limit=2&categoryId=${category}`)
  const before = await page()
  assert.ok(nextPage(before))
  await remove(oldest)
  const known = { headers: { 'if-none-match': String(before.headers.etag) } }
  const later = await call('GET', `/v1/pets?limit=2&categoryId=${category}`, known)
  assert.equal(later.status, 200)
  assert.equal(later.text, before.text)
  assert.equal(nextPage(later), undefined)
  assert.notEqual(later.headers.etag, before.headers.etag)
})

test('a filter with zeros before the number has the pages, cursors and ETags of the number', async () => {
  const category = newCategory()
  await add(category, 3)
  const path = (filter: string) => `/v1/pets?limit=02&categoryId=${filter}`
  const plain = await call('GET', path(String(category)))
  // The second response is a cached page.
  for (let round = 0; round < 2; round++) {
    const padded = await call('GET', path(`00${category}`))
    assert.equal(padded.text, plain.text)
    assert.equal(nextPage(padded), nextPage(plain))
    assert.equal(padded.headers.etag, plain.headers.etag)
  }
  const next = new URL(String(nextPage(plain)), 'http://store')
  assert.equal(next.searchParams.get('categoryId'), String(category))
  next.searchParams.set('categoryId', `00${category}`)
  const last = await call('GET', next.pathname + next.search)
  assert.deepEqual([last.status, last.json.length], [200, 1])
})

test('a 304 has the Link to the next page', async () => {
  const category = newCategory()
  await add(category, 3)
  const path = `/v1/pets?limit=2&categoryId=${category}`
  const { headers } = await call('GET', path)
  const again = await call('GET', path, { headers: { 'if-none-match': String(headers.etag) } })
  assert.equal(again.status, 304)
  assert.equal(again.headers.link, headers.link)
})
