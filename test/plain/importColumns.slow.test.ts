import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FileError } from '../../src/imports/csv/problem.ts'
import { usualHeadings } from '../../src/imports/headings.ts'
import { readAnimals } from '../support/importedAnimals.ts'

test('no CSV makes the reader fail in another way', async () => {
  const headings = usualHeadings.flatMap(([, list]) => list.split(', '))
  const cell = fc.oneof(
    fc.constantFrom(
      '',
      'yes',
      '1/2/2024',
      'dog',
      'A-1',
      '5',
      '"',
      "'=x",
      'data:,',
      '2Y/ 4M/ 26D',
      '<p>',
      '\u0000',
    ),
    fc.string({ unit: 'binary', maxLength: 8 }),
  )
  const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 8 }), { maxLength: 6 })
  const header = fc.array(
    fc.oneof(fc.constantFrom(...headings, 'name', 'categoryId', 'ANIMALCODE', 'ANIMALNAME'), cell),
    {
      maxLength: 8,
    },
  )
  const property = fc.asyncProperty(
    header,
    rows,
    fc.constantFrom(',', ';', '\t'),
    async (first, all, delimiter) => {
      const text = [['name', 'species', ...first], ...all].map((row) => row.join(delimiter)).join('\n')
      try {
        await readAnimals(text)
      } catch (error) {
        assert.ok(error instanceof FileError || /^Line 1: /.test((error as Error).message), String(error))
      }
    },
  )
  await fc.assert(property, { numRuns: 2_000 })
})
