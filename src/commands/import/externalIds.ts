import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Db } from '../../database/tables.ts'
import { findStoredPets, type StoredPet } from '../../pets/queries.ts'
import { findStoredIds } from './applyPets.ts'
import type { PetRecord } from './records.ts'

const petsPerQuery = 500

/** A line with an external id. */
type Line = { readonly line: number; readonly id: number | undefined; readonly externalId: string }

/** The external ids of a file. In a temporary file, because the memory is bounded. */
export class ExternalIds {
  #file: TemporaryFile | undefined

  add(line: number, { id, externalId }: PetRecord): void {
    if (externalId === undefined) return
    this.#file ??= new TemporaryFile()
    this.#file.insertLine.run(line, id ?? null, externalId)
  }

  /**
   * Applies the lines in their order, without the database. Yields for each line what is wrong with it: another animal has
   * its external id. Lines up to `committed` are in the database already.
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
      const stored = db ? await findStoredPets(db, (await findStoredIds(db, lines)).storedIds) : []
      const holders = new Holders(file, stored)
      for (const { line, id, externalId } of lines)
        yield { line, id, reason: line > committed ? holders.give(line, id, externalId) : undefined }
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

  /** Returns why the animal cannot have the external id. An animal without an id gets the number of its line, negated. */
  give(line: number, id: number | undefined, externalId: string): string | undefined {
    const changed = this.#file.holderOf.get(externalId)
    const holder = changed ? changed.holder : (this.#byExternalId.get(externalId) ?? null)
    if (holder === (id ?? holder) && holder !== null) return undefined
    if (holder !== null) {
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
  readonly #database = new DatabaseSync('')
  readonly #selectLines: StatementSync
  readonly insertLine: StatementSync
  readonly holderOf: StatementSync
  readonly externalIdOf: StatementSync
  readonly setHolder: StatementSync

  constructor() {
    this.#database.exec(`
      PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF;
      CREATE TABLE lines (line INTEGER PRIMARY KEY, id INTEGER, external_id TEXT NOT NULL) STRICT;
      CREATE TABLE holders (external_id TEXT PRIMARY KEY, holder INTEGER) STRICT, WITHOUT ROWID;
      CREATE INDEX external_ids ON holders (holder) WHERE holder > 0;
      BEGIN`)
    const prepare = (text: string) => this.#database.prepare(text)
    this.insertLine = prepare('INSERT INTO lines VALUES (?, ?, ?)')
    this.#selectLines = prepare('SELECT * FROM lines WHERE line > ? ORDER BY line LIMIT ?')
    this.holderOf = prepare('SELECT holder FROM holders WHERE external_id = ?')
    this.externalIdOf = prepare('SELECT external_id FROM holders WHERE holder = ? AND holder > 0')
    this.setHolder = prepare('INSERT OR REPLACE INTO holders VALUES (?, ?)')
  }

  linesAfter(line: number): Line[] {
    const rows = this.#selectLines.all(line, petsPerQuery) as unknown as LineRow[]
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
