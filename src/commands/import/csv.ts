/** Reads the cells of one CSV record (RFC 4180). Undefined if the text ends within quotation marks. */
export function parseCsvRecord(
  text: string,
  start: number,
  delimiter: string,
): { cells: string[]; end: number } | undefined {
  const lineEnd = text.indexOf('\n', start)
  const stop = lineEnd === -1 ? text.length : lineEnd
  const line = text.slice(start, stop)
  if (!line.includes('"')) return { cells: withoutReturn(line).split(delimiter), end: stop + 1 }
  const cells: string[] = []
  for (let at = start; ; ) {
    if (text[at] !== '"') {
      const next = endOfCell(text, at, delimiter)
      cells.push(text.slice(at, next))
      at = next
    } else {
      const closing = closingQuote(text, at + 1)
      if (closing === -1) return undefined
      cells.push(text.slice(at + 1, closing).replaceAll('""', '"'))
      // What follows the quotation mark belongs to the cell, though it should not be there.
      at = endOfCell(text, closing + 1, delimiter)
    }
    if (text[at] === delimiter) at++
    else {
      const last = cells.length - 1
      if (text[at - 1] === '\r') cells[last] = withoutReturn(cells[last] ?? '')
      return { cells, end: at + 1 }
    }
  }
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
