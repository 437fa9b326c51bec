import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { headersOf, type Pet, PetstoreError } from '../../client/src/index.ts'
import { parseJson, toJson } from '../../client/src/json.ts'
import { operations } from '../../client/src/schema.ts'
import { clientOf, hasCode } from '../support/petstoreClient.ts'
import { assertSameNames } from '../support/sameNames.ts'
import { useService } from '../support/useService.ts'

const service = useService()

function exactIntegers(_key: string, value: unknown, context?: { source: string }): unknown {
  const isLarge = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
  return isLarge && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context?.source ?? 0) : value
}

describe('the client', () => {
  test('creates, reads, changes and removes animals', async () => {
    const store = clientOf(service)
    const milo = await store.pets.create({ name: 'Milo', categoryId: 3 })
    assert.deepEqual(milo, { id: milo.id, name: 'Milo', categoryId: 3, status: 'available' })
    assert.deepEqual(await store.pets.get(milo.id), milo)
    assert.deepEqual(await store.pets.update(milo.id, { status: 'pending' }), { ...milo, status: 'pending' })
    assert.deepEqual((await store.pets.list({ id: [milo.id] }).page()).items, [
      { ...milo, status: 'pending' },
    ])
    assert.equal(await store.pets.delete(milo.id), undefined)
    await assert.rejects(store.pets.get(milo.id), hasCode('pet_not_found'))
  })

  test('iterates over all pages, or reads one', async () => {
    const store = clientOf(service)
    const { id: categoryId } = await store.categories.create({ name: 'Pages' })
    const created: Pet[] = []
    for (let index = 0; index < 7; index++)
      created.unshift(await store.pets.create({ name: `Pet ${index}`, categoryId }))
    const listed: Pet[] = []
    for await (const pet of store.pets.list({ categoryId, limit: 3 })) listed.push(pet)
    assert.deepEqual(listed, created)

    const first = await store.pets.list({ categoryId, limit: 5 }).page()
    assert.deepEqual(first.items, created.slice(0, 5))
    const last = await store.pets.list({ categoryId, limit: 5, cursor: first.nextCursor }).page()
    assert.deepEqual(last.items, created.slice(5))
    assert.equal(last.nextCursor, undefined)
    const sizes: number[] = []
    for await (const { items } of store.pets.list({ categoryId, limit: 3 }).pages()) sizes.push(items.length)
    assert.deepEqual(sizes, [3, 3, 1])
  })

  test('iterates over the events of all pages', async () => {
    const store = clientOf(service)
    const { headers } = await store.events.list({ limit: 1 }).page()
    const after = Number(headers.get('last-event-id'))
    for (let index = 0; index < 5; index++) await store.categories.create({ name: `Category ${index}` })
    const types: string[] = []
    for await (const event of store.events.list({ after, limit: 2 })) types.push(event.type)
    assert.deepEqual(types, Array(5).fill('category.created'))
  })

  test('reads and sends every int64 exactly', async () => {
    const store = clientOf(service)
    for (const categoryId of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 2n ** 53n]) {
      // Digits in a name are not a number.
      const name = `"${categoryId}": ${categoryId}, \\"`
      const pet = await store.pets.create({ name, categoryId })
      assert.deepEqual([pet.name, pet.categoryId], [name, categoryId])
      assert.deepEqual((await store.pets.list({ categoryId }).page()).items, [pet])
      assert.equal(
        (await store.categories.update(categoryId, { name: `Large ${categoryId}` })).id,
        categoryId,
      )
    }
    for (const categoryId of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0, -7]) {
      assert.equal((await store.pets.create({ name: 'Small', categoryId })).categoryId, categoryId)
      const same = await store.pets.create({ name: 'Small', categoryId: BigInt(categoryId) })
      assert.equal(same.categoryId, categoryId)
    }
  })

  test('reads JSON as JSON.parse does, apart from large integers', () => {
    for (const text of [
      '[12345678901234567890, "12345678901234567890"]',
      '{"a":-9007199254740993,"b":[1.5,1e300]}',
    ])
      assert.deepEqual(parseJson(text), JSON.parse(text, exactIntegers))
    for (const text of [
      '"\\\\\\"1234567890123456789"',
      '1234567890123456.5',
      '1234567890123456e2',
      '0.1234567890123456789',
    ])
      assert.deepEqual(parseJson(text), JSON.parse(text))
    // A body that ends in a string, which must not take long.
    for (const part of ['long ', '\\"', '\\\\'])
      assert.throws(() => parseJson(`[12345678901234567890, "${part.repeat(500_000)}`), SyntaxError)
    assert.equal(
      toJson({ id: 2n ** 63n, text: '"9007199254740993"' }),
      '{"id":9223372036854775808,"text":"\\"9007199254740993\\""}',
    )
  })

  test('throws errors with code, status, details and request id', async () => {
    const store = clientOf(service)
    const requestId = 'a-request-of-this-test'
    await assert.rejects(
      // @ts-expect-error The name is missing.
      store.pets.create({ categoryId: 3 }, { headers: { 'X-Request-Id': requestId } }),
      (error: PetstoreError) => {
        assert.ok(error instanceof PetstoreError && error instanceof Error)
        const { name, code, status, details } = error
        assert.deepEqual(
          { name, code, status, details, requestId: error.requestId },
          {
            name: 'PetstoreError',
            code: 'validation_failed',
            status: 400,
            details: [{ path: '/name', message: 'is required' }],
            requestId,
          },
        )
        assert.match(error.message, /\/name is required/)
        return true
      },
    )
    await assert.rejects(clientOf(service, { apiKey: 'wrong' }).limits.get(), hasCode('invalid_api_key'))
  })

  test('has the headers of a result, such as the ETag for ifMatch', async () => {
    const store = clientOf(service)
    const luna = await store.pets.create({ name: 'Luna', categoryId: 3 })
    const etag = headersOf(luna)?.get('etag') ?? ''
    await store.pets.update(luna.id, { name: 'Luna II' }, { ifMatch: etag })
    await assert.rejects(
      store.pets.update(luna.id, { name: 'Luna III' }, { ifMatch: etag }),
      hasCode('precondition_failed'),
    )
    await assert.rejects(store.pets.delete(luna.id, { ifMatch: etag }), hasCode('precondition_failed'))
  })

  test('accepts the address with and without the path of the version', async () => {
    for (const path of ['', '/', '/v1', '/v1/']) {
      const limits = await clientOf(service, { baseUrl: `${service.base}${path}` }).limits.get()
      assert.equal(limits.environment, 'production')
    }
  })

  test('sends the requests of every operation of the API', async () => {
    const called = new Set<string>()
    const templates = Object.entries(operations).map(([id, [method, path]]) => ({
      id,
      pattern: new RegExp(`^${method} /v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    }))
    const store = clientOf(service, {
      fetch: async (url, { method }) => {
        const target = `${method} ${new URL(url).pathname}`
        for (const { id, pattern } of templates) if (pattern.test(target)) called.add(id)
        return Response.json(/(?:s|audit|history)$/.test(target) ? [] : {})
      },
    })
    const { profile, photos, history } = store.pets
    for (const resource of [...Object.values(store), profile, photos, history]) {
      const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
      for (const name of methods.filter((name) => name !== 'constructor')) {
        const result = resource[name](1, name === 'add' ? new Uint8Array(1) : 2)
        if (name === 'stream') await result.return()
        else await (typeof result.page === 'function' ? result.page() : result)
      }
    }
    assertSameNames('Operations that the methods of the client call', called, Object.keys(operations))
  })

  test('marks the methods of deprecated operations', () => {
    const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'))
    const deprecated = Object.values<Record<string, { deprecated?: boolean; operationId: string }>>(
      document.paths,
    )
      .flatMap((item) => Object.values(item))
      .filter((operation) => operation.deprecated)
      .map(({ operationId }) => operationId)
    const sources = ['pets', 'store', 'changes', 'operator']
      .map((name) => readFileSync(new URL(`../../client/src/resources/${name}.ts`, import.meta.url), 'utf8'))
      .join('')
    const marked = [...sources.matchAll(/@deprecated[\s\S]*?\('(\w+)'/g)].map(([, id]) => id)
    assert.deepEqual(marked, deprecated)
  })

  test('places, approves and delivers an order, and erases its customer', async () => {
    const store = clientOf(service)
    const { id: petId } = await store.pets.create({ name: 'Nala', categoryId: 3 })
    const order = await store.orders.create({ petId, customer: { name: 'Ada Example' } })
    await assert.rejects(store.orders.create({ petId }), hasCode('pet_unavailable'))
    await store.orders.update(order.id, { status: 'approved' })
    assert.equal((await store.orders.update(order.id, { status: 'delivered' })).status, 'delivered')
    await store.orders.eraseCustomer(order.id)
    assert.equal((await store.orders.get(order.id)).customer, undefined)
    assert.ok((await store.inventory.get()).sold >= 1)
  })
})
