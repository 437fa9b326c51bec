import * as z from 'zod'
import type { Db, Trx } from '../database/db.ts'
import { recordEvent } from '../events/queries.ts'
import {
  ConflictError,
  identityCounter,
  oneByOne,
  type RecordChange,
  type Resource,
  recordId,
  recordTime,
} from '../records/resource.ts'
import { OrderConflicts } from './conflicts.ts'
import { holdExpiredReason, isOpenOrderStatus, type OrderStatus, orderStatuses } from './order.ts'
import { customerOf, lockOrderAsIs, lockPetAndOrder, syncPetStatus } from './queries.ts'
import { noteSchema, storedCustomerSchema } from './schemas.ts'

const schema = z
  .object({
    type: z.literal('order'),
    id: recordId,
    petId: recordId,
    status: z.enum(orderStatuses),
    customer: storedCustomerSchema.nullable(),
    note: noteSchema.nullable(),
    placedAt: recordTime,
    updatedAt: recordTime,
    holdExpiresAt: recordTime.nullable(),
    cancelReason: z.literal(holdExpiredReason).nullable(),
  })
  // Only a placed order expires. A hold on any other order would stay due forever.
  .refine(({ status, holdExpiresAt }) => (status === 'placed') === (holdExpiresAt !== null), {
    path: ['holdExpiresAt'],
    message: 'must be set on a placed order, and on no other',
  })
type OrderRecord = z.output<typeof schema>

/** Closed orders release their pets before the records of the pets set the status. Open orders find their pets. */
const [closedPosition, openPosition] = [20, 40] as const

export const orderResource: Resource<OrderRecord, 'orders'> = {
  type: 'order',
  countName: 'orders',
  nouns: ['order', 'orders'],
  table: 'orders',
  idColumn: 'id',
  counter: identityCounter('lastOrderId', 'orders'),
  positions: [closedPosition, openPosition],
  positionOf: ({ status }) => (isOpenOrderStatus(status as OrderStatus) ? openPosition : closedPosition),
  toRecords: (rows) =>
    rows.map((row) => ({
      petId: row.pet_id,
      status: row.status,
      customer: customerOf(row) ?? null,
      note: row.note,
      placedAt: row.placed_at,
      updatedAt: row.updated_at,
      holdExpiresAt: row.hold_expires_at,
      cancelReason: row.cancel_reason,
    })),
  // The erasure of customer data has no event.
  watchUnrecordedChanges: (db) => db.dialect.watchUnrecordedChanges?.(db, 'orders', 'silently_changed_by'),
  schema,
  conflicts: () => new OrderConflicts(),
  ...oneByOne(applyOrder, findOrderChange),
}

const toRow = (record: OrderRecord) => ({
  pet_id: record.petId,
  status: record.status,
  customer_name: record.customer?.name ?? null,
  customer_email: record.customer?.email ?? null,
  note: record.note,
  placed_at: record.placedAt,
  updated_at: record.updatedAt,
  hold_expires_at: record.holdExpiresAt,
  cancel_reason: record.cancelReason,
})

async function findOrderChange(db: Db, record: OrderRecord): Promise<RecordChange> {
  const stored = await db.selectFrom('orders').selectAll().where('id', '=', record.id).executeTakeFirst()
  if (!stored) return 'added'
  const row = toRow(record)
  return Object.entries(row).every(([name, value]) => stored[name as keyof typeof row] === value)
    ? 'unchanged'
    : 'changed'
}

async function applyOrder(trx: Trx, record: OrderRecord, now: number): Promise<[RecordChange]> {
  const { id, petId, status, cancelReason } = record
  // First: it may expire the hold of the existing order.
  const { openOrder } = await lockPetAndOrder(trx, BigInt(petId), now)
  const isOpen = isOpenOrderStatus(status)
  const existing = (await lockOrderAsIs(trx, id))?.order
  if (isOpen && openOrder && openOrder.id !== id)
    throw new ConflictError(
      `Order ${id} cannot be ${status}, because animal ${petId} has the open order ${openOrder.id}.`,
    )
  const change = await findOrderChange(trx, record)
  if (change === 'unchanged') return [change]
  const row = toRow(record)
  await trx
    .insertInto('orders')
    .values({ id, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
  if (existing?.pet_id === petId && existing.status === status) return [change]
  const state = { id, petId, status, cancelReason: cancelReason ?? undefined }
  await recordEvent(trx, now, `order.${status}`, state)
  // Only an order that is open, or was open in this database, changes its pet. Otherwise the record of the pet does.
  if (existing && isOpenOrderStatus(existing.status))
    await syncPetStatus(trx, existing.pet_id, existing.pet_id === petId ? status : 'cancelled', now)
  if (isOpen) await syncPetStatus(trx, petId, status, now)
  return [change]
}
