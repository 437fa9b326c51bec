import { openTemporaryDatabase } from './temporaryDatabase.ts'

const batchLinesMax = 500

/** Lines of a file that are read again, in batches. In a temporary database, because the memory is bounded. */
export class FileLines<T> {
  readonly database
  readonly #insert
  readonly #select

  /** The statements of `schema` create tables beside the lines. */
  constructor(schema: string) {
    this.database = openTemporaryDatabase(
      `CREATE TABLE lines (line INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT; ${schema}; BEGIN`,
    )
    this.#insert = this.database.prepare('INSERT INTO lines VALUES (?, ?)')
    this.#select = this.database.prepare('SELECT * FROM lines WHERE line > ? ORDER BY line LIMIT ?')
  }

  add(line: number, value: T): void {
    this.#insert.run(line, JSON.stringify(value))
  }

  /** The lines after one, in their order. */
  *batches(after: number): Generator<(T & { readonly line: number })[]> {
    for (let last = after; ; ) {
      const rows = this.#select.all(last, batchLinesMax) as { line: number; value: string }[]
      if (rows.length === 0) return
      yield rows.map(({ line, value }) => ({ ...JSON.parse(value), line }))
      last = rows.at(-1)?.line as number
    }
  }

  close(): void {
    this.database.close()
  }
}
