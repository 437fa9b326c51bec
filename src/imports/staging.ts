import { openTemporaryDatabase } from '../records/temporaryDatabase.ts'
import { type ImportedAnimal, mergeAnimals } from './animal.ts'
import { FileError } from './csv/problem.ts'

const batchLinesMax = 500
/** More are a sign that the column is not that of the category. */
const categoriesMax = 1_000

export type StagedAnimal = {
  readonly line: number
  readonly animal: ImportedAnimal
  readonly petId: number | null
}

/** The animals of a CSV file, in the order of their first lines. In a temporary database, because the memory is bounded. */
export class StagedAnimals {
  readonly #database = openTemporaryDatabase(`
    CREATE TABLE animals (line INTEGER PRIMARY KEY, value TEXT NOT NULL, pet_id INTEGER) STRICT;
    CREATE TABLE external_ids (external_id TEXT PRIMARY KEY, line INTEGER) STRICT, WITHOUT ROWID;
    BEGIN`)
  readonly #insert = this.#database.prepare('INSERT INTO animals (line, value) VALUES (?, ?)')
  readonly #update = this.#database.prepare('UPDATE animals SET value = ? WHERE line = ?')
  readonly #remove = this.#database.prepare('DELETE FROM animals WHERE line = ?')
  readonly #find = this.#database.prepare('SELECT value FROM animals WHERE line = ?')
  readonly #select = this.#database.prepare('SELECT * FROM animals WHERE line > ? ORDER BY line LIMIT ?')
  readonly #setPetId = this.#database.prepare('UPDATE animals SET pet_id = ? WHERE line = ?')
  readonly #addExternalId = this.#database.prepare('INSERT OR IGNORE INTO external_ids VALUES (?, ?)')
  readonly #lineOf = this.#database.prepare('SELECT line FROM external_ids WHERE external_id = ?')
  readonly #categories = new Set<string>()

  /** The category names in the file. */
  get categories(): readonly string[] {
    return [...this.#categories]
  }

  /**
   * With `isMerged`, a later line with the same external id is about the same animal. Returns the line of another animal
   * with the same external id, which the line is not added to.
   */
  add(line: number, animal: ImportedAnimal, isMerged: boolean): number | undefined {
    const { externalId, category } = animal
    if (category !== undefined) this.#categories.add(category)
    if (this.#categories.size > categoriesMax)
      throw new FileError(`The file has more than ${categoriesMax} categories. Nothing was imported.`)
    const first = externalId === undefined ? undefined : this.#lineOf.get(externalId)?.line
    // Another line of the animal is wrong, so the animal is left out.
    if (isMerged && first === null) return undefined
    if (typeof first === 'number') {
      const earlier = this.#animalAt(first)
      if (!isMerged && earlier.name !== animal.name) return first
      if (isMerged) {
        this.#update.run(JSON.stringify(mergeAnimals(earlier, animal)), first)
        return undefined
      }
    }
    this.#insert.run(line, JSON.stringify(animal))
    if (externalId !== undefined) this.#addExternalId.run(externalId, line)
    return undefined
  }

  #animalAt = (line: number): ImportedAnimal => JSON.parse(String(this.#find.get(line)?.value))

  replace(line: number, animal: ImportedAnimal): void {
    this.#update.run(JSON.stringify(animal), line)
  }

  /** A wrong line. Its animal still counts as being in the file. */
  remove(line: number): void {
    this.#remove.run(line)
  }

  /** A wrong line is about this animal. */
  addWrong(externalId: string): void {
    this.#addExternalId.run(externalId, null)
  }

  has = (externalId: string): boolean => this.#lineOf.get(externalId) !== undefined

  setPetId(line: number, petId: number): void {
    this.#setPetId.run(petId, line)
  }

  *all(): Generator<StagedAnimal[]> {
    for (let after = 0; ; ) {
      const rows = this.#select.all(after, batchLinesMax) as {
        line: number
        value: string
        pet_id: number | null
      }[]
      if (rows.length === 0) return
      yield rows.map(({ line, value, pet_id }) => ({ line, animal: JSON.parse(value), petId: pet_id }))
      after = rows.at(-1)?.line as number
    }
  }

  close(): void {
    this.#database.close()
  }
}
