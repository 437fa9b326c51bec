import { type Selectable, sql } from 'kysely'
import type { Db, Trx } from '../database/db.ts'
import { preparedQuery } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import { recordEvent } from '../events/queries.ts'
import type { Pet, PetStatus } from '../pets/pet.ts'
import { findPetForUpdate, findPetOfOrderForUpdate, tryLockPet, updatePet } from '../pets/queries.ts'
import { isAmong } from '../pets/storedPets.ts'
import {
  type Customer,
  holdExpiredReason,
  isHoldExpired,
  type OrderStatus,
  petStatusForOrder,
} from './order.ts'

export type Order = Selectable<Tables['orders']> & { readonly status: OrderStatus }
type OrderFilter = { status?: OrderStatus | undefined; petId?: bigint | undefined }
export type NewOrder = { customer: Customer | undefined; note: string | undefined; holdMs: number }

/** Above every id that the service assigns. */
const orderIdMax = Number.MAX_SAFE_INTEGER
/** Bounds of one batch of expired holds, because other writes wait for it. */
const expiredHoldsMax = 500
const expiryBatchMaxMs = 200

const selectOrders = (db: Db) => db.selectFrom('orders').selectAll().$castTo<Order>()

/** One page of orders below an id, newest first. An index covers every combination of filters. */
export function ordersPageQuery(db: Db, limit: number, belowId = orderIdMax, { status, petId }: OrderFilter) {
  const filters: [string, unknown][] = []
  if (petId !== undefined) filters.push(['pet_id', Number(petId)])
  if (status !== undefined) filters.push(['status', status])
  return db.dialect.keysetPage(selectOrders(db), filters, belowId).limit(limit)
}

export const listOrders = (...page: Parameters<typeof ordersPageQuery>): Promise<Order[]> =>
  ordersPageQuery(...page).execute()

export const findOrder = (db: Db, id: number): Promise<Order | undefined> =>
  selectOrders(db).where('id', '=', id).executeTakeFirst()

/** Locks the order until the end of the transaction. */
export const findOrderForUpdate = (trx: Trx, id: number): Promise<Order | undefined> =>
  selectOrders(trx).where('id', '=', id).forUpdate().executeTakeFirst()

export const openOrdersQuery = (db: Db) =>
  selectOrders(db)
    // As literals, because the planner uses a partial index only if the query repeats its condition.
    .where('status', 'in', [sql.lit('placed'), sql.lit('approved')])

const openOrderQuery = (db: Db) => openOrdersQuery(db).where('pet_id', '=', 0)

const selectOpenOrder = preparedQuery<[petId: number], Order>(openOrderQuery)
const selectOpenOrderForUpdate = preparedQuery<[petId: number], Order>((db) => openOrderQuery(db).forUpdate())

async function findOpenOrders(db: Db, petIds: readonly number[]): Promise<Order[]> {
  if (petIds.length === 0) return []
  const given = new Set(petIds)
  const orders = await openOrdersQuery(db)
    .where(isAmong(db, 'pet_id', petIds))
    .execute()
  return orders.filter(({ pet_id }) => given.has(pet_id))
}

export const hasOpenOrders = async (db: Db, petIds: readonly number[]): Promise<boolean> =>
  (await findOpenOrders(db, petIds)).length > 0

/** The status that the open order of each pet gives it. Cancels orders whose hold has expired. The pets are locked. */
export async function statusesByOpenOrders(trx: Trx, petIds: readonly number[], now: number) {
  const statuses = new Map<number, PetStatus>()
  for (const order of await findOpenOrders(trx, petIds)) {
    if (isHoldExpired(order, now)) await lockPetAndOrder(trx, BigInt(order.pet_id), now)
    else statuses.set(order.pet_id, petStatusForOrder[order.status])
  }
  return statuses
}

/** Whether a committed order holds the pet. */
export async function isPetHeld(db: Db, petId: bigint, now: number): Promise<boolean> {
  const [row] = await selectOpenOrder(db, Number(petId))
  return row !== undefined && !isHoldExpired(row, now)
}

/** Locks the open order for a pet until the end of the transaction. Its hold may have expired. */
export async function findOpenOrderForUpdate(trx: Trx, petId: bigint): Promise<Order | undefined> {
  const [row] = await selectOpenOrderForUpdate(trx, Number(petId))
  return row
}

/** Locks a pet and its open order. An order whose hold has expired is cancelled. */
export async function lockPetAndOrder(trx: Trx, petId: bigint, now: number) {
  const [pet, openOrder] = await Promise.all([
    findPetForUpdate(trx, petId),
    findOpenOrderForUpdate(trx, petId),
  ])
  if (!openOrder || !isHoldExpired(openOrder, now)) return { pet, openOrder }
  const released = await expireHold(trx, openOrder, pet, now)
  return { pet: released.pet, openOrder: undefined }
}

/** Locks an order and its pet. An order whose hold has expired is cancelled. */
export async function lockOrder(trx: Trx, id: number, now: number) {
  const locked = await lockOrderAsIs(trx, id)
  if (!locked || !isHoldExpired(locked.order, now)) return locked
  return expireHold(trx, locked.order, locked.pet, now)
}

/** Locks an order and its pet. Its hold may have expired. */
export async function lockOrderAsIs(trx: Trx, id: number) {
  const [pet, order] = await Promise.all([
    findPetOfOrderForUpdate(trx, trx.selectFrom('orders').where('id', '=', id).select('pet_id')),
    findOrderForUpdate(trx, id),
  ])
  return order && { order, pet }
}

/** Places an order for an available pet and makes the pet pending. */
export async function placeOrder(trx: Trx, pet: Pet, { customer, note, holdMs }: NewOrder, now: number) {
  const order = await trx
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
    .$castTo<Order>()
    .executeTakeFirstOrThrow()
  return (await afterStatusChange(trx, order, pet, now)).order
}

/** Changes the status of an order, and that of its pet accordingly. The transaction has locked both. */
export async function updateOrderStatus(
  trx: Trx,
  order: Order,
  pet: Pet | undefined,
  status: OrderStatus,
  now: number,
  cancelReason?: string,
): Promise<{ order: Order; pet: Pet | undefined }> {
  const change = { status, updated_at: now, hold_expires_at: null, cancel_reason: cancelReason ?? null }
  await trx.send(trx.updateTable('orders').set(change).where('id', '=', order.id))
  return afterStatusChange(trx, { ...order, ...change }, pet, now)
}

const expireHold = (trx: Trx, order: Order, pet: Pet | undefined, now: number) =>
  updateOrderStatus(trx, order, pet, 'cancelled', now, holdExpiredReason)

export async function hasDueHolds(db: Db, now: number): Promise<boolean> {
  const due = db.selectFrom('orders').select('id').where('hold_expires_at', '<=', now).limit(1)
  return (await due.executeTakeFirst()) !== undefined
}

/**
 * Cancels a bounded number of orders whose hold has expired. Returns how many. Orders that another transaction changes
 * are skipped: it expires them itself, or the next run does.
 */
export async function expireDueHolds(trx: Trx, now: number): Promise<number> {
  const due = await trx
    .selectFrom('orders')
    .select(['id', 'pet_id'])
    .where('hold_expires_at', '<=', now)
    .orderBy('hold_expires_at')
    .limit(expiredHoldsMax)
    .execute()
  const deadline = performance.now() + expiryBatchMaxMs
  let expired = 0
  for (const { id, pet_id } of due) {
    if (expired > 0 && performance.now() > deadline) break
    const isPetLocked = await tryLockPet(trx, pet_id)
    const locked = isPetLocked && (await lockOrder(trx, id, now))
    if (locked) expired++
  }
  return expired
}

/** Erases the customer, and the note, which may name the customer. */
export async function eraseCustomer(trx: Trx, id: number, now: number): Promise<void> {
  const erased = { customer_name: null, customer_email: null, note: null, updated_at: now }
  await trx.send(trx.updateTable('orders').set(erased).where('id', '=', id))
}

/** Records the event of a status change, without personal data, and updates the pet. */
async function afterStatusChange(trx: Trx, order: Order, pet: Pet | undefined, now: number) {
  const { id, pet_id: petId, status, cancel_reason } = order
  await recordEvent(trx, now, `order.${status}`, {
    id,
    petId,
    status,
    cancelReason: cancel_reason ?? undefined,
  })
  return { order, pet: pet && (await updatePet(trx, pet, { status: petStatusForOrder[status] }, now)) }
}

/** Gives a pet the status that follows from the status of its order. */
export async function syncPetStatus(trx: Trx, petId: number, status: OrderStatus, now: number) {
  const pet = await findPetForUpdate(trx, BigInt(petId))
  if (pet) await updatePet(trx, pet, { status: petStatusForOrder[status] }, now)
}

export const customerOf = (order: Pick<Order, 'customer_name' | 'customer_email'>): Customer | undefined => {
  const { customer_name: name, customer_email: email } = order
  return name === null ? undefined : { name, email: email ?? undefined }
}

/** What an import of pets needs to know about their orders. */
export const petOrders = { hasOpenOrders, statusesByOpenOrders }
