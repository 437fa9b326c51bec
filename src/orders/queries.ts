import { type Selectable, sql } from 'kysely'
import type { DatabaseReader } from '../database/database.ts'
import type { Db, Tables } from '../database/tables.ts'
import { recordEvent } from '../events/queries.ts'
import type { Pet } from '../pets/pet.ts'
import { findPet, updatePet } from '../pets/queries.ts'
import {
  type Customer,
  holdExpiredReason,
  isHoldExpired,
  isOpenOrderStatus,
  type Order,
  type OrderStatus,
  petStatusForOrder,
} from './order.ts'

type OrderFilter = { status?: OrderStatus | undefined; petId?: bigint | undefined }
export type NewOrder = { customer: Customer | undefined; note: string | undefined; holdMs: number }

/** Above every id that the service assigns. */
const orderIdMax = Number.MAX_SAFE_INTEGER
/** Bounds of one batch of expired holds, because other writes wait for it. */
const expiredHoldsMax = 500
const expiryBatchMaxMs = 200

/** One page of orders below an id, newest first. An index covers every combination of filters. */
export function ordersPageQuery(
  { read: db, dialect }: DatabaseReader,
  { status, petId }: OrderFilter,
  limit: number,
  belowId = orderIdMax,
) {
  const filters: [string, unknown][] = []
  if (petId !== undefined) filters.push(['pet_id', Number(petId)])
  if (status !== undefined) filters.push(['status', status])
  return dialect.keysetPage(db.selectFrom('orders').selectAll(), filters, belowId).limit(limit)
}

export async function listOrders(...page: Parameters<typeof ordersPageQuery>): Promise<Order[]> {
  return (await ordersPageQuery(...page).execute()).map(toOrder)
}

export async function findOrder(db: Db, id: number): Promise<Order | undefined> {
  const row = await db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toOrder(row)
}

/** The open order for a pet. Cancels the order instead if its hold has expired. */
export async function findOpenOrder(trx: Db, petId: bigint, now: number): Promise<Order | undefined> {
  const row = await trx
    .selectFrom('orders')
    .selectAll()
    .where('pet_id', '=', Number(petId))
    // As literals, because the planner uses a partial index only if the query repeats its condition.
    .where('status', 'in', [sql.lit('placed'), sql.lit('approved')])
    .executeTakeFirst()
  const order = row && (await expireHold(trx, toOrder(row), now))
  return order && isOpenOrderStatus(order.status) ? order : undefined
}

/** Places an order for an available pet and makes the pet pending. */
export async function placeOrder(
  trx: Db,
  pet: Pet,
  { customer, note, holdMs }: NewOrder,
  now: number,
): Promise<Order> {
  const row = await trx
    .insertInto('orders')
    .values({
      pet_id: pet.id,
      status: 'placed',
      customer_name: customer?.name ?? null,
      customer_email: customer?.email ?? null,
      note: note ?? null,
      placed_at: now,
      updated_at: now,
      hold_expires_at: now + holdMs,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return afterStatusChange(trx, toOrder(row), now)
}

/** Changes the status of an order, and that of its pet accordingly. */
export async function updateOrderStatus(
  trx: Db,
  id: number,
  status: OrderStatus,
  now: number,
  cancelReason: string | null = null,
): Promise<Order> {
  const row = await trx
    .updateTable('orders')
    .set({ status, updated_at: now, hold_expires_at: null, cancel_reason: cancelReason })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return afterStatusChange(trx, toOrder(row), now)
}

/** Cancels the order if its hold has expired. Returns the order as it is then. */
export async function expireHold(trx: Db, order: Order, now: number): Promise<Order> {
  return isHoldExpired(order, now)
    ? updateOrderStatus(trx, order.id, 'cancelled', now, holdExpiredReason)
    : order
}

export async function hasDueHolds(db: Db, now: number): Promise<boolean> {
  const due = db.selectFrom('orders').select('id').where('hold_expires_at', '<=', now).limit(1)
  return (await due.executeTakeFirst()) !== undefined
}

/** Cancels a bounded number of orders whose hold has expired. Returns how many. */
export async function expireDueHolds(trx: Db, now: number): Promise<number> {
  const due = await trx
    .selectFrom('orders')
    .selectAll()
    .where('hold_expires_at', '<=', now)
    .orderBy('hold_expires_at')
    .limit(expiredHoldsMax)
    .execute()
  const deadline = performance.now() + expiryBatchMaxMs
  let expired = 0
  for (const row of due) {
    if (expired > 0 && performance.now() > deadline) break
    await expireHold(trx, toOrder(row), now)
    expired++
  }
  return expired
}

/** Erases the customer, and the note, which may name the customer. */
export async function eraseCustomer(trx: Db, id: number, now: number): Promise<void> {
  await trx
    .updateTable('orders')
    .set({ customer_name: null, customer_email: null, note: null, updated_at: now })
    .where('id', '=', id)
    .execute()
}

/** Records the event of a status change, without personal data, and updates the pet. */
async function afterStatusChange(trx: Db, order: Order, now: number): Promise<Order> {
  const { id, petId, status, cancelReason } = order
  await recordEvent(trx, now, `order.${status}`, { id, petId, status, cancelReason })
  await syncPetStatus(trx, petId, status, now)
  return order
}

/** Gives a pet the status that follows from the status of its order. */
export async function syncPetStatus(trx: Db, petId: number, status: OrderStatus, now: number): Promise<void> {
  const pet = await findPet(trx, BigInt(petId))
  if (pet) await updatePet(trx, pet, { status: petStatusForOrder[status] }, now)
}

const toOrder = (row: Selectable<Tables['orders']>): Order => ({
  id: row.id,
  petId: row.pet_id,
  status: row.status as OrderStatus,
  customer:
    row.customer_name === null
      ? undefined
      : { name: row.customer_name, email: row.customer_email ?? undefined },
  note: row.note ?? undefined,
  placedAt: row.placed_at,
  updatedAt: row.updated_at,
  holdExpiresAt: row.hold_expires_at ?? undefined,
  cancelReason: row.cancel_reason ?? undefined,
})
