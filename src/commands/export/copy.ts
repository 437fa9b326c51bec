import { openTemporaryDatabase } from '../temporaryDatabase.ts'
import { type ExportLine, fileOrder, type RecordType } from './sections.ts'

/** The lines of an export, which can be replaced until they are written. */
export class ExportCopy {
  readonly #database = openTemporaryDatabase(
    'CREATE TABLE lines (type TEXT, id INTEGER, is_open INTEGER, text TEXT, PRIMARY KEY (type, id)) WITHOUT ROWID',
  )
  readonly #insert = this.#database.prepare('INSERT OR REPLACE INTO lines VALUES (?, ?, ?, ?)')
  readonly #delete = this.#database.prepare('DELETE FROM lines WHERE type = ? AND id = ?')

  /** Replaces the lines with these ids. */
  replace(type: RecordType, ids: Iterable<number | bigint>, lines: readonly ExportLine[]): void {
    try {
      this.#database.exec('BEGIN')
      for (const id of ids) this.#delete.run(type, id)
      for (const { id, isOpen, text } of lines) this.#insert.run(type, id, Number(isOpen), text)
      this.#database.exec('COMMIT')
    } catch (cause) {
      const message = `The temporary file cannot be written (${(cause as Error).message}): set TMPDIR to a folder with enough space.`
      throw new Error(message, { cause })
    }
  }

  /** All lines in the order of the file. */
  *lines(): Generator<string> {
    const select = this.#database.prepare('SELECT text FROM lines WHERE type = ? AND is_open = ? ORDER BY id')
    for (const { section, isOpen } of fileOrder)
      for (const { text } of select.iterate(section.type, Number(isOpen))) yield text as string
  }

  close(): void {
    this.#database.close()
  }
}
