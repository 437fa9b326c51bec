import {
  type CellProblem,
  type CsvRecord,
  findDelimiter,
  type JoinedLines,
  joinedLines,
  parseCsvRecord,
  unclosed,
} from './csv.ts'
import { FileError, type Problem, problemOf } from './problem.ts'
import { chunkBytes, countLineFeeds, type TextChunk } from './readText.ts'

/** The maximum length of a record with several lines. Beyond it, its quotation mark counts as not closed. */
const multilineLengthMax = 256 * 1024
/** The records of one step. A step also ends after `chunkBytes`. */
const recordsPerStep = 1_000
const containsRecords = 'contains lines that look like records: a quotation mark is probably missing'

/** Reads the lines of a file, after its header. */
export type RowReader<T> = {
  readonly headings: readonly string[]
  /** Undefined for a line that is left out. Throws a `LineError` for a wrong one. */
  read(cells: readonly string[]): T | undefined
  /** Whether a text is probably a line of the file, and not a part of a cell. */
  isRow(cells: readonly string[]): boolean
}

export type WrongRow = Problem & {
  readonly error?: unknown
  /** The line, if it could not be divided into cells. */
  readonly text?: string
}

/** Some lines of a file, and the wrong ones among them. */
export type Rows<T> = {
  readonly rows: T[]
  /** The number of the line of each row. */
  readonly lines: number[]
  readonly problems: WrongRow[]
  /** How many records were read, also the header, blank ones and those that are left out. */
  records: number
  readonly bytes: number
}

type File<T> = { readonly reader: RowReader<T>; readonly delimiter: string }

/** Reads CSV. A record can have several lines, within quotation marks. */
export async function* readCsv<T>(
  chunks: AsyncIterable<TextChunk> | Iterable<TextChunk>,
  createReader: (header: readonly string[]) => RowReader<T>,
): AsyncGenerator<Rows<T>> {
  let file: File<T> | undefined
  let nextLine = 1
  /** A record that may continue, and the text after it. */
  let waiting: string[] = []
  let waitingLength = 0
  /** It is read again when it has twice its length, so that the total time stays linear. */
  let readLength = 0
  const findHeader = headerFinder(createReader)
  /** Reads the waiting text. Keeps a record that may continue, if it has at most `restMax` characters. */
  function* read(first: Rows<T>, restMax: number): Generator<Rows<T>> {
    const text = waiting.join('')
    let found = first
    let pieceEnd = chunkBytes
    let start = 0
    while (start < text.length) {
      const delimiter = file?.delimiter ?? findDelimiter(text.slice(start, endOfLine(text, start)))
      const parsed = parseCsvRecord(text, start, delimiter)
      if ('reason' in parsed && parsed.reason === unclosed && text.length - start <= restMax) break
      found.records++
      const problem = 'reason' in parsed ? parsed : file && joinedRecords(text, start, parsed, file)
      if (problem) reportCell(problem, file, nextLine, text.slice(start, endOfLine(text, start)), found)
      else if ('cells' in parsed && !isBlank(parsed.cells)) {
        if (file) readRow(parsed.cells, file.reader, nextLine, found)
        else {
          const reader = findHeader(parsed.cells)
          file = reader && { reader, delimiter }
        }
      }
      // A wrong quotation mark makes only its own line wrong: the next ones may be records.
      const end = problem || 'reason' in parsed ? endOfLine(text, start) : parsed.end
      // The record may lack the line feed at its end.
      nextLine += 1 + countLineFeeds(text, start, end - 1)
      start = end
      if (start < pieceEnd && found.records < recordsPerStep) continue
      yield found
      found = noRows()
      pieceEnd = start + chunkBytes
    }
    waiting = [text.slice(start)]
    waitingLength = text.length - start
    readLength = Math.min(2 * waitingLength, restMax + 1)
    yield found
  }
  for await (const { line, text, bytes, problems } of chunks) {
    if (waitingLength === 0) nextLine = line
    waiting.push(line === 1 ? text.replace(/^\ufeff/, '') : text)
    waitingLength += text.length
    const found = { ...noRows<T>(), problems: [...problems], bytes }
    if (waitingLength < readLength) yield found
    else yield* read(found, multilineLengthMax)
  }
  yield* read(noRows(), 0)
  if (!file) findHeader(undefined)
}

const noRows = <T>(): Rows<T> => ({ rows: [], lines: [], problems: [], records: 0, bytes: 0 })

const titlesMax = 10

/** Finds the header after the titles of a report, which are rows with one cell. Undefined for a title. */
function headerFinder<T>(createReader: (header: readonly string[]) => RowReader<T>) {
  let titles = 0
  let firstError: unknown
  return (cells: readonly string[] | undefined): RowReader<T> | undefined => {
    try {
      if (cells) return createReader(cells)
    } catch (error) {
      firstError ??= error
      const isTitle = cells?.filter((cell) => cell.trim() !== '').length === 1
      if (isTitle && titles++ < titlesMax) return undefined
    }
    if (firstError !== undefined) throw firstError
    return undefined
  }
}

function joinedRecords<T>(
  text: string,
  start: number,
  record: CsvRecord,
  file: File<T>,
): CellProblem | undefined {
  const containing = record.multiline.find((cell) =>
    looksLikeRecords(joinedLines(text, record, start, cell), file),
  )
  return containing && { cell: containing.cell, reason: containsRecords }
}

/**
 * Whether the lines of a quoted cell were probably records, which a missing quotation mark has joined: one of the lines
 * between the first and the last is a valid record, or both the first and the last are. One of these two alone proves
 * nothing: the first is a valid record if the cell is in the last column, and the last if it is in the first column.
 */
function looksLikeRecords<T>({ first, between, last }: JoinedLines, { reader, delimiter }: File<T>): boolean {
  const isRecord = (text: string) => {
    const parsed = parseCsvRecord(text, 0, delimiter)
    return 'cells' in parsed && reader.isRow(parsed.cells)
  }
  return between.some(isRecord) || (isRecord(first) && isRecord(last))
}

/** Adds a problem with the name of its column. A header with one is an error, because no line can be read without it. */
function reportCell<T>(
  { cell, reason }: CellProblem,
  file: File<T> | undefined,
  line: number,
  text: string,
  found: Rows<T>,
) {
  const problem = {
    line,
    text: text.trimEnd(),
    reason: `${file?.reader.headings[cell] || `column ${cell + 1}`} ${reason}`,
  }
  if (!file) throw new FileError(`Line ${line}: ${problem.reason}. Nothing was imported.`)
  found.problems.push(problem)
}

const endOfLine = (text: string, from: number): number => text.indexOf('\n', from) + 1 || text.length
const isBlank = (cells: readonly string[]): boolean => cells.every((cell) => cell.trim() === '')

function readRow<T>(cells: readonly string[], reader: RowReader<T>, line: number, found: Rows<T>): void {
  try {
    const row = reader.read(cells)
    if (row === undefined) return
    found.rows.push(row)
    found.lines.push(line)
  } catch (error) {
    found.problems.push({ line, reason: problemOf(error), error })
  }
}
