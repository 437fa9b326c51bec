import { categoryNameLengthMax } from '../categories/schemas.ts'
import { petStatuses } from '../pets/pet.ts'
import { attributesMax, breedsMax, colorsMax } from '../profiles/schemas.ts'
import { type ImportedAnimal, mergeAnimals } from './animal.ts'
import { type Column, type ColumnOptions, type Columns, recognizeColumns } from './columns.ts'
import { unmarkFormula } from './csv/csv.ts'
import { LineError } from './csv/problem.ts'
import type { RowReader } from './csv/readCsv.ts'
import { exportFields, type ImportField } from './fields.ts'
import { headingKey, isId, stem, usualKind } from './values/simplify.ts'
import { type ReadContext, ValueError } from './values/values.ts'

export type RecognizeOptions = ColumnOptions & ReadContext

/** A line that is wrong, and the animal that it is about, as far as it can be read. */
export class AnimalLineError extends LineError {
  readonly externalId: string | undefined

  constructor(message: string, externalId: string | undefined) {
    super(message)
    this.externalId = externalId
  }
}

/** Recognizes the columns of a file by its header, and reads its lines as animals. */
export type AnimalReader = RowReader<ImportedAnimal> & { readonly columns: Columns }

export function createAnimalReader(header: readonly string[], options: RecognizeOptions): AnimalReader {
  const columns = recognizeColumns(header, options)
  const isExport = columns.isOwnFormat && columns.used.every(({ fields }) => isExportField(fields))
  const at = new Map(columns.headings.map((heading, index) => [headingKey(heading), index]))
  /** The kinds of animals so far, by which a line is recognized as one of an animal. */
  const kinds = new Set<string>()
  const read = (row: readonly string[]): ImportedAnimal | undefined => {
    const cells = withoutBlankEnd(row, columns.headings.length)
    const animal = isExport ? readExportedRow(cells, columns) : undefined
    if (animal) return animal
    if (isHeader(cells, columns.headings)) return undefined
    const cellOf = (heading: string) => cells[at.get(headingKey(heading)) ?? -1]?.trim() ?? ''
    return readAnimal(cells, columns, options, cellOf)
  }
  return {
    columns,
    headings: columns.headings,
    read(row) {
      const animal = read(row)
      if (animal?.category !== undefined && kinds.size < kindsMax) kinds.add(stem(animal.category))
      return animal
    },
    isRow(row) {
      try {
        const animal = row.length === columns.headings.length ? read(row) : undefined
        if (animal?.name === undefined || animal.category === undefined) return false
        const { category } = animal
        return isId(category) || kinds.has(stem(category)) || usualKind(category) !== undefined
      } catch {
        return false
      }
    },
  }
}

const kindsMax = 1_000

/** The header again, as in reports with pages. */
const isHeader = (row: readonly string[], headings: readonly string[]): boolean =>
  row.every((cell, at) => cell.trim() === (headings[at] ?? ''))

function withoutBlankEnd(row: readonly string[], length: number): readonly string[] {
  const isLonger = row.length > length && row.slice(length).every((cell) => cell.trim() === '')
  if (row.length === length) return row
  if (isLonger) return row.slice(0, length)
  throw new LineError(`has ${row.length} columns, but the header has ${length}`)
}

const isExportField = ([field]: readonly ImportField[]): boolean =>
  exportFields.some((name) => name === field)
const usualName = /^(?!\s*$)[^\p{Cc}\p{Cs}]{1,255}$/u
const usualId = /^[1-9]\d{0,14}$/

/** The usual line of an export, in a fraction of the time. */
function readExportedRow(row: readonly string[], { used }: Columns): ImportedAnimal | undefined {
  const animal: Record<string, string | number> = {}
  for (const { at, fields } of used) {
    const field = fields[0] as ImportField
    const exact = unmarkFormula(row[at] ?? '')
    const text = field === 'name' ? exact : exact.trim()
    if (text === '' && field !== 'name' && field !== 'categoryId') continue
    const isUsual =
      field === 'status'
        ? (petStatuses as readonly string[]).includes(text)
        : field === 'id' || field === 'categoryId'
          ? usualId.test(text)
          : usualName.test(text)
    if (!isUsual) return undefined
    animal[field === 'categoryId' ? 'category' : field] = field === 'id' ? Number(text) : text
  }
  return animal
}

function readAnimal(
  row: readonly string[],
  columns: Columns,
  context: ReadContext,
  cellOf: (heading: string) => string,
): ImportedAnimal {
  const { preset, isOwnFormat, used } = columns
  const problems: string[] = []
  let animal: ImportedAnimal = preset ? { source: preset.name } : {}
  for (const column of used) {
    const exact = unmarkFormula(row[column.at] ?? '')
    // As in JSON: PostgreSQL cannot store it.
    if (exact.includes('\u0000')) throw new LineError('has a NUL character')
    const text = isOwnFormat && column.fields.includes('name') ? exact : exact.trim()
    const isBlank = text.trim() === '' || (preset?.blanks?.includes(text) ?? false)
    if (isBlank && !column.readsBlanks) continue
    for (const read of column.readers) {
      try {
        animal = mergeAnimals(animal, read(isBlank ? '' : text, context, cellOf) ?? {})
      } catch (error) {
        if (!(error instanceof ValueError)) throw error
        problems.push(describe(column, error.message, text))
      }
    }
  }
  if (problems.length > 0) throw new AnimalLineError(problems.join('; '), animal.externalId)
  return { ...animal, ...(animal.kind !== undefined && { category: animal.category ?? animal.kind }) }
}

const shownLengthMax = 60

/** Such as: Sex must be male or female, but is "Maybe". */
function describe({ heading }: Column, problem: string, text: string): string {
  // Only the beginning, because the text can have millions of characters.
  const characters = [...text.slice(0, 100 * shownLengthMax).replaceAll(/\s+/g, ' ')]
  const shown =
    characters.length > shownLengthMax
      ? `${characters.slice(0, shownLengthMax).join('')}…`
      : characters.join('')
  return `${heading} ${problem}, but is "${shown}"`
}

/** The animal after all its lines were read. */
export function completeAnimal(
  { assumed = {}, ...known }: ImportedAnimal,
  { used, preset }: Columns,
): ImportedAnimal {
  const animal = mergeAnimals(known, assumed)
  // Shelters have animals without a name.
  const { externalId, category, name = preset && externalId } = animal
  const headingOf = (...fields: ImportField[]) =>
    used.find((column) => fields.some((field) => column.fields.includes(field)))?.heading ??
    `a column ${fields[0]}`
  const missing = [
    ...(name === undefined ? [headingOf('name')] : []),
    ...(category === undefined ? [headingOf('category', 'categoryId', 'species')] : []),
    ...(preset && externalId === undefined ? [headingOf('externalId')] : []),
  ]
  const problems = [...missing.map((heading) => `${heading} is required`), ...limitProblems(animal)]
  if (name === undefined || problems.length > 0) throw new AnimalLineError(problems.join('; '), externalId)
  return { ...animal, name }
}

function limitProblems({
  category = '',
  profile: { breeds, colors, attributes } = {},
}: ImportedAnimal): string[] {
  const counts = [
    [breeds?.length, breedsMax, 'breeds'],
    [colors?.length, colorsMax, 'colors'],
    [Object.keys(attributes ?? {}).length, attributesMax, 'attributes'],
  ] as const
  const problems = counts.flatMap(([count = 0, max, what]) =>
    count > max ? `has more than ${max} ${what}` : [],
  )
  return [...category].length > categoryNameLengthMax
    ? [...problems, `the name of the category has more than ${categoryNameLengthMax} characters`]
    : problems
}
