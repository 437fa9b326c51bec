import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CachedRow, RowCache } from '../../src/api/responseCache.ts'

const row = (name: string) => ({ etag: `"${Buffer.from(name).toString('hex')}"`, json: `{"name":"${name}"}` })

test('a row is found as it was cached last, or not at all', () => {
  const id = fc.integer({ min: 0, max: 40 })
  // Whole texts, also of more than one byte a character; some do not fit at all.
  const name = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.string({ minLength: 200, maxLength: 300 }),
  )
  const step = fc.oneof(
    { weight: 40, arbitrary: fc.record({ keep: id, name }) },
    { weight: 5, arbitrary: fc.record({ forget: id }) },
    { weight: 1, arbitrary: fc.record({ epoch: fc.constant(1) }) },
  )
  let found = 0
  fc.assert(
    fc.property(fc.array(step, { minLength: 30, maxLength: 100 }), (steps) => {
      // So small that the ring comes round, and that ids share slots.
      const cache = new RowCache({ rowsMax: 32, blocks: 3, blockBytes: 250 })
      const model = new Map<number, CachedRow>()
      let epoch = 1
      for (const one of steps) {
        if ('keep' in one) {
          cache.get(epoch, one.keep)
          cache.set(one.keep, row(one.name))
          model.set(one.keep, row(one.name))
        } else if ('forget' in one) {
          cache.delete(one.forget)
          model.delete(one.forget)
        } else {
          epoch++
          model.clear()
        }
        for (let requested = 0; requested <= 40; requested++) {
          const response = cache.get(epoch, requested)
          if (response === undefined) continue
          found++
          const expected = model.get(requested)
          assert.ok(response.etag === expected?.etag && response.json === expected?.json)
        }
      }
    }),
    { numRuns: 300 },
  )
  assert.ok(found > 1_000, `only ${found} rows were found`)
})

test('the id 0 is found only if it was cached', () => {
  const cache = new RowCache()
  assert.equal(cache.get(1, 0), undefined)
  cache.set(0, row('Milo'))
  assert.deepEqual(cache.get(1, 0), row('Milo'))
  cache.delete(0)
  assert.equal(cache.get(1, 0), undefined)
})

test('ids may be larger than 32 bits', () => {
  const cache = new RowCache()
  const ids = [1, 77, 2 ** 17 + 2, 2 ** 31 + 3, 999_999_999_999_999]
  for (const id of ids) {
    assert.equal(cache.get(1, id), undefined)
    cache.set(id, row(`No. ${id}, Žofie`))
  }
  for (const id of ids) assert.deepEqual(cache.get(1, id), row(`No. ${id}, Žofie`))
})

test('100,000 rows of the usual size are cached together', () => {
  const cache = new RowCache()
  const count = 100_000
  const of = (id: number) => ({
    etag: `"${'e'.repeat(27)}"`,
    json: `{"id":${id},"name":"Bailey","status":"available","categoryId":3}`,
  })
  cache.get(1, 1)
  for (let id = 1; id <= count; id++) cache.set(id, of(id))
  for (let id = 1; id <= count; id++) assert.deepEqual(cache.get(1, id), of(id))
})
