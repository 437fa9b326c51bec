import { FileLines } from '../records/fileLines.ts'
import type { ConflictContext, Conflicts } from '../records/resource.ts'
import { externalKey, findPetsOf } from './importPets.ts'
import type { PetRecord } from './record.ts'

type Line = Pick<PetRecord, 'id' | 'source'> & { readonly externalId: string }

/** Finds the records whose external id another animal has. */
export class PetConflicts implements Conflicts<PetRecord> {
  readonly #ids = new IdSet()
  /** `holders` has the animal with each external id and source, as far as the lines need it. Null: none has it any more. */
  readonly #lines = new FileLines<Line>(`
    CREATE TABLE holders (external_id TEXT PRIMARY KEY, holder INTEGER) STRICT, WITHOUT ROWID;
    CREATE INDEX external_ids ON holders (holder)`)
  readonly #holderOf = this.#lines.database.prepare('SELECT holder FROM holders WHERE external_id = ?')
  readonly #addStored = this.#lines.database.prepare('INSERT OR IGNORE INTO holders VALUES (?, ?)')
  readonly #release = this.#lines.database.prepare('UPDATE holders SET holder = NULL WHERE holder = ?')
  readonly #assign = this.#lines.database.prepare('INSERT OR REPLACE INTO holders VALUES (?, ?)')

  add(line: number, { id, externalId, source }: PetRecord): void {
    if (externalId !== undefined) this.#lines.add(line, { id, externalId, source })
    else if (id !== undefined) this.#ids.add(id)
  }

  /** Follows in the order of the lines which animal gets which external id. */
  async *find({ db, committed, pause }: ConflictContext) {
    for (const lines of this.#lines.batches(0)) {
      // Not those that an earlier line has changed.
      for (const pet of await findPetsOf(db, lines))
        if (pet.externalId !== null) this.#addStored.run(externalKey(pet), pet.id)
      for (const record of lines) {
        const { line, id } = record
        const reason = line > committed ? this.#findConflict(record) : undefined
        if (reason !== undefined) yield { line, reason }
        else if (id !== undefined) this.#ids.add(id)
      }
      await pause?.()
    }
  }

  /** A new animal has no id yet: the number of its line, negated, takes its place. */
  #findConflict(record: Line & { readonly line: number }): string | undefined {
    const { line, id, externalId } = record
    const key = externalKey(record)
    const holder = this.#holderOf.get(key)?.holder ?? null
    if (holder !== null) {
      // Without an id, the line is about the animal that has the external id.
      if (id === undefined || id === holder) return undefined
      const reason =
        Number(holder) < 0 ? `line ${-Number(holder)} adds an animal with it` : `animal ${holder} has it`
      return `Animal ${id} cannot have the external id "${externalId}", because ${reason}.`
    }
    if (id !== undefined) this.#release.run(id)
    this.#assign.run(key, id ?? -line)
    return undefined
  }

  has(id: number): boolean {
    return this.#ids.has(id)
  }

  close(): void {
    this.#lines.close()
  }
}

const idsPerWord = 32

/** A set of ids that takes little memory if most of them follow each other, as in an export. */
class IdSet {
  /** One bit for each id. */
  readonly #words = new Map<number, number>()

  add(id: number): void {
    const word = Math.floor(id / idsPerWord)
    this.#words.set(word, (this.#words.get(word) ?? 0) | (1 << (id % idsPerWord)))
  }

  has(id: number): boolean {
    return ((this.#words.get(Math.floor(id / idsPerWord)) ?? 0) & (1 << (id % idsPerWord))) !== 0
  }
}
