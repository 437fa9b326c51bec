import type { Resource } from '../../records/resource.ts'
import { openTemporaryDatabase } from '../../records/temporaryDatabase.ts'
import { type ExportLine, filePositions, type RowId, type Selection, type TypedLine } from './lines.ts'

/** The lines of an export, which can be replaced until they are written. */
export class ExportCopy {
  readonly #database = openTemporaryDatabase(`
    CREATE TABLE lines (
      type TEXT, id INTEGER, owner_id INTEGER, position INTEGER, text TEXT, PRIMARY KEY (type, id)
    ) WITHOUT ROWID;
    CREATE INDEX lines_by_owner ON lines (type, owner_id) WHERE owner_id IS NOT NULL;
    BEGIN`)
  readonly #insert = this.#database.prepare('INSERT OR REPLACE INTO lines VALUES (?, ?, ?, ?, ?)')
  readonly #delete = this.#database.prepare('DELETE FROM lines WHERE type = ? AND id = ?')
  readonly #deleteOwned = this.#database.prepare(
    'DELETE FROM lines WHERE type = ? AND owner_id = ? RETURNING id',
  )

  add({ type }: Resource, lines: readonly ExportLine[]): void {
    for (const { id, ownerId, position, text } of lines) this.#insert.run(type, id, ownerId, position, text)
  }

  /** Deletes lines by their ids, or by those of their owners. Returns their ids. */
  delete({ type, idColumn }: Resource, { column, values }: Selection): readonly RowId[] {
    if (column !== idColumn)
      return values.flatMap((ownerId) => this.#deleteOwned.all(type, ownerId).map(({ id }) => id as number))
    for (const id of values) this.#delete.run(type, id)
    return values
  }

  /** All lines in the order of the file. */
  *lines(resources: readonly Resource[]): Generator<TypedLine> {
    const select = this.#database.prepare(
      'SELECT type, text FROM lines WHERE type = ? AND position = ? ORDER BY id',
    )
    for (const { resource, position } of filePositions(resources))
      yield* select.iterate(resource.type, position) as Iterable<TypedLine>
  }

  close(): void {
    this.#database.close()
  }
}
