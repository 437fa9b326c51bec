import { DatabaseSync } from 'node:sqlite'
import { findCategory } from '../../categories/queries.ts'
import type { Db } from '../../database/tables.ts'
import { findStoredPets } from '../../pets/queries.ts'
import { findStoredIds, isSame, merge, storedIndex } from './applyPets.ts'
import type { Batch } from './batch.ts'
import { type CategoryRecord, type ExportRecord, isPetRecord, type PetRecord } from './records.ts'

type Changes = { added: number; updated: number; unchanged: number }
const noChanges = (): Changes => ({ added: 0, updated: 0, unchanged: 0 })

const petsPerQuery = 500

/** Counts what an import would change. Without a database, everything would be added. */
export async function findChanges(
  db: Db | undefined,
  batches: AsyncIterable<Batch>,
  skippedLines: ReadonlySet<number>,
) {
  const counter = new ChangeCounter(db)
  try {
    for await (const { records, lines } of batches)
      await counter.add(records.filter((_, at) => !skippedLines.has(lines[at] as number)))
    return counter.changes
  } finally {
    counter.close()
  }
}

class ChangeCounter {
  readonly changes = { pets: noChanges(), categories: noChanges(), orders: 0, keys: 0 }
  readonly #db: Db | undefined
  readonly #seen = new SeenPets()

  constructor(db: Db | undefined) {
    this.#db = db
  }

  async add(records: readonly ExportRecord[]): Promise<void> {
    const pets = records.filter(isPetRecord)
    for (let from = 0; from < pets.length; from += petsPerQuery)
      await this.#addPets(pets.slice(from, from + petsPerQuery))
    for (const record of records) {
      if (record.type === 'category') await this.#addCategory(record)
      else if (record.type === 'order') this.changes.orders++
      else if (record.type === 'key') this.changes.keys++
    }
  }

  async #addPets(pets: readonly PetRecord[]): Promise<void> {
    const stored = this.#db
      ? await findStoredPets(this.#db, (await findStoredIds(this.#db, pets)).storedIds)
      : []
    const index = storedIndex(stored)
    for (const record of pets) {
      const isRepeated = this.#seen.add(record)
      const existing = index.find(record)
      if (!existing) this.changes.pets[isRepeated ? 'updated' : 'added']++
      else this.changes.pets[isSame(existing, merge(existing, record)) ? 'unchanged' : 'updated']++
    }
  }

  async #addCategory({ id, name }: CategoryRecord): Promise<void> {
    const existing = this.#db && (await findCategory(this.#db, id))
    const isUnchanged = (existing?.name ?? null) === name
    this.changes.categories[!existing ? 'added' : isUnchanged ? 'unchanged' : 'updated']++
  }

  close(): void {
    this.#seen.close()
  }
}

/** The ids and external ids of the file so far. In a temporary file, because the memory is bounded. */
class SeenPets {
  readonly #database = new DatabaseSync('')
  readonly #insert

  constructor() {
    this.#database.exec(`
      PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF;
      CREATE TABLE seen (key ANY PRIMARY KEY) STRICT, WITHOUT ROWID`)
    this.#insert = this.#database.prepare('INSERT OR IGNORE INTO seen VALUES (?)')
  }

  /** Returns whether an earlier record was about the same pet. Its id decides, if it has one. */
  add({ id, externalId }: PetRecord): boolean {
    const keys = [id, externalId].filter((key) => key !== undefined)
    const [isRepeated = false] = keys.map((key) => this.#insert.run(key).changes === 0)
    return isRepeated
  }

  close(): void {
    this.#database.close()
  }
}
