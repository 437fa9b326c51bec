import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { ClientResponse, RequestOptions } from '../support/client.ts'
import { amplePlan, assertResponseHeaders, nextPage } from '../support/responses.ts'
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
  const ids = Array.from({ length: count }, async (_, i) => {
    const added = await call('POST', '/v1/pets', { body: { name: `Pet ${i}`, categoryId, status } })
    assert.equal(added.status, 201, added.text)
    return added.json.id as number
  })
  return (await Promise.all(ids)).sort((a, b) => a - b)
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

for (const [count, limit] of [
  [0, 2],
  [1, 1],
  [1, 2],
  [2, 2],
  [3, 2],
  [4, 2],
  [5, 2],
  [3, 1],
  [21, undefined],
  [20, undefined],
  [100, 100],
] as const) {
  test(`${count} pets in pages of ${limit ?? 'the default size'} are each returned once, and the last page has no Link`, async () => {
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
      const response = await call('GET', next)
      assert.ok(response.json.length > 0, 'no page is empty')
      seen.push(...idsOf(response))
      next = nextPage(response)
      if (next === undefined) assert.equal(response.headers.link, undefined)
      else assert.equal(response.json.length, pageLength)
    }
    assert.equal(pages, Math.max(1, Math.ceil(count / pageLength)))
    assert.deepEqual(seen, ids.toReversed())
  })
}

test('a traversal returns no pet twice and skips none that exists throughout, while pets are added and removed', async () => {
  const category = newCategory()
  const ids = await add(category, 60)
  const removed = new Set<number>()
  const seen = await traverse(`/v1/pets?limit=7&categoryId=${category}`, async (page) => {
    await add(category, page * 3)
    // One that was returned, the last of the page, and one of a later page.
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
  for (const id of throughout) assert.ok(seen.includes(id), `pet ${id} was skipped`)
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => b - a),
  )
})

test('a traversal by status skips none that has the status throughout, while statuses change', async () => {
  const category = newCategory()
  const ids = await add(category, 40)
  const changed = new Set<number>()
  const seen = await traverse(`/v1/pets?limit=4&status=available&categoryId=${category}`, async (page) => {
    for (const index of [page, 39 - page * 2]) {
      const id = ids[index]
      if (id === undefined || changed.has(id)) continue
      changed.add(id)
      await change(id, { status: 'sold' })
    }
    const [newcomer] = await add(category, 1, 'pending')
    await change(newcomer, { status: 'available' })
  })
  assert.equal(new Set(seen).size, seen.length)
  for (const id of ids.filter((one) => !changed.has(one))) assert.ok(seen.includes(id))
})

test('a traversal continues if the last pet of the page, or every following pet, is removed', async () => {
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

test('traversals are correct during concurrent writes', async () => {
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
      const seen = await traverse(`/v1/pets?limit=5&categoryId=${category}`)
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

test('a Link with 100 ids of maximum length works', async () => {
  const category = newCategory()
  const [first, second] = await add(category, 2)
  const unknownIds = Array.from({ length: 98 }, (_, index) => -(2n ** 63n) + BigInt(index))
  const query = [first, second, ...unknownIds].map((id) => `id=${id}`).join('&')
  assert.deepEqual(await traverse(`/v1/pets?limit=1&${query}`), [second, first])
})
