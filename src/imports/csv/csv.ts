/** A cell whose quotation marks are wrong. */
export type CellProblem = { readonly cell: number; readonly reason: string }

/** A quoted cell with line breaks, by the indexes of its quotation marks. */
type MultilineCell = { readonly cell: number; readonly open: number; readonly close: number }

export type CsvRecord = {
  readonly cells: string[]
  readonly end: number
  readonly multiline: readonly MultilineCell[]
}

export const unclosed = 'has a quotation mark that is not closed'

/**
 * Reads the cells of one CSV record (RFC 4180), up to the first wrong one. After a wrong record, the reader continues with
 * its second line. This takes linear time: no line between the first one and the wrong cell begins a record of several
 * lines without an error before that cell.
 */
export function parseCsvRecord(text: string, start: number, delimiter: string): CsvRecord | CellProblem {
  const lineEnd = text.indexOf('\n', start)
  const stop = lineEnd === -1 ? text.length : lineEnd
  const line = text.slice(start, stop)
  if (!line.includes('"'))
    return { cells: withoutReturn(line).split(delimiter), end: stop + 1, multiline: [] }
  const cells: string[] = []
  const multiline: MultilineCell[] = []
  for (let at = start; ; ) {
    const cell = cells.length
    const open = at
    if (text[open] !== '"') {
      at = endOfCell(text, open, delimiter)
      const content = text.slice(open, at)
      if (lacksOpeningQuote(content))
        return { cell, reason: 'ends with a quotation mark but does not begin with one' }
      cells.push(content)
    } else {
      const close = closingQuote(text, open + 1)
      if (close === -1) return { cell, reason: unclosed }
      const content = text.slice(open + 1, close)
      cells.push(content.replaceAll('""', '"'))
      if (content.includes('\n')) multiline.push({ cell, open, close })
      at = endOfCell(text, close + 1, delimiter)
      if (text.slice(close + 1, at).trim() !== '')
        return { cell, reason: 'has text after its closing quotation mark' }
    }
    if (text[at] === delimiter) at++
    else {
      if (text[open] !== '"' && text[at - 1] === '\r') cells[cell] = withoutReturn(cells[cell] ?? '')
      return { cells, end: at + 1, multiline }
    }
  }
}

/** Between quotation marks, a cell has an even number of them, and so an odd one if its first is missing. */
const lacksOpeningQuote = (content: string): boolean =>
  content.trimEnd().endsWith('"') && content.split('"').length % 2 === 0

/** Only this many lines of a cell are checked for being records. */
const joinedLinesMax = 1_000

export type JoinedLines = { readonly first: string; readonly between: string[]; readonly last: string }

/**
 * The lines of the text that a quoted cell has made one record, without the quotation marks of the cell. The first and the
 * last one have the other cells of the record.
 */
export function joinedLines(
  text: string,
  { end }: CsvRecord,
  start: number,
  { open, close }: MultilineCell,
): JoinedLines {
  const from = Math.max(start, text.lastIndexOf('\n', open) + 1)
  const next = text.indexOf('\n', close)
  const to = next === -1 ? text.length : Math.min(next, end)
  const content = text.slice(from, open) + text.slice(open + 1, close) + text.slice(close + 1, to)
  const firstEnd = content.indexOf('\n')
  const lastStart = content.lastIndexOf('\n') + 1
  const between = content.slice(firstEnd + 1, lastStart).split('\n', joinedLinesMax)
  return { first: content.slice(0, firstEnd), between, last: content.slice(lastStart) }
}

function endOfCell(text: string, from: number, delimiter: string): number {
  let at = from
  while (at < text.length && text[at] !== delimiter && text[at] !== '\n') at++
  return at
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at
  return -1
}

const withoutReturn = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text)

const delimiters = [',', ';', '\t'] as const

/** The delimiter that occurs most often in the header. */
export function findDelimiter(header: string): string {
  const count = (delimiter: string) => header.split(delimiter).length
  return delimiters.toSorted((a, b) => count(b) - count(a))[0] as string
}

/** One line of CSV. Cells are quoted where they have to be. */
export const formatCsvRecord = (cells: readonly string[]): string =>
  cells.map((cell) => (/["\n\r,;\t]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')

/** Spreadsheets evaluate a cell that begins with one of the first four, and some ignore the white space before it. */
const formulaStart = /^[=+\-@'\t\r]/
const markedFormula = /^'[=+\-@'\t\r]/

/** Marks a text that a spreadsheet could evaluate as a formula. A text that begins with the mark gets another one. */
export const markFormula = (text: string): string => (formulaStart.test(text) ? `'${text}` : text)

/** Removes the mark of a formula, and nothing else. */
export const unmarkFormula = (cell: string): string => (markedFormula.test(cell) ? cell.slice(1) : cell)
