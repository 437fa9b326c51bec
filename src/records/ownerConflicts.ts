import type { Db } from '../database/db.ts'
import { FileLines } from './fileLines.ts'
import type { ConflictContext, Conflicts, ResourceRecord } from './resource.ts'

type OwnerConflictsOptions<Imported> = {
  /** The type of the records of the owner, and its name in messages. */
  readonly owner: { readonly type: string; readonly noun: string }
  /** The name of the record in messages. */
  readonly noun: string
  ownerOf(record: Imported): number
  /** The ids among the given ones that exist. */
  findExisting(db: Db, ids: readonly number[]): Promise<ReadonlySet<number>>
}

/** Finds the records whose owner is neither in the file nor in the database. */
export class OwnerConflicts<Imported extends ResourceRecord> implements Conflicts<Imported> {
  readonly #options: OwnerConflictsOptions<Imported>
  readonly #lines = new FileLines<{ readonly ownerId: number }>('SELECT 1')

  constructor(options: OwnerConflictsOptions<Imported>) {
    this.#options = options
  }

  add(line: number, record: Imported): void {
    this.#lines.add(line, { ownerId: this.#options.ownerOf(record) })
  }

  async *find({ db, committed, hasRecord }: ConflictContext) {
    const { owner, noun, findExisting } = this.#options
    for (const lines of this.#lines.batches(committed)) {
      const missing = lines.filter(({ ownerId }) => !hasRecord(owner.type, ownerId))
      const ids = [...new Set(missing.map(({ ownerId }) => ownerId))]
      const existing = db && ids.length > 0 ? await findExisting(db, ids) : new Set<number>()
      for (const { line, ownerId } of missing)
        if (!existing.has(ownerId))
          yield { line, reason: `the ${noun} belongs to ${owner.noun} ${ownerId}, which does not exist` }
    }
  }

  close(): void {
    this.#lines.close()
  }
}
