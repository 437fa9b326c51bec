import type { Db } from '../database/db.ts'
import { findStoredPets } from '../pets/storedPets.ts'
import { FileLines } from '../records/fileLines.ts'
import type { ConflictContext, Conflicts } from '../records/resource.ts'
import { isOpenOrderStatus, type OrderStatus } from './order.ts'
import { openOrdersQuery } from './queries.ts'

type ImportedOrder = { id: number; petId: number; status: OrderStatus; holdExpiresAt: number | null }
type Line = Omit<ImportedOrder, 'status'> & { readonly isOpen: boolean }

/** Finds the open orders whose animal does not exist or has another open order. */
export class OrderConflicts implements Conflicts<ImportedOrder> {
  /** `open_orders` has the open order of each animal, as far as the lines need it. Null: it has none any more. */
  readonly #lines = new FileLines<Line>(`
    CREATE TABLE open_orders (pet_id INTEGER PRIMARY KEY, id INTEGER, hold_expires_at INTEGER) STRICT;
    CREATE INDEX open_orders_by_id ON open_orders (id)`)
  readonly #orderOf = this.#lines.database.prepare('SELECT * FROM open_orders WHERE pet_id = ?')
  readonly #addStored = this.#lines.database.prepare('INSERT OR IGNORE INTO open_orders VALUES (?, ?, ?)')
  readonly #closeOrder = this.#lines.database.prepare('UPDATE open_orders SET id = NULL WHERE id = ?')
  readonly #openOrder = this.#lines.database.prepare('INSERT OR REPLACE INTO open_orders VALUES (?, ?, ?)')

  add(line: number, { id, petId, status, holdExpiresAt }: ImportedOrder): void {
    this.#lines.add(line, { id, petId, isOpen: isOpenOrderStatus(status), holdExpiresAt })
  }

  /** Follows in the order of the lines which order is open for which animal. */
  async *find(context: ConflictContext) {
    for (const lines of this.#lines.batches(context.committed)) {
      const hasPet = await petFinder(context, lines)
      // Not those that an earlier line has changed.
      for (const { pet_id, id, hold_expires_at } of await findStored(context.db, lines))
        this.#addStored.run(pet_id, id, hold_expires_at)
      for (const line of lines) {
        const reason =
          line.isOpen && !hasPet(line.petId)
            ? `the order is open, but there is no animal ${line.petId}`
            : this.#findConflict(line, context.now)
        if (reason !== undefined) yield { line: line.line, reason }
      }
    }
  }

  #findConflict({ id, petId, isOpen, holdExpiresAt }: Line, now: number): string | undefined {
    const other = isOpen ? this.#orderOf.get(petId) : undefined
    // An import cancels an order whose hold has expired.
    const isOtherHeld =
      other && other.id !== null && Number(other.hold_expires_at ?? Number.POSITIVE_INFINITY) > now
    if (isOtherHeld && other.id !== id)
      return `the order is open, but animal ${petId} has the open order ${other.id}`
    this.#closeOrder.run(id)
    if (isOpen) this.#openOrder.run(petId, id, holdExpiresAt)
    return undefined
  }

  close(): void {
    this.#lines.close()
  }
}

/** Finds the pets of open orders in the file or in the database. */
async function petFinder({ db, hasRecord }: ConflictContext, lines: readonly Line[]) {
  const isInFile = (id: number) => hasRecord('pet', id)
  const missing = lines.flatMap(({ petId, isOpen }) => (isOpen && !isInFile(petId) ? petId : []))
  const pets = db ? await findStoredPets(db, db.dialect.isIn('id', [...new Set(missing)])) : []
  const stored = new Set(pets.map(({ id }) => id))
  return (id: number): boolean => isInFile(id) || stored.has(id)
}

/** The open orders in the database with the ids of the lines, and those for their pets. */
async function findStored(db: Db | undefined, lines: readonly Line[]) {
  if (!db) return []
  const { isIn } = db.dialect
  const ids = lines.map(({ id }) => id)
  const petIds = lines.flatMap(({ petId, isOpen }) => (isOpen ? petId : []))
  const byId = await openOrdersQuery(db).where(isIn('id', ids)).execute()
  const byPet = petIds.length > 0 ? await openOrdersQuery(db).where(isIn('pet_id', petIds)).execute() : []
  return [...byId, ...byPet]
}
