import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ImportedAnimal } from '../../src/imports/animal.ts'
import { formatCsvRecord, markFormula, unmarkFormula } from '../../src/imports/csv/csv.ts'
import { readAnimals } from '../support/importedAnimals.ts'

async function read(text: string) {
  const { animals, problems } = await readAnimals(text)
  return { pets: animals, problems }
}

const namesOf = (pets: readonly ImportedAnimal[]) => pets.map(({ name }) => name)
const csv = (...rows: string[]) => rows.map((row) => `${row}\r\n`).join('')

describe('a stray quotation mark makes its line wrong, names the column, and merges nothing', () => {
  const header = 'name,categoryId,note'
  const afterClosing = 'has text after its closing quotation mark'
  const containsRecords = 'contains lines that look like records: a quotation mark is probably missing'
  const cases: [what: string, rows: string[], problems: [number, string][], names: string[]][] = [
    ['text after a closing one', ['"Milo" the cat,3,', 'Luna,4,'], [[2, `name ${afterClosing}`]], ['Luna']],
    ['text after one, in a column that is ignored', ['Milo,3,"a"b'], [[2, `note ${afterClosing}`]], []],
    [
      'a missing closing one before an opening one',
      ['"Milo,3,', 'Luna,4,', '"Rex",5,'],
      [[2, `name ${afterClosing}`]],
      ['Luna', 'Rex'],
    ],
    [
      'a missing closing one, closed three records later',
      ['"Milo,3,', 'Luna,4,', 'Rex",5,'],
      [
        [2, `name ${containsRecords}`],
        [4, 'name ends with a quotation mark but does not begin with one'],
      ],
      ['Luna'],
    ],
    [
      'a missing closing one, closed in the next record',
      ['Milo,3,"x', 'Luna,4,y"', 'Rex,5,'],
      [
        [2, `note ${containsRecords}`],
        [3, 'note ends with a quotation mark but does not begin with one'],
      ],
      ['Rex'],
    ],
    [
      'a missing opening one',
      ['Milo",3,'],
      [[2, 'name ends with a quotation mark but does not begin with one']],
      [],
    ],
    [
      'one that is never closed',
      ['"Milo,3,', 'Luna,4,'],
      [[2, 'name has a quotation mark that is not closed']],
      ['Luna'],
    ],
  ]
  for (const [what, rows, problems, names] of cases) {
    test(what, async () => {
      const result = await read(csv(header, ...rows))
      assert.deepEqual(
        result.problems.map(({ line, reason }) => [line, reason]),
        problems,
      )
      assert.deepEqual(namesOf(result.pets), names)
    })
  }

  test('in the header', async () => {
    await assert.rejects(
      read('"name"x,categoryId\nMilo,3\n'),
      /^Error: Line 1: column 1 has text after its closing/,
    )
    await assert.rejects(
      read('name,"categoryId\nMilo,3\n'),
      /Line 1: column 2 has a quotation mark that is not closed/,
    )
  })
})

describe('what is not a stray quotation mark stays as it is', () => {
  for (const [what, rows, names] of [
    ['a cell with line breaks in the first column', ['"Mi\nlo, the\n\ncat",3,x'], ['Mi\nlo, the\n\ncat']],
    ['one in the last column', ['Milo,3,"two\nlines"', 'Luna,4,'], ['Milo', 'Luna']],
    ['two in one record', ['"Mi\nlo",3,"two\nlines"', 'Luna,4,'], ['Mi\nlo', 'Luna']],
    ['lines with as many cells as a record, but no valid values', ['Milo,3,"a\nb,c,d\ne"'], ['Milo']],
    ['lines with fewer cells than a record', ['Milo,3,"a\nb,3\ne"'], ['Milo']],
    ['spaces after a closing one', ['"Milo" ,3 ,"x"\t'], ['Milo']],
    [
      'quotation marks inside a cell without any around it',
      ['Rex 5" tall,3,', 'Rex "the" dog,3,'],
      ['Rex 5" tall', 'Rex "the" dog'],
    ],
    ['doubled ones', ['"a ""b"" """,3,""""'], ['a "b" "']],
  ] as const) {
    test(what, async () => {
      const { pets, problems } = await read(csv('name,categoryId,note', ...rows))
      assert.deepEqual(problems, [])
      assert.deepEqual(namesOf(pets), names)
    })
  }
})

/** Texts with many characters that mean something in CSV. */
const text = fc
  .string({
    unit: fc.constantFrom('a', '1', '"', '"', ',', ';', '\n', '\r\n', ' ', "'", '-'),
    minLength: 1,
    maxLength: 12,
  })
  .filter((value) => unmarkFormula(value).trim() !== '')
const row = fc.record({ name: text, categoryId: fc.integer({ min: -99, max: 99 }), note: text })
const rows = fc.array(row, { minLength: 1, maxLength: 6 })
type Row = { name: string; categoryId: number; note: string }

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
/** Every text is quoted, so that each has a quotation mark to lose. */
const fileOf = (all: readonly Row[], newline = '\n') =>
  [
    'name,categoryId,note',
    ...all.map(({ name, categoryId, note }) => [quoted(name), categoryId, quoted(note)].join()),
  ]
    .map((line) => `${line}${newline}`)
    .join('')
/** A line of one of these texts may look like a record, by the number of its delimiters. */
const isAmbiguous = (all: readonly Row[]) =>
  all.some(({ name, note }) =>
    [name, note].some((cell) => /^[^\n]*,[^\n]*,/m.test(cell) && cell.includes('\n')),
  )

describe('for every file', () => {
  test('well-formed CSV is read exactly', async () => {
    const property = fc.asyncProperty(rows, fc.constantFrom('\n', '\r\n'), async (all, newline) => {
      fc.pre(!isAmbiguous(all))
      const { pets, problems } = await read(fileOf(all, newline))
      assert.deepEqual(problems, [])
      assert.deepEqual(
        pets.map(({ name, category }) => [name, Number(category)]),
        all.map(({ name, categoryId }) => [unmarkFormula(name), categoryId]),
      )
    })
    await fc.assert(property, { numRuns: 500 })
  })

  test('what an export writes is read exactly', async () => {
    const property = fc.asyncProperty(rows, async (all) => {
      fc.pre(!isAmbiguous(all))
      const cells = all.map(({ name, categoryId, note }) =>
        [name, note].map(markFormula).toSpliced(1, 0, String(categoryId)),
      )
      const file = [['name', 'categoryId', 'note'], ...cells]
        .map((each) => `${formatCsvRecord(each)}\n`)
        .join('')
      const { pets, problems } = await read(file)
      assert.deepEqual(problems, [])
      assert.deepEqual(
        namesOf(pets),
        all.map(({ name }) => name),
      )
    })
    await fc.assert(property, { numRuns: 500 })
  })

  test('one removed quotation mark is reported', async () => {
    const property = fc.asyncProperty(rows, fc.nat(), async (all, at) => {
      const file = fileOf(all)
      const marks = [...file.matchAll(/"/g)].map(({ index }) => index)
      const removed = marks[at % marks.length] as number
      const { problems } = await read(file.slice(0, removed) + file.slice(removed + 1))
      assert.ok(problems.length > 0)
    })
    await fc.assert(property, { numRuns: 2_000 })
  })
})
