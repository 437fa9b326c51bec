import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { sealCursor } from '../../src/api/pagination.ts'
import { amplePlan, assertAnswerForm, assertRefused, nextPage } from '../support/answers.ts'
import type { Answer, RequestOptions } from '../support/client.ts'
import { useService } from '../support/useService.ts'

const service = useService()
let key: string
before(async () => {
  key = (await service.makeKey(amplePlan)).key
})

type Pet = { id: number; name: string; categoryId: number; status: string }

async function call(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const answer = await service.request(method, path, { key, ...options })
  assertAnswerForm(answer, method)
  return answer
}

/** Every test has a category of its own, and so a list of its own. */
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
const idsOf = (answer: Answer): number[] => answer.json.map((pet: Pet) => pet.id)

/** Walks from a page to the last one; between two pages others are at work. */
async function walk(start: string, meanwhile: (page: number) => Promise<unknown> = async () => {}) {
  const seen: number[] = []
  for (let path: string | undefined = start, page = 1; path !== undefined; page++) {
    const answer = await call('GET', path)
    assert.equal(answer.status, 200, answer.text)
    seen.push(...idsOf(answer))
    path = nextPage(answer)
    if (path !== undefined) await meanwhile(page)
  }
  return seen
}

for (const [count, limit] of [
  [0, 5],
  [1, 1],
  [4, 5],
  [5, 5],
  [6, 5],
  [10, 5],
  [11, 5],
  [3, 1],
  [21, undefined],
  [20, undefined],
  [100, 100],
] as const) {
  test(`${count} animals in pages of ${limit ?? 'the usual size'} are walked through once each, and the last page has no Link`, async () => {
    const category = newCategory()
    const ids = await add(category, count)
    const pageLength = limit ?? 20
    const first = await call(
      'GET',
      `/v1/pets?categoryId=${category}${limit === undefined ? '' : `&limit=${limit}`}`,
    )
    let pages = 1
    const seen = idsOf(first)
    for (let next = nextPage(first); next !== undefined; pages++) {
      const answer = await call('GET', next)
      assert.ok(answer.json.length > 0, 'no page is empty')
      seen.push(...idsOf(answer))
      next = nextPage(answer)
      if (next === undefined) assert.equal(answer.headers.link, undefined)
      else assert.equal(answer.json.length, pageLength)
    }
    assert.equal(pages, Math.max(1, Math.ceil(count / pageLength)))
    assert.deepEqual(seen, ids.toReversed())
  })
}

test('a walk shows no animal twice and skips none that was there throughout, while others add and remove', async () => {
  const category = newCategory()
  const ids = await add(category, 60)
  const removed = new Set<number>()
  const seen = await walk(`/v1/pets?limit=7&categoryId=${category}`, async (page) => {
    await add(category, page * 3)
    // One that was shown, the one that the next page begins behind, and one that is still to come.
    const shown = 60 - page * 7
    for (const index of [shown + 3, shown, shown - 4]) {
      const id = ids[index]
      if (id === undefined || removed.has(id)) continue
      removed.add(id)
      await remove(id)
    }
  })
  assert.equal(new Set(seen).size, seen.length)
  const throughout = ids.filter((id) => !removed.has(id))
  assert.ok(throughout.length > 30)
  for (const id of throughout) assert.ok(seen.includes(id), `animal ${id} was skipped`)
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => b - a),
  )
})

test('a walk by status skips none that had it throughout, while animals come and go between statuses', async () => {
  const category = newCategory()
  const ids = await add(category, 40)
  const moved = new Set<number>()
  const seen = await walk(`/v1/pets?limit=4&status=available&categoryId=${category}`, async (page) => {
    for (const index of [page, 39 - page * 2]) {
      const id = ids[index]
      if (id === undefined || moved.has(id)) continue
      moved.add(id)
      await change(id, { status: 'sold' })
    }
    const [newcomer] = await add(category, 1, 'pending')
    await change(newcomer, { status: 'available' })
  })
  assert.equal(new Set(seen).size, seen.length)
  for (const id of ids.filter((one) => !moved.has(one))) assert.ok(seen.includes(id))
})

test('a walk goes on when the animal that it stopped at, or every animal behind it, is removed', async () => {
  const category = newCategory()
  const ids = await add(category, 10)
  const first = await call('GET', `/v1/pets?limit=4&categoryId=${category}`)
  await remove(ids[6])
  assert.deepEqual(idsOf(await call('GET', String(nextPage(first)))), ids.slice(2, 6).reverse())
  for (const id of ids.slice(0, 6)) await remove(id)
  const last = await call('GET', String(nextPage(first)))
  assert.deepEqual(last.json, [])
  assert.equal(last.headers.link, undefined)
})

test('walks are right while writers work at the same moment', async () => {
  const category = newCategory()
  const ids = await add(category, 50)
  let isWalking = true
  const writer = async () => {
    while (isWalking) {
      const [id] = await add(category, 1)
      await remove(id)
      await add(category, 1)
    }
  }
  const writers = [writer(), writer(), writer()]
  try {
    for (let round = 0; round < 3; round++) {
      const start = ids.at(-1)
      const seen = await walk(`/v1/pets?limit=5&categoryId=${category}`)
      assert.equal(new Set(seen).size, seen.length)
      assert.deepEqual(
        seen.filter((id) => id <= Number(start)),
        ids.toReversed(),
      )
    }
  } finally {
    isWalking = false
    await Promise.all(writers)
  }
})

test('the Link keeps limit and filters, so that following it is all there is to do', async () => {
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
  assert.deepEqual(await walk(`/v1/pets?${filters}`), ids.toReversed())
})

test('a Link with 100 ids of the greatest length can be followed', async () => {
  const category = newCategory()
  const [first, second] = await add(category, 2)
  const strangers = Array.from({ length: 98 }, (_, index) => -(2n ** 63n) + BigInt(index))
  const query = [first, second, ...strangers].map((id) => `id=${id}`).join('&')
  assert.deepEqual(await walk(`/v1/pets?limit=1&${query}`), [second, first])
})

/** A cursor in a list of pending animals of one category. */
async function someCursor() {
  const category = newCategory()
  const ids = await add(category, 6, 'pending')
  const next = nextPage(await call('GET', `/v1/pets?limit=2&status=pending&categoryId=${category}`))
  const cursor = String(new URL(String(next), 'http://store').searchParams.get('cursor'))
  return { category, ids, cursor }
}

test('a cursor carries its filters: alone, or beside the same ones, it is the same page', async () => {
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

test('the size of the page may change on the way', async () => {
  const { ids, cursor } = await someCursor()
  assert.deepEqual(idsOf(await call('GET', `/v1/pets?limit=100&cursor=${cursor}`)), ids.slice(0, 4).reverse())
  assert.deepEqual(idsOf(await call('GET', `/v1/pets?limit=1&cursor=${cursor}`)), ids.slice(3, 4))
})

test('a cursor beside other filters is refused', async () => {
  const { category, ids, cursor } = await someCursor()
  for (const filters of [
    'status=sold',
    `categoryId=${category + 1}`,
    `id=${ids[0]}`,
    `status=available&categoryId=${category}`,
  ]) {
    assertRefused(await call('GET', `/v1/pets?cursor=${cursor}&${filters}`), 400, 'invalid_cursor')
  }
  const unfiltered = new URL(String(nextPage(await call('GET', '/v1/pets?limit=1'))), 'http://store')
  for (const filters of ['status=pending', `categoryId=${category}`, `id=${ids[0]}`]) {
    assertRefused(await call('GET', `/v1/pets${unfiltered.search}&${filters}`), 400, 'invalid_cursor')
  }
})

test('a cursor with ids takes the same ids in any order and refuses any others', async () => {
  const ids = await add(newCategory(), 3)
  const query = (some: readonly (number | undefined)[]) => some.map((id) => `id=${id}`).join('&')
  const next = nextPage(await call('GET', `/v1/pets?limit=1&${query(ids)}`))
  const cursor = new URL(String(next), 'http://store').searchParams.get('cursor')
  const page = await call('GET', `/v1/pets?cursor=${cursor}&${query([...ids.toReversed(), ids[0]])}`)
  assert.deepEqual(idsOf(page), [ids[1], ids[0]])
  for (const others of [ids.slice(1), [...ids, 999_999]]) {
    assertRefused(await call('GET', `/v1/pets?cursor=${cursor}&${query(others)}`), 400, 'invalid_cursor')
  }
})

test('a cursor that is damaged anywhere is refused', async () => {
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
    assertRefused(await call('GET', `/v1/pets?cursor=${encodeURIComponent(text)}`), 400, 'invalid_cursor')
  }
})

/** A cursor with a right checksum around anything at all: no secret keeps a caller from making one. */
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
  sealCursor('pets', []),
  sealCursor('pets', [1]),
  sealCursor('pets', ['1', null, null, null]),
  sealCursor('pets', [1.5, null, null, null]),
  sealCursor('pets', [{}, null, null, null]),
  sealCursor('pets', [1, 'lost', null, null]),
  sealCursor('pets', [1, null, 'x', null]),
  sealCursor('pets', [1, null, 7, null]),
  sealCursor('pets', [1, null, '9223372036854775808', null]),
  sealCursor('pets', [1, null, null, ['x']]),
  sealCursor('pets', [1, null, null, 'x']),
  sealCursor('pets', [1, null, null, null, 'more']),
]
for (const [index, cursor] of forgeries.entries()) {
  test(`a forged cursor is refused like a damaged one (${index + 1})`, async () => {
    assertRefused(await call('GET', `/v1/pets?cursor=${cursor}`), 400, 'invalid_cursor')
  })
}

test('a cursor of one list is refused by another', async () => {
  await service.makeKey()
  const keys = await call('GET', '/v1/keys?limit=1', { key: service.operatorKey })
  const keysCursor = new URL(String(nextPage(keys)), 'http://store').searchParams.get('cursor')
  assertRefused(await call('GET', `/v1/pets?cursor=${keysCursor}`), 400, 'invalid_cursor')
  const { cursor } = await someCursor()
  const answer = await call('GET', `/v1/keys?cursor=${cursor}`, { key: service.operatorKey })
  assertRefused(answer, 400, 'invalid_cursor')
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

test('the ETag of a page changes when a next page appears or goes, though its animals stay', async () => {
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

test('a 304 still says where the next page is', async () => {
  const category = newCategory()
  await add(category, 3)
  const path = `/v1/pets?limit=2&categoryId=${category}`
  const { headers } = await call('GET', path)
  const again = await call('GET', path, { headers: { 'if-none-match': String(headers.etag) } })
  assert.equal(again.status, 304)
  assert.equal(again.headers.link, headers.link)
})
