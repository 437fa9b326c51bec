import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Pet, parseJson, toJson } from '../../client/src/index.ts'
import { clientOf } from '../support/petstoreClient.ts'
import { useService } from '../support/useService.ts'

const service = useService()

describe('results of the client as JSON', () => {
  test('every animal of the service can be written, read and sent again, also with a category id beyond 2^53', async () => {
    const store = clientOf(service)
    const pets: Pet[] = []
    for (const categoryId of [3, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)])
      pets.unshift(await store.pets.create({ name: `In ${categoryId}`, categoryId }))
    assert.throws(() => JSON.stringify(pets), TypeError)
    const text = toJson(pets)
    const { text: sent } = await service.request('GET', '/v1/pets', { key: service.operatorKey })
    assert.equal(text, sent)
    assert.deepEqual(parseJson(text), await store.pets.list().toArray({ limit: Infinity }))
    assert.deepEqual(parseJson(toJson(pets, 2)), pets)
    const [{ id: _, ...largest }] = parseJson(text) as [Pet]
    const copy = await store.pets.create(largest)
    assert.equal(copy.categoryId, -(2n ** 63n))
  })

  test('is what JSON.stringify and JSON.parse make of it, apart from large integers', () => {
    for (const text of ['[0123456789012345678]', '[-00000000000000001]', '[1234567890123456789.]'])
      assert.throws(() => parseJson(text), SyntaxError)
    const at = new Date(0)
    const values = [{ a: [1, undefined, 0.5, Number.NaN], b: undefined, at }, 'text', null, true, [], 1e300]
    for (const value of values.filter((value) => value !== 1e300))
      for (const space of [undefined, 2, '\t']) {
        assert.equal(toJson(value, space), JSON.stringify(value, null, space))
        assert.equal(
          toJson([2n ** 60n, value], space),
          toJson([0, value], space).replace('0', String(2n ** 60n)),
        )
      }
    assert.equal(toJson({ id: 7n }), '{"id":7}')
    // A number beyond 2^53 may be rounded already.
    assert.throws(() => toJson(values), RangeError)
    for (const value of [undefined, () => {}, Symbol('none')]) assert.throws(() => toJson(value), TypeError)
  })

  test('texts and names are unchanged, also those that look like the marks of large integers', () => {
    const integer = '\0int:12345678901234567890'
    const texts = [
      integer,
      '\0int:\0int:5',
      '\0',
      '"\0int:5',
      '\\"\0int:5"',
      '\\u0000int:5',
      `${integer}x`,
      '\0\u2028"',
      '9007199254740993',
    ]
    for (const text of texts) {
      const value = { [text]: text, list: [text, 2n ** 60n], text }
      assert.deepEqual(parseJson(toJson(value)), value)
      assert.deepEqual(parseJson(toJson(value, 2)), value)
      assert.deepEqual(JSON.parse(toJson(value)), { ...value, list: [text, 2 ** 60] })
      assert.deepEqual(parseJson(toJson(value).replaceAll('":', '" \n:')), value)
    }
  })
})
