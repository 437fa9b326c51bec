import type { Db, Trx } from '../../database/db.ts'
import { recordEvent } from '../../events/queries.ts'
import { isOpenOrderStatus } from '../../orders/order.ts'
import { lockOrder, lockPetAndOrder, syncPetStatus } from '../../orders/queries.ts'
import type { RecordChange } from './changes.ts'
import { ConflictError } from './problems.ts'
import type { OrderRecord } from './records.ts'

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

/** What an import of this order would do. */
export async function findOrderChange(db: Db, record: OrderRecord): Promise<RecordChange> {
  const stored = await db.selectFrom('orders').selectAll().where('id', '=', record.id).executeTakeFirst()
  if (!stored) return 'added'
  const row = toRow(record)
  return Object.entries(row).every(([name, value]) => stored[name as keyof typeof row] === value)
    ? 'unchanged'
    : 'changed'
}

export async function applyOrder(trx: Trx, record: OrderRecord, now: number): Promise<RecordChange> {
  const { id, petId, status, cancelReason } = record
  // First: it may expire the hold of the existing order.
  const { openOrder } = await lockPetAndOrder(trx, BigInt(petId), now)
  const isOpen = isOpenOrderStatus(status)
  const existing = (await lockOrder(trx, id, Number.NEGATIVE_INFINITY))?.order
  if (isOpen && openOrder && openOrder.id !== id)
    throw new ConflictError(
      `Order ${id} cannot be ${status}, because animal ${petId} has the open order ${openOrder.id}.`,
    )
  const change = await findOrderChange(trx, record)
  if (change === 'unchanged') return change
  const row = toRow(record)
  await trx
    .insertInto('orders')
    .values({ id, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
  if (existing?.petId === petId && existing.status === status) return change
  await recordEvent(trx, now, `order.${status}`, {
    id,
    petId,
    status,
    cancelReason: cancelReason ?? undefined,
  })
  // Only an order that is open, or was open in this database, changes its pet. Otherwise the record of the pet does.
  if (existing && isOpenOrderStatus(existing.status))
    await syncPetStatus(trx, existing.petId, existing.petId === petId ? status : 'cancelled', now)
  if (isOpen) await syncPetStatus(trx, petId, status, now)
  return change
}
