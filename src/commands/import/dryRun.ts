import { findCategory } from '../../categories/queries.ts'
import type { Db } from '../../database/tables.ts'
import { openTemporaryDatabase } from '../temporaryDatabase.ts'
import { findPetsOf, isSame, merge, petsPerStatement, storedIndex } from './applyPets.ts'
import { type Batch, type CategoryRecord, type ExportRecord, isPetRecord, type PetRecord } from './records.ts'

type Changes = { added: number; updated: number; unchanged: number }
const noChanges = (): Changes => ({ added: 0, updated: 0, unchanged: 0 })

/** Counts what an import would change. Without a database, everything would be added. */
export async function findChanges(
  db: Db | undefined,
  batches: AsyncIterable<Batch>,
  isWanted: (line: number) => boolean,
  signal: AbortSignal,
) {
  const counter = new ChangeCounter(db)
  try {
    for await (const { records, lines } of batches) {
      signal.throwIfAborted()
      await counter.add(records.filter((_, at) => isWanted(lines[at] as number)))
    }
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
    for (let from = 0; from < pets.length; from += petsPerStatement)
      await this.#addPets(pets.slice(from, from + petsPerStatement))
    for (const record of records) {
      if (record.type === 'category') await this.#addCategory(record)
      else if (record.type === 'order') this.changes.orders++
      else if (record.type === 'key') this.changes.keys++
    }
  }

  async #addPets(pets: readonly PetRecord[]): Promise<void> {
    const stored = storedIndex(await findPetsOf(this.#db, pets))
    for (const record of pets) {
      const isRepeated = this.#seen.add(record)
      const existing = stored.find(record)
      if (!existing) this.changes.pets[isRepeated ? 'updated' : 'added']++
      else this.changes.pets[isSame(existing, merge(existing, record)) ? 'unchanged' : 'updated']++
    }
  }

  async #addCategory({ id, name }: CategoryRecord): Promise<void> {
    const existing = this.#db && (await findCategory(this.#db, id))
    if (!existing) this.changes.categories.added++
    else this.changes.categories[(existing.name ?? null) === name ? 'unchanged' : 'updated']++
  }

  close(): void {
    this.#seen.close()
  }
}

/** The ids and external ids of the file so far. */
class SeenPets {
  readonly #database = openTemporaryDatabase('CREATE TABLE seen (key ANY PRIMARY KEY) STRICT, WITHOUT ROWID')
  readonly #insert = this.#database.prepare('INSERT OR IGNORE INTO seen VALUES (?)')

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
