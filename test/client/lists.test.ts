import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Pet, PetstoreError } from '../../client/src/index.ts'
import { clientOf } from '../support/petstoreClient.ts'
import { sendJson, startScriptedServer } from '../support/scriptedServer.ts'
import { useService } from '../support/useService.ts'

const service = useService()

describe('toArray', () => {
  test('returns the first items, from no more pages than necessary', async () => {
    const requests: string[] = []
    const store = clientOf(service, {
      fetch: (url, init) => {
        requests.push(new URL(url).search)
        return fetch(url, init)
      },
    })
    const { id: categoryId } = await store.categories.create({ name: 'Arrays' })
    const created: Pet[] = []
    for (let index = 0; index < 7; index++)
      created.unshift(await store.pets.create({ name: `Pet ${index}`, categoryId }))
    /** The items, and the sizes of the pages that were asked for. */
    const read = async (query: { limit?: number }, limit: number) => {
      requests.length = 0
      const items = await store.pets.list({ categoryId, ...query }).toArray({ limit })
      return { items, sizes: requests.map((search) => new URLSearchParams(search).get('limit')) }
    }
    assert.deepEqual(await read({}, 3), { items: created.slice(0, 3), sizes: ['3'] })
    assert.deepEqual(await read({ limit: 2 }, 5), { items: created.slice(0, 5), sizes: ['2', '2', '1'] })
    assert.deepEqual(await read({}, 500), { items: created, sizes: ['100'] })
    assert.deepEqual(await read({ limit: 5 }, Number.POSITIVE_INFINITY), {
      items: created,
      sizes: ['5', '5'],
    })
    assert.deepEqual(await read({}, 0), { items: [], sizes: [] })
  })

  test('requires a limit', async (t) => {
    const { storeWith, requests } = await startScriptedServer(t, () => {})
    const list = storeWith().pets.list()
    for (const options of [
      undefined,
      {},
      { limit: -1 },
      { limit: 1.5 },
      { limit: Number.NaN },
      { limit: '5' },
    ])
      await assert.rejects(list.toArray(options as { limit: number }), {
        name: 'RangeError',
        message: /limit/,
      })
    assert.deepEqual(requests, [])
  })
})

describe('a server that repeats a cursor', () => {
  const bounded = { timeout: 10_000 }

  /** A client of a server whose pages have one animal, with this cursor of the next page for each cursor. */
  async function clientOfPages(t: Parameters<typeof startScriptedServer>[0], next: Record<string, string>) {
    const { storeWith, requests } = await startScriptedServer(t, (request, response) => {
      const cursor = new URL(request.url ?? '', 'http://test').searchParams.get('cursor') ?? ''
      sendJson(response, 200, [{ id: requests.length }], {
        link: `</v1/pets?cursor=${next[cursor]}>; rel="next"`,
        'x-request-id': 'a-request',
      })
    })
    return { store: storeWith(), requests }
  }

  const isRepeated = (error: unknown) => {
    assert.ok(error instanceof PetstoreError)
    assert.deepEqual([error.code, error.status, error.requestId], ['unexpected_response', 200, 'a-request'])
    assert.match(error.message, /cursor/)
    return true
  }

  test('ends the list with an error, before an item is repeated', bounded, async (t) => {
    // As a cache that ignores the query would.
    const { store, requests } = await clientOfPages(t, { '': 'a', a: 'a' })
    const ids: unknown[] = []
    await assert.rejects(async () => {
      for await (const { id } of store.pets.list()) ids.push(id)
    }, isRepeated)
    assert.deepEqual([ids, requests.length], [[1], 2])
    await assert.rejects(store.pets.list({ cursor: 'a' }).page(), isRepeated)
    await assert.rejects(store.pets.list().toArray({ limit: 1_000 }), isRepeated)
  })

  test('ends the list also if the cursors go round in a longer circle', bounded, async (t) => {
    for (const length of [2, 3, 10]) {
      const circle = Array.from({ length }, (_, index) => [`c${index}`, `c${(index + 1) % length}`])
      const { store, requests } = await clientOfPages(t, {
        ...{ '': 'before', before: 'c0' },
        ...Object.fromEntries(circle),
      })
      await assert.rejects(async () => {
        for await (const _ of store.pets.list()) assert.ok(requests.length <= 3 * (length + 2))
      }, isRepeated)
    }
  })
})
