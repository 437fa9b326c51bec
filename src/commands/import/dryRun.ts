import { DatabaseSync } from 'node:sqlite'
import { findCategory } from '../../categories/queries.ts'
import type { Database } from '../../database/database.ts'
import type { Db } from '../../database/tables.ts'
import { findStoredPets, type StoredPet } from '../../pets/queries.ts'
import { findStoredIds, isSame, merge, storedIndex } from './applyPets.ts'
import type { Batch } from './batch.ts'
import { type Problems, problemOf } from './problems.ts'
import { type CategoryRecord, isPetRecord, type PetRecord } from './records.ts'

type Changes = { added: number; updated: number; unchanged: number }
const noChanges = (): Changes => ({ added: 0, updated: 0, unchanged: 0 })

const petsPerQuery = 500

/** Counts what an import would change. Without a database, everything would be added. */
export class DryRun {
  readonly changes = { pets: noChanges(), categories: noChanges(), orders: 0, keys: 0 }
  readonly #db: Db | undefined
  readonly #problems: Problems
  readonly #seen = new SeenPets()

  constructor(database: Database | undefined, problems: Problems) {
    this.#db = database?.read
    this.#problems = problems
  }

  async add({ records, lines }: Batch): Promise<void> {
    const pets = records.flatMap((record, at) =>
      isPetRecord(record) ? { record, line: lines[at] as number } : [],
    )
    for (let from = 0; from < pets.length; from += petsPerQuery)
      await this.#addPets(pets.slice(from, from + petsPerQuery))
    for (const record of records) {
      if (record.type === 'category') await this.#addCategory(record)
      else if (record.type === 'order') this.changes.orders++
      else if (record.type === 'key') this.changes.keys++
    }
  }

  async #addPets(pets: readonly { record: PetRecord; line: number }[]): Promise<void> {
    const records = pets.map(({ record }) => record)
    const { storedIds } = this.#db ? await findStoredIds(this.#db, records) : { storedIds: [] }
    const index = storedIndex(this.#db ? await findStoredPets(this.#db, storedIds) : [])
    for (const { record, line } of pets) {
      const isRepeated = this.#seen.add(record)
      let existing: StoredPet | undefined
      try {
        existing = index.find(record)
      } catch (error) {
        this.#problems.add({ line, reason: problemOf(error) })
        continue
      }
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

  /** Returns whether an earlier record was about the same pet. */
  add({ id, externalId }: PetRecord): boolean {
    const keys = [id, externalId].filter((key) => key !== undefined)
    return keys.map((key) => this.#insert.run(key).changes === 0).includes(true)
  }

  close(): void {
    this.#database.close()
  }
}
