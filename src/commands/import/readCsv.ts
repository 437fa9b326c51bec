import { parseInt64 } from '../../api/json.ts'
import { validate } from '../../api/validation.ts'
import { type PetStatus, petStatuses } from '../../pets/pet.ts'
import { type PetRecord, petCsvFields, petRecordSchema } from '../../pets/record.ts'
import {
  type CellProblem,
  type CsvRecord,
  findDelimiter,
  joinedLines,
  parseCsvRecord,
  unmarkFormula,
} from './csv.ts'
import { LineError, problemOf } from './problems.ts'
import { countLineFeeds, lineBytesMax, type TextChunk } from './readText.ts'
import type { Batch, ReadOptions } from './records.ts'

type Field = (typeof petCsvFields)[number]

const unclosed = 'has a quotation mark that is not closed'
const containsRecords = 'contains lines that look like records: a quotation mark is probably missing'

/** The index of each field in a row. */
type Columns = { readonly [Name in Field]?: number } & {
  readonly headers: readonly string[]
  readonly delimiter: string
}

/** Reads animals from CSV. A record can have several lines, within quotation marks. */
export async function* readCsv(chunks: AsyncIterable<TextChunk>, options: ReadOptions) {
  let columns: Columns | undefined
  let nextLine = 1
  let rest = ''
  /** Returns the text of a record that may continue, if it has at most `restMax` characters. */
  const read = (text: string, batch: Batch, restMax: number): string => {
    for (let start = 0; start < text.length; ) {
      const delimiter = columns?.delimiter ?? findDelimiter(text.slice(0, endOfLine(text, 0)))
      const parsed = parseCsvRecord(text, start, delimiter)
      if (typeof parsed === 'number' && text.length - start <= restMax) return text.slice(start)
      const problem = quoteProblem(text, start, parsed, columns)
      if (problem) reportCell(problem, columns, nextLine, batch)
      else if (typeof parsed !== 'number' && !isBlank(parsed.cells)) {
        if (columns) readRow(parsed.cells, columns, nextLine, batch)
        else columns = readHeader(parsed.cells, delimiter, options)
      }
      // A wrong quotation mark makes only its own line wrong: the next ones may be records.
      const end = problem || typeof parsed === 'number' ? endOfLine(text, start) : parsed.end
      // The record may lack the line feed at its end.
      nextLine += 1 + countLineFeeds(text, start, end - 1)
      start = end
    }
    return ''
  }
  for await (const { line, text, bytes, problems } of chunks) {
    if (rest === '') nextLine = line
    const batch: Batch = { records: [], lines: [], problems: [...problems], bytes }
    rest = read(rest + (line === 1 ? text.replace(/^\ufeff/, '') : text), batch, lineBytesMax)
    yield batch
  }
  const last: Batch = { records: [], lines: [], problems: [], bytes: 0 }
  read(rest, last, 0)
  yield last
}

function quoteProblem(text: string, start: number, parsed: CsvRecord | number, columns: Columns | undefined) {
  if (typeof parsed === 'number') return { cell: parsed, reason: unclosed }
  if (parsed.problem || !columns) return parsed.problem
  const containing = parsed.multiline.find((cell) =>
    looksLikeRecords(joinedLines(text, parsed, start, cell), columns),
  )
  return containing && { cell: containing.cell, reason: containsRecords }
}

/**
 * Whether the lines of a quoted cell were probably records, which a missing quotation mark has joined: one of the lines
 * between the first and the last is a valid record, or both the first and the last are. One of these two alone proves
 * nothing: the first is a valid record if the cell is in the last column, and the last if it is in the first column.
 */
function looksLikeRecords(lines: readonly string[], columns: Columns): boolean {
  const isRecord = (text: string) => {
    const parsed = parseCsvRecord(text, 0, columns.delimiter)
    if (typeof parsed === 'number' || parsed.problem || parsed.cells.length !== columns.headers.length)
      return false
    try {
      return toPet(parsed.cells, columns) !== undefined
    } catch {
      return false
    }
  }
  const [first = '', ...others] = lines
  const last = others.pop() ?? ''
  return others.some(isRecord) || (isRecord(first) && isRecord(last))
}

/** Adds a problem with the name of its column. A header with one is an error, because no line can be read without it. */
function reportCell({ cell, reason }: CellProblem, columns: Columns | undefined, line: number, batch: Batch) {
  const problem = { line, reason: `${columns?.headers[cell] || `column ${cell + 1}`} ${reason}` }
  if (!columns) throw new Error(`Line ${line}: ${problem.reason}. Nothing was imported.`)
  batch.problems.push(problem)
}

const endOfLine = (text: string, from: number): number => text.indexOf('\n', from) + 1 || text.length
const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0]?.trim() === ''

function readHeader(cells: readonly string[], delimiter: string, options: ReadOptions): Columns {
  const headers = cells.map((cell) => cell.trim())
  const found: { [Name in Field]?: number } = {}
  for (const [at, header] of headers.entries()) {
    const field = fieldOf(header, options)
    if (field === undefined) continue
    if (found[field] !== undefined) throw new Error(`The header has two columns for ${field}.`)
    found[field] = at
  }
  const unknown = [...options.map.keys(), options.externalId].find(
    (name) => name !== undefined && !headers.includes(name),
  )
  if (unknown !== undefined)
    throw new Error(`The header has no column "${unknown}". Its columns are: ${headers.join(', ')}.`)
  for (const field of ['name', 'categoryId'] as const) {
    if (found[field] === undefined)
      throw new Error(
        `The header has no column ${field}. Its columns are: ${headers.join(', ')}. Use --map HEADER=${field}.`,
      )
  }
  return { ...found, headers, delimiter }
}

function fieldOf(header: string, { map, externalId }: ReadOptions): Field | undefined {
  if (header === externalId) return 'externalId'
  const mapped = map.get(header)
  if (mapped !== undefined) return mapped as Field
  const field = petCsvFields.find((name) => name.toLowerCase() === header.toLowerCase())
  // Another column has been chosen for it.
  const isTaken =
    [...map.values()].includes(field ?? '') || (field === 'externalId' && externalId !== undefined)
  return isTaken ? undefined : field
}

function readRow(cells: readonly string[], columns: Columns, line: number, batch: Batch): void {
  try {
    const { length } = columns.headers
    if (cells.length !== length)
      throw new LineError(`has ${cells.length} columns, but the header has ${length}`)
    batch.records.push(toPet(cells, columns))
    batch.lines.push(line)
  } catch (error) {
    batch.problems.push({ line, reason: problemOf(error) })
  }
}

const plainName = /^(?!\s*$)[^\p{Cc}\p{Cs}]{1,255}$/u
const plainId = /^[1-9]\d{0,14}$/

function toPet(cells: readonly string[], columns: Columns): PetRecord {
  const textOf = (field: Field) => unmarkFormula(cells[columns[field] ?? cells.length] ?? '')
  const cell = (field: Field) => textOf(field).trim() || undefined
  const name = textOf('name')
  const [id, categoryId] = [cell('id'), cell('categoryId')]
  const [status, externalId] = [cell('status'), cell('externalId')]
  // Without the schema, which takes several times as long.
  if (
    plainName.test(name) &&
    categoryId !== undefined &&
    plainId.test(categoryId) &&
    (id === undefined || plainId.test(id)) &&
    (externalId === undefined || plainName.test(externalId)) &&
    (status === undefined || petStatuses.includes(status as PetStatus))
  ) {
    const numbers = { id: id === undefined ? undefined : Number(id), categoryId: BigInt(categoryId) }
    return { type: 'pet', name, status: status as PetStatus | undefined, externalId, ...numbers }
  }
  // As in JSON: PostgreSQL cannot store it.
  if (`${name}${externalId}`.includes('\u0000')) throw new LineError('has a NUL character')
  const integerOf = (text: string | undefined) =>
    text === undefined ? undefined : (parseInt64(text) ?? text)
  const fields = { id: integerOf(id), categoryId: integerOf(categoryId), status, externalId }
  return validate(petRecordSchema, { name: name === '' ? undefined : name, ...fields }, 'body')
}
