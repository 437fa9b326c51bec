import { type CellProblem, type CsvRecord, findDelimiter, joinedLines, parseCsvRecord } from './csv.ts'
import { FileError, type Problem, problemOf } from './problem.ts'
import { countLineFeeds, lineBytesMax, type TextChunk } from './readText.ts'

const unclosed = 'has a quotation mark that is not closed'
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
  let rest = ''
  const findHeader = headerFinder(createReader)
  /** Returns the text of a record that may continue, if it has at most `restMax` characters. */
  const read = (text: string, found: Rows<T>, restMax: number): string => {
    for (let start = 0; start < text.length; ) {
      const delimiter = file?.delimiter ?? findDelimiter(text.slice(start, endOfLine(text, start)))
      const parsed = parseCsvRecord(text, start, delimiter)
      if (typeof parsed === 'number' && text.length - start <= restMax) return text.slice(start)
      const problem = quoteProblem(text, start, parsed, file)
      if (problem) reportCell(problem, file, nextLine, text.slice(start, endOfLine(text, start)), found)
      else if (typeof parsed !== 'number' && !isBlank(parsed.cells)) {
        if (file) readRow(parsed.cells, file.reader, nextLine, found)
        else {
          const reader = findHeader(parsed.cells)
          file = reader && { reader, delimiter }
        }
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
    const found: Rows<T> = { rows: [], lines: [], problems: [...problems], bytes }
    rest = read(rest + (line === 1 ? text.replace(/^\ufeff/, '') : text), found, lineBytesMax)
    yield found
  }
  const last: Rows<T> = { rows: [], lines: [], problems: [], bytes: 0 }
  read(rest, last, 0)
  if (!file) findHeader(undefined)
  yield last
}

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

function quoteProblem<T>(text: string, start: number, parsed: CsvRecord | number, file: File<T> | undefined) {
  if (typeof parsed === 'number') return { cell: parsed, reason: unclosed }
  if (parsed.problem || !file) return parsed.problem
  const containing = parsed.multiline.find((cell) =>
    looksLikeRecords(joinedLines(text, parsed, start, cell), file),
  )
  return containing && { cell: containing.cell, reason: containsRecords }
}

/**
 * Whether the lines of a quoted cell were probably records, which a missing quotation mark has joined: one of the lines
 * between the first and the last is a valid record, or both the first and the last are. One of these two alone proves
 * nothing: the first is a valid record if the cell is in the last column, and the last if it is in the first column.
 */
function looksLikeRecords<T>(lines: readonly string[], { reader, delimiter }: File<T>): boolean {
  const isRecord = (text: string) => {
    const parsed = parseCsvRecord(text, 0, delimiter)
    return typeof parsed !== 'number' && !parsed.problem && reader.isRow(parsed.cells)
  }
  const [first = '', ...others] = lines
  const last = others.pop() ?? ''
  return others.some(isRecord) || (isRecord(first) && isRecord(last))
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
