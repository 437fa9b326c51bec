import type { Db } from '../../../database/db.ts'
import type { StoredPet } from '../../../pets/queries.ts'
import { openTemporaryDatabase } from '../../temporaryDatabase.ts'
import { findPetsOf, petsPerStatement } from '../applyPets.ts'

/** A line with an external id. */
type Line = { readonly line: number; readonly id: number | undefined; readonly externalId: string }

/** The external ids of a file. */
export class ExternalIds {
  #file: TemporaryFile | undefined

  add(line: number, id: number | undefined, externalId: string): void {
    this.#file ??= new TemporaryFile()
    this.#file.insertLine.run(line, id ?? null, externalId)
  }

  /**
   * Follows in the order of the lines which animal gets which external id. Yields each line with the reason why it is wrong:
   * another animal has its external id. Lines up to `committed` are in the database already.
   */
  async *check(
    db: Db | undefined,
    committed: number,
  ): AsyncGenerator<{ line: number; id: number | undefined; reason: string | undefined }> {
    const file = this.#file
    if (!file) return
    for (let after = 0; ; ) {
      const lines = file.linesAfter(after)
      if (lines.length === 0) return
      const holders = new Holders(file, await findPetsOf(db, lines))
      for (const { line, id, externalId } of lines)
        yield { line, id, reason: line > committed ? holders.assign(line, id, externalId) : undefined }
      after = lines.at(-1)?.line as number
    }
  }

  close(): void {
    this.#file?.close()
  }
}

/** Which animal has which external id: as stored, unless an earlier line has changed it. */
class Holders {
  readonly #file: TemporaryFile
  readonly #byExternalId: ReadonlyMap<string | null, number>
  readonly #byId: ReadonlyMap<number, string | null>

  constructor(file: TemporaryFile, stored: readonly StoredPet[]) {
    this.#file = file
    this.#byExternalId = new Map(stored.map(({ id, externalId }) => [externalId, id]))
    this.#byId = new Map(stored.map(({ id, externalId }) => [id, externalId]))
  }

  /**
   * Returns why the animal cannot have the external id. A new animal has no id yet: the number of its line, negated, takes
   * its place.
   */
  assign(line: number, id: number | undefined, externalId: string): string | undefined {
    const changed = this.#file.holderOf.get(externalId)
    const holder = changed ? changed.holder : (this.#byExternalId.get(externalId) ?? null)
    if (holder !== null) {
      // Without an id, the line is about the animal that has the external id.
      if (id === undefined || id === holder) return undefined
      const reason =
        Number(holder) < 0 ? `line ${-Number(holder)} adds an animal with it` : `animal ${holder} has it`
      return `Animal ${id} cannot have the external id "${externalId}", because ${reason}.`
    }
    if (id !== undefined) {
      const previous = this.#file.externalIdOf.get(id)?.external_id ?? this.#byId.get(id)
      if (typeof previous === 'string') this.#file.setHolder.run(previous, null)
    }
    this.#file.setHolder.run(externalId, id ?? -line)
    return undefined
  }
}

class TemporaryFile {
  readonly #database = openTemporaryDatabase(`
    CREATE TABLE lines (line INTEGER PRIMARY KEY, id INTEGER, external_id TEXT NOT NULL) STRICT;
    CREATE TABLE holders (external_id TEXT PRIMARY KEY, holder INTEGER) STRICT, WITHOUT ROWID;
    CREATE INDEX external_ids ON holders (holder) WHERE holder > 0;
    BEGIN`)
  readonly #selectLines = this.#database.prepare('SELECT * FROM lines WHERE line > ? ORDER BY line LIMIT ?')
  readonly insertLine = this.#database.prepare('INSERT INTO lines VALUES (?, ?, ?)')
  readonly holderOf = this.#database.prepare('SELECT holder FROM holders WHERE external_id = ?')
  readonly externalIdOf = this.#database.prepare(
    'SELECT external_id FROM holders WHERE holder = ? AND holder > 0',
  )
  readonly setHolder = this.#database.prepare('INSERT OR REPLACE INTO holders VALUES (?, ?)')

  linesAfter(line: number): Line[] {
    const rows = this.#selectLines.all(line, petsPerStatement) as unknown as LineRow[]
    return rows.map(({ id, external_id, ...row }) => ({
      ...row,
      id: id ?? undefined,
      externalId: external_id,
    }))
  }

  close(): void {
    this.#database.close()
  }
}

type LineRow = { readonly line: number; readonly id: number | null; readonly external_id: string }
