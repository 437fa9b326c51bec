import { type Kysely, type Selectable, sql } from 'kysely'
import type { DatabaseReader } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { recordEvent } from '../events/queries.ts'
import type { Pet } from '../pets/pet.ts'
import { changePet, findPet } from '../pets/queries.ts'
import {
  type Customer,
  hasLapsed,
  holdExpired,
  isOpen,
  type Order,
  type OrderStatus,
  petStatusAfter,
} from './order.ts'

export type OrderFilter = { status?: OrderStatus | undefined; petId?: bigint | undefined }
export type NewOrder = { customer: Customer | undefined; note: string | undefined; holdMs: number }

const aboveAllIds = Number.MAX_SAFE_INTEGER
const lapsesMax = 500
/** Nobody else can write while holds are ended. */
const lapsesMaxMs = 200

/** One page, newest first, of orders below an id; each combination of filters has its index. */
export function ordersPage(
  { read: db, dialect }: DatabaseReader,
  filter: OrderFilter,
  limit: number,
  belowId = aboveAllIds,
) {
  const filters: [string, unknown][] = []
  if (filter.petId !== undefined) filters.push(['pet_id', Number(filter.petId)])
  if (filter.status !== undefined) filters.push(['status', filter.status])
  return dialect.keysetPage(db.selectFrom('orders').selectAll(), filters, belowId).limit(limit)
}

export async function listOrders(
  store: DatabaseReader,
  filter: OrderFilter,
  limit: number,
  belowId?: number,
) {
  return (await ordersPage(store, filter, limit, belowId).execute()).map(toOrder)
}

export async function findOrder(db: Kysely<Tables>, id: number): Promise<Order | undefined> {
  const row = await db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toOrder(row)
}

/** The open order on an animal; one whose hold has run out is ended on the way. */
export async function openOrderOf(
  trx: Kysely<Tables>,
  petId: bigint,
  now: number,
): Promise<Order | undefined> {
  const row = await trx
    .selectFrom('orders')
    .selectAll()
    .where('pet_id', '=', Number(petId))
    // Written out, for an index of a part of the table is only taken where the query says so in so many words.
    .where('status', 'in', [sql.lit('placed'), sql.lit('approved')])
    .executeTakeFirst()
  if (!row) return undefined
  const order = await expireHold(trx, toOrder(row), now)
  return isOpen(order.status) ? order : undefined
}

/** Places an order on an available animal, which is pending from then on. */
export async function placeOrder(
  trx: Kysely<Tables>,
  pet: Pet,
  order: NewOrder,
  now: number,
): Promise<Order> {
  const { id } = await trx
    .insertInto('orders')
    .values({
      pet_id: pet.id,
      status: 'placed',
      customer_name: order.customer?.name ?? null,
      customer_email: order.customer?.email ?? null,
      note: order.note ?? null,
      placed_at: now,
      updated_at: now,
      hold_expires_at: now + order.holdMs,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await moved(trx, { id, petId: pet.id, status: 'placed', cancelReason: undefined }, now)
  return (await findOrder(trx, id)) as Order
}

/** Takes an order to another status, and its animal with it. */
export async function moveOrder(
  trx: Kysely<Tables>,
  order: Order,
  status: OrderStatus,
  now: number,
  cancelReason?: string,
): Promise<Order> {
  await trx
    .updateTable('orders')
    .set({ status, updated_at: now, hold_expires_at: null, cancel_reason: cancelReason ?? null })
    .where('id', '=', order.id)
    .execute()
  await moved(trx, { id: order.id, petId: order.petId, status, cancelReason }, now)
  return (await findOrder(trx, order.id)) as Order
}

/** Puts an end to a hold that has run out; the order is returned as it is then. */
export async function expireHold(trx: Kysely<Tables>, order: Order, now: number): Promise<Order> {
  return hasLapsed(order, now) ? moveOrder(trx, order, 'cancelled', now, holdExpired) : order
}

export async function hasDueOrders(db: Kysely<Tables>, now: number): Promise<boolean> {
  const row = await db
    .selectFrom('orders')
    .select('id')
    .where('hold_expires_at', '<=', now)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Ends a bounded number of holds that have run out; answers how many. */
export async function expireDueHolds(trx: Kysely<Tables>, now: number): Promise<number> {
  const due = await trx
    .selectFrom('orders')
    .selectAll()
    .where('hold_expires_at', '<=', now)
    .orderBy('hold_expires_at')
    .limit(lapsesMax)
    .execute()
  const deadline = performance.now() + lapsesMaxMs
  let ended = 0
  for (const row of due) {
    if (ended > 0 && performance.now() > deadline) break
    await expireHold(trx, toOrder(row), now)
    ended++
  }
  return ended
}

/** Erases who ordered, and the note, which may say it too. */
export async function eraseCustomer(trx: Kysely<Tables>, id: number, now: number): Promise<void> {
  await trx
    .updateTable('orders')
    .set({ customer_name: null, customer_email: null, note: null, updated_at: now })
    .where('id', '=', id)
    .execute()
}

type Moved = Pick<Order, 'id' | 'petId' | 'status' | 'cancelReason'>

/** The animal's status follows the order's, and both are told of; nothing personal is. */
async function moved(
  trx: Kysely<Tables>,
  { id, petId, status, cancelReason }: Moved,
  now: number,
): Promise<void> {
  const data = { id, petId, status, ...(cancelReason !== undefined && { cancelReason }) }
  await recordEvent(trx, now, `order.${status}`, data)
  await syncPetStatus(trx, petId, status, now)
}

/** Gives an animal the status that its order's status means for it. */
export async function syncPetStatus(
  trx: Kysely<Tables>,
  petId: number,
  status: OrderStatus,
  now: number,
): Promise<void> {
  const pet = await findPet(trx, BigInt(petId))
  if (pet) await changePet(trx, pet, { status: petStatusAfter[status] }, now)
}

const toOrder = (row: Selectable<Tables['orders']>): Order => ({
  id: row.id,
  petId: row.pet_id,
  status: row.status as OrderStatus,
  customer:
    row.customer_name === null
      ? undefined
      : { name: row.customer_name, ...(row.customer_email !== null && { email: row.customer_email }) },
  note: row.note ?? undefined,
  placedAt: row.placed_at,
  updatedAt: row.updated_at,
  holdExpiresAt: row.hold_expires_at ?? undefined,
  cancelReason: row.cancel_reason ?? undefined,
})
