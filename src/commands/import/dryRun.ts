import { systemClock } from '../../clock.ts'
import type { Db } from '../../database/db.ts'
import { openTemporaryDatabase } from '../temporaryDatabase.ts'
import { findKeyChange } from './applyKey.ts'
import { findOrderChange } from './applyOrder.ts'
import { findPetsOf, isSame, merge, petsPerStatement, storedIndex } from './applyPets.ts'
import { findCategoryChange } from './applyRecords.ts'
import { type ImportChanges, noChanges, type RecordChange } from './changes.ts'
import { type Batch, type ExportRecord, isPetRecord, type PetRecord } from './records.ts'

/** Counts what an import would change. Without a database, everything would be added. */
export async function findChanges(
  db: Db | undefined,
  batches: AsyncIterable<Batch>,
  isWanted: (line: number) => boolean,
  signal: AbortSignal,
): Promise<ImportChanges> {
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
  readonly changes = noChanges()
  readonly #db: Db | undefined
  readonly #seen = new SeenRecords()

  constructor(db: Db | undefined) {
    this.#db = db
  }

  async add(records: readonly ExportRecord[]): Promise<void> {
    const pets = records.filter(isPetRecord)
    for (let from = 0; from < pets.length; from += petsPerStatement)
      await this.#addPets(pets.slice(from, from + petsPerStatement))
    for (const record of records) {
      if (record.type === 'category')
        this.changes.categories[await this.#find(`category ${record.id}`, findCategoryChange, record)]++
      else if (record.type === 'order')
        this.changes.orders[await this.#find(`order ${record.id}`, findOrderChange, record)]++
      else if (record.type === 'key')
        this.changes.keys[await this.#find(`key ${record.id}`, findKeyChange, record)]++
    }
  }

  async #addPets(pets: readonly PetRecord[]): Promise<void> {
    const stored = storedIndex(await findPetsOf(this.#db, pets))
    for (const record of pets) {
      // Its id decides, if it has one.
      const { id, externalId } = record
      const keys = [id, externalId && `pet ${externalId}`].filter((key) => key !== undefined)
      const isRepeated = this.#seen.add(keys)
      const existing = stored.find(record)
      if (!existing) this.changes.pets[isRepeated ? 'changed' : 'added']++
      else this.changes.pets[isSame(existing, merge(existing, record)) ? 'unchanged' : 'changed']++
    }
  }

  async #find<T>(
    name: string,
    find: (db: Db, record: T, now: number) => Promise<RecordChange>,
    record: T,
  ): Promise<RecordChange> {
    const isRepeated = this.#seen.add([name])
    const change = this.#db ? await find(this.#db, record, systemClock()) : 'added'
    return change === 'added' && isRepeated ? 'changed' : change
  }

  close(): void {
    this.#seen.close()
  }
}

/** What identifies the records of the file so far: the id or the external id of a pet, or the type and id of another one. */
class SeenRecords {
  readonly #database = openTemporaryDatabase('CREATE TABLE seen (key ANY PRIMARY KEY) STRICT, WITHOUT ROWID')
  readonly #insert = this.#database.prepare('INSERT OR IGNORE INTO seen VALUES (?)')

  /** Returns whether an earlier record had the first of these keys. */
  add(keys: readonly (number | string)[]): boolean {
    const [isRepeated = false] = keys.map((key) => this.#insert.run(key).changes === 0)
    return isRepeated
  }

  close(): void {
    this.#database.close()
  }
}
