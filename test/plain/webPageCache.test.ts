import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PreparedResponse } from '../../src/api/response.ts'
import { WebPageCache } from '../../src/api/responseCache.ts'
import type { Database } from '../../src/database/database.ts'

const responseOf = (status: number): PreparedResponse => ({ status, headers: [], body: String(status) })

/** A cache, renderings that wait for the test, and a change of the database. */
function setUp() {
  let version = 1
  const database = { version: () => version, onCommit() {}, onExternalChange() {} }
  const cache = new WebPageCache(database as unknown as Database)
  const rendered: PromiseWithResolvers<PreparedResponse>[] = []
  const request = (key = '/adopt') =>
    cache.serve(key, () => {
      const rendering = Promise.withResolvers<PreparedResponse>()
      rendered.push(rendering)
      return rendering.promise
    })
  return { cache, rendered, request, change: () => version++ }
}

describe('the cache of web pages', () => {
  test('renders a page once for all requests that wait for it', async () => {
    const { rendered, request } = setUp()
    const responses = [request(), request(), request('/other')]
    assert.equal(rendered.length, 2)
    for (const { resolve } of rendered) resolve(responseOf(200))
    assert.deepEqual(await Promise.all(responses), [200, 200, 200].map(responseOf))
    assert.deepEqual(request(), responseOf(200))
    assert.equal(rendered.length, 2)
  })

  test('renders it again for requests after a change', async () => {
    const { rendered, request, change } = setUp()
    const before = request()
    change()
    const after = request()
    assert.equal(rendered.length, 2)
    rendered[0]?.resolve(responseOf(200))
    await before
    assert.ok(request() instanceof Promise, 'the page from before the change is not kept')
    assert.equal(rendered.length, 2)
    rendered[1]?.resolve(responseOf(200))
    await after
    assert.deepEqual(request(), responseOf(200))
  })

  test('keeps neither failures nor pages that say that there is nothing', async () => {
    const { rendered, request } = setUp()
    const failed = request()
    rendered[0]?.reject(new Error('It failed.'))
    await assert.rejects(async () => failed)
    const missing = request()
    rendered[1]?.resolve(responseOf(404))
    await missing
    void request()
    assert.equal(rendered.length, 3)
  })

  test('computes what several pages are made of once until a change', async () => {
    const { cache, change } = setUp()
    let computed = 0
    const value = () => cache.value('kinds', async () => ++computed)
    assert.deepEqual(await Promise.all([value(), value()]), [1, 1])
    assert.equal(await value(), 1)
    change()
    assert.equal(await value(), 2)
    await assert.rejects(cache.value('fails', () => Promise.reject(new Error('It failed.'))))
    assert.equal(await cache.value('fails', async () => 3), 3)
  })
})
