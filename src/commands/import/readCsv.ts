import { parseInt64 } from '../../api/json.ts'
import { validate } from '../../api/validation.ts'
import { type PetStatus, petStatuses } from '../../pets/pet.ts'
import { findDelimiter, parseCsvRecord } from './csv.ts'
import { LineError, problemOf } from './problems.ts'
import { countLineFeeds, lineBytesMax, type TextChunk } from './readText.ts'
import { type Batch, type PetRecord, petSchema, type ReadOptions } from './records.ts'

export const csvFields = ['id', 'externalId', 'name', 'categoryId', 'status'] as const
type Field = (typeof csvFields)[number]

const unclosedQuote = 'a quotation mark is not closed'

/** The index of each field in a row. */
type Columns = { readonly [Name in Field]?: number } & { readonly count: number; readonly delimiter: string }

/** Reads animals from CSV. A record can have several lines, within quotation marks. */
export async function* readCsv(
  chunks: AsyncIterable<TextChunk>,
  options: ReadOptions,
): AsyncGenerator<Batch> {
  let columns: Columns | undefined
  let rest = ''
  let line = 1
  for await (const chunk of chunks) {
    if (rest === '') line = chunk.line
    const batch: Batch = { records: [], lines: [], problems: [...chunk.problems], bytes: chunk.bytes }
    const text = rest + (chunk.line === 1 ? chunk.text.replace(/^\ufeff/, '') : chunk.text)
    rest = ''
    for (let start = 0; start < text.length; ) {
      const parsed = parseCsvRecord(text, start, columns?.delimiter ?? findDelimiter(firstLine(text)))
      if (!parsed && text.length - start <= lineBytesMax) {
        rest = text.slice(start)
        break
      }
      // A quotation mark that is never closed makes only its own line wrong.
      const end = parsed?.end ?? nextLine(text, start)
      if (!parsed) batch.problems.push({ line, reason: unclosedQuote })
      else if (!isBlank(parsed.cells)) {
        if (!columns) columns = readHeader(parsed.cells, firstLine(text), options)
        else readRow(parsed.cells, columns, line, batch)
      }
      // The record may lack the line feed at its end.
      line += 1 + (parsed ? countLineFeeds(text, start, end - 1) : 0)
      start = end
    }
    yield batch
  }
  if (rest !== '') yield { records: [], lines: [], problems: [{ line, reason: unclosedQuote }], bytes: 0 }
}

const firstLine = (text: string): string => text.slice(0, nextLine(text, 0))
const nextLine = (text: string, from: number): number => text.indexOf('\n', from) + 1 || text.length
const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0]?.trim() === ''

function readHeader(cells: readonly string[], line: string, options: ReadOptions): Columns {
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
  return { ...found, count: headers.length, delimiter: findDelimiter(line) }
}

function fieldOf(header: string, { map, externalId }: ReadOptions): Field | undefined {
  if (header === externalId) return 'externalId'
  const mapped = map.get(header)
  if (mapped !== undefined) return mapped as Field
  const field = csvFields.find((name) => name.toLowerCase() === header.toLowerCase())
  // Another column has been chosen for it.
  const isTaken =
    [...map.values()].includes(field ?? '') || (field === 'externalId' && externalId !== undefined)
  return isTaken ? undefined : field
}

function readRow(cells: readonly string[], columns: Columns, line: number, batch: Batch): void {
  try {
    if (cells.length !== columns.count)
      throw new LineError(`has ${cells.length} columns, but the header has ${columns.count}`)
    batch.records.push(toPet(cells, columns))
    batch.lines.push(line)
  } catch (error) {
    batch.problems.push({ line, reason: problemOf(error) })
  }
}

const plainName = /^(?!\s*$)[^\p{Cc}\p{Cs}]{1,255}$/u
const plainId = /^[1-9]\d{0,14}$/

function toPet(cells: readonly string[], columns: Columns): PetRecord {
  const cell = (field: Field) => cells[columns[field] ?? cells.length]?.trim() || undefined
  const name = cells[columns.name ?? 0] ?? ''
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
  return validate(petSchema, { name: name === '' ? undefined : name, ...fields }, 'body')
}
