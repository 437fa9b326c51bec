import { writeSync } from 'node:fs'
import { formatCsvRecord, markFormula, unmarkFormula } from '../../imports/csv/csv.ts'
import { type Problem, problemOf } from '../../imports/csv/problem.ts'
import { type RowReader, readCsv } from '../../imports/csv/readCsv.ts'
import { readText } from '../../imports/csv/readText.ts'
import { openTemporaryDatabase } from '../../records/temporaryDatabase.ts'
import type { ImportInput } from './input.ts'

/** The wrong lines of a CSV file, as CSV with the reason: it can be corrected and imported. */
export class CsvReport {
  readonly #fd: number
  readonly #database = openTemporaryDatabase(
    'CREATE TABLE problems (line INTEGER PRIMARY KEY, reason TEXT NOT NULL, cells TEXT) STRICT; BEGIN',
  )
  readonly #insert = this.#database.prepare('INSERT OR IGNORE INTO problems (line, reason) VALUES (?, ?)')
  readonly #setCells = this.#database.prepare('UPDATE problems SET cells = ? WHERE line = ?')

  constructor(fd: number) {
    this.#fd = fd
  }

  add({ line, reason }: Problem): void {
    this.#insert.run(line, reason)
  }

  /** Reads the file again, as the import has read it. */
  async write(input: ImportInput, createReader: (header: readonly string[]) => RowReader<unknown>) {
    let headings: readonly string[] = []
    const rows = readCsv(readText(input.open()), (header) => {
      headings = header
      return reportReader(header, createReader(header))
    })
    for await (const { rows: some, lines, problems } of rows) {
      for (const [at, cells] of some.entries()) this.#setCells.run(JSON.stringify(cells), lines[at] as number)
      for (const { line, text } of problems)
        if (text !== undefined) this.#setCells.run(JSON.stringify([text]), line)
    }
    const writeRow = (cells: readonly string[]) =>
      writeSync(this.#fd, `${formatCsvRecord(cells.map((cell) => markFormula(unmarkFormula(cell))))}\n`)
    writeRow(['line', 'reason', ...headings])
    for (const { line, reason, cells } of this.#database
      .prepare('SELECT * FROM problems ORDER BY line')
      .iterate())
      writeRow([String(line), String(reason), ...(cells === null ? [] : JSON.parse(String(cells)))])
  }

  close(): void {
    this.#database.close()
  }
}

/** Returns the cells of every line. The lines so far decide which ones look like records, so `reader` gets them too. */
const reportReader = (
  headings: readonly string[],
  reader: RowReader<unknown>,
): RowReader<readonly string[]> => ({
  headings,
  read(cells) {
    try {
      reader.read(cells)
    } catch (error) {
      problemOf(error)
    }
    return cells
  },
  isRow: reader.isRow,
})
