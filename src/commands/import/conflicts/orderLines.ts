import { sql } from 'kysely'
import type { Db } from '../../../database/db.ts'
import { isOpenOrderStatus } from '../../../orders/order.ts'
import { findStoredPets } from '../../../pets/queries.ts'
import { openTemporaryDatabase } from '../../temporaryDatabase.ts'
import type { OrderRecord } from '../records.ts'

const linesPerQuery = 500

type Line = {
  readonly line: number
  readonly id: number
  readonly petId: number
  readonly isOpen: number
  readonly holdExpiresAt: number | null
}

type Context = {
  /** Without a database, nothing is stored. */
  readonly db: Db | undefined
  /** Lines up to this one are in the database already. */
  readonly committed: number
  /** Whether the file has the pet. */
  hasPet(id: number): boolean
  readonly now: number
}

/** The orders of a file. In a temporary file, because the memory is bounded. */
export class OrderLines {
  #file: TemporaryFile | undefined

  add(line: number, { id, petId, status, holdExpiresAt }: OrderRecord): void {
    this.#file ??= new TemporaryFile()
    this.#file.insertLine.run(line, id, petId, Number(isOpenOrderStatus(status)), holdExpiresAt)
  }

  /**
   * Applies the lines in their order, without the database. Yields what is wrong: the animal of an open order must exist,
   * and can have no other open order.
   */
  async *check(context: Context): AsyncGenerator<{ line: number; reason: string }> {
    const file = this.#file
    if (!file) return
    for (let after = context.committed; ; ) {
      const lines = file.linesAfter(after)
      if (lines.length === 0) return
      const hasPet = await petFinder(context, lines)
      const openOrders = new OpenOrders(file, await findStored(context.db, lines), context.now)
      for (const line of lines) {
        const reason =
          line.isOpen && !hasPet(line.petId)
            ? `the order is open, but there is no animal ${line.petId}`
            : openOrders.apply(line)
        if (reason !== undefined) yield { line: line.line, reason }
      }
      after = lines.at(-1)?.line as number
    }
  }

  close(): void {
    this.#file?.close()
  }
}

async function petFinder({ db, hasPet }: Context, lines: readonly Line[]) {
  const missing = lines.flatMap(({ petId, isOpen }) => (isOpen && !hasPet(petId) ? petId : []))
  const pets = db && missing.length > 0 ? await findStoredPets(db, [...new Set(missing)]) : []
  const stored = new Set(pets.map(({ id }) => id))
  return (id: number): boolean => hasPet(id) || stored.has(id)
}

type OpenOrder = Omit<Line, 'line' | 'isOpen'>

/** The open orders in the database with the ids of the lines, and those for their pets. */
async function findStored(db: Db | undefined, lines: readonly Line[]): Promise<OpenOrder[]> {
  if (!db) return []
  const { isIn } = db.dialect
  const select = db
    .selectFrom('orders')
    .select(['id', 'pet_id as petId', 'hold_expires_at as holdExpiresAt'])
    .where('status', 'in', [sql.lit('placed'), sql.lit('approved')])
  const ids = lines.map(({ id }) => id)
  const petIds = lines.flatMap(({ petId, isOpen }) => (isOpen ? petId : []))
  const byId = await select.where(isIn('id', ids)).execute()
  const byPet = petIds.length > 0 ? await select.where(isIn('pet_id', petIds)).execute() : []
  return [...byId, ...byPet]
}

/** Which order is open for which pet: as stored, unless an earlier line has changed it. */
class OpenOrders {
  readonly #file: TemporaryFile
  readonly #byId: ReadonlyMap<number, OpenOrder>
  readonly #byPet: ReadonlyMap<number, OpenOrder>
  readonly #now: number

  constructor(file: TemporaryFile, stored: readonly OpenOrder[], now: number) {
    this.#file = file
    this.#byId = new Map(stored.map((order) => [order.id, order]))
    this.#byPet = new Map(stored.map((order) => [order.petId, order]))
    this.#now = now
  }

  /** Returns why the order cannot be open. */
  apply({ id, petId, isOpen, holdExpiresAt }: Line): string | undefined {
    const other = isOpen ? this.#openOrderOf(petId) : undefined
    // An import cancels an order whose hold has expired.
    if (other && other.id !== id && (other.holdExpiresAt ?? Number.POSITIVE_INFINITY) > this.#now)
      return `the order is open, but animal ${petId} has the open order ${other.id}`
    const previousPetId = this.#petOf(id)
    if (previousPetId !== undefined) this.#file.setOrder.run(previousPetId, null, null)
    if (isOpen) this.#file.setOrder.run(petId, id, holdExpiresAt)
    return undefined
  }

  #openOrderOf(petId: number): Pick<OpenOrder, 'id' | 'holdExpiresAt'> | undefined {
    const changed = this.#file.orderOf.get(petId) as ChangedOrder | undefined
    if (!changed) return this.#byPet.get(petId)
    return changed.id === null ? undefined : { id: changed.id, holdExpiresAt: changed.holdExpiresAt }
  }

  #petOf(id: number): number | undefined {
    const changed = this.#file.petOf.get(id)
    if (changed) return changed.petId as number
    const petId = this.#byId.get(id)?.petId
    return petId === undefined || this.#file.orderOf.get(petId) ? undefined : petId
  }
}

/** Without an id, the pet has no open order any more. */
type ChangedOrder = { readonly id: number | null; readonly holdExpiresAt: number | null }

class TemporaryFile {
  readonly #database = openTemporaryDatabase(`
    CREATE TABLE lines (
      line INTEGER PRIMARY KEY, id INTEGER, petId INTEGER, isOpen INTEGER, holdExpiresAt INTEGER
    ) STRICT;
    CREATE TABLE open_orders (petId INTEGER PRIMARY KEY, id INTEGER, holdExpiresAt INTEGER) STRICT;
    CREATE INDEX open_orders_by_id ON open_orders (id) WHERE id IS NOT NULL;
    BEGIN`)
  readonly #selectLines = this.#database.prepare('SELECT * FROM lines WHERE line > ? ORDER BY line LIMIT ?')
  readonly insertLine = this.#database.prepare('INSERT INTO lines VALUES (?, ?, ?, ?, ?)')
  readonly orderOf = this.#database.prepare('SELECT id, holdExpiresAt FROM open_orders WHERE petId = ?')
  readonly petOf = this.#database.prepare('SELECT petId FROM open_orders WHERE id = ?')
  readonly setOrder = this.#database.prepare('INSERT OR REPLACE INTO open_orders VALUES (?, ?, ?)')

  linesAfter(line: number): Line[] {
    return this.#selectLines.all(line, linesPerQuery) as unknown as Line[]
  }

  close(): void {
    this.#database.close()
  }
}
