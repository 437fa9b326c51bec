import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CachedRow, RowCache } from '../../src/api/responseCache.ts'

const row = (name: string) => ({ etag: `"${Buffer.from(name).toString('hex')}"`, json: `{"name":"${name}"}` })

/** As it is found: with what its answer needs to know of it. */
function measured({ etag, json }: CachedRow) {
  const bytes = new TextEncoder().encode(json).length
  return { etag, json, bytes, isAscii: bytes === json.length }
}

test('what is found is what was kept last, or nothing', () => {
  const id = fc.integer({ min: 1, max: 40 })
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
      // So small that the ring comes round, and that ids share places.
      const kept = new RowCache({ rowsMax: 32, pieces: 3, pieceBytes: 250 })
      const model = new Map<number, ReturnType<typeof measured>>()
      let epoch = 1
      for (const one of steps) {
        if ('keep' in one) {
          kept.find(epoch, one.keep)
          kept.keep(one.keep, row(one.name))
          model.set(one.keep, measured(row(one.name)))
        } else if ('forget' in one) {
          kept.forget(one.forget)
          model.delete(one.forget)
        } else {
          epoch++
          model.clear()
        }
        for (let asked = 1; asked <= 40; asked++) {
          const answer = kept.find(epoch, asked)
          if (answer === undefined) continue
          found++
          assert.deepEqual(answer, model.get(asked))
        }
      }
    }),
    { numRuns: 300 },
  )
  assert.ok(found > 1_000, `only ${found} were found: it keeps too little to be worth anything`)
})

test('what fits is kept, up to ids beyond 32 bits', () => {
  const kept = new RowCache()
  const ids = [1, 77, 2 ** 17 + 2, 2 ** 31 + 3, 999_999_999_999_999]
  for (const id of ids) {
    assert.equal(kept.find(1, id), undefined)
    kept.keep(id, row(`No. ${id}, Žofie`))
  }
  for (const id of ids) assert.deepEqual(kept.find(1, id), measured(row(`No. ${id}, Žofie`)))
})

test('a hundred thousand of the usual size are kept together', () => {
  const kept = new RowCache()
  const count = 100_000
  const of = (id: number) => ({
    etag: `"${'e'.repeat(27)}"`,
    json: `{"id":${id},"name":"Bailey","status":"available","categoryId":3}`,
  })
  kept.find(1, 1)
  for (let id = 1; id <= count; id++) kept.keep(id, of(id))
  for (let id = 1; id <= count; id++) assert.deepEqual(kept.find(1, id), measured(of(id)))
})
