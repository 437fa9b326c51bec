import type { Order, Pet } from '../../../../client/src/index.ts'
import { findCategory, loadCategories } from '../../app/categories.ts'
import { type CsvColumn, exportCsv, exportPageSize } from '../../app/csvExport.ts'
import { hasScope } from '../../app/session.ts'
import { store } from '../../app/store.ts'

/** An order with its animal, if that still exists. */
type Row = { readonly order: Order; readonly pet: Pet | undefined }

const columns: readonly CsvColumn<Row>[] = [
  ['id', ({ order }) => order.id],
  ['status', ({ order }) => order.status],
  ['animal id', ({ order }) => order.petId],
  ['animal', ({ pet }) => pet?.name],
  ['category', ({ pet }) => pet && findCategory(pet.categoryId)?.name],
  ['adopter', ({ order }) => order.customer?.name],
  ['e-mail', ({ order }) => order.customer?.email],
  ['note', ({ order }) => order.note],
  ['placed', ({ order }) => order.placedAt],
  ['changed', ({ order }) => order.updatedAt],
  ['hold expires', ({ order }) => order.holdExpiresAt],
  ['cancel reason', ({ order }) => order.cancelReason],
]

export async function exportOrders(): Promise<void> {
  await loadCategories()
  await exportCsv({
    name: 'orders',
    noun: 'order',
    columns,
    async load(cursor) {
      const { items, nextCursor } = await store.orders.list({ limit: exportPageSize, cursor }).page()
      const ids = [...new Set(items.map(({ petId }) => petId))]
      const isReadable = hasScope('pets:read') && ids.length > 0
      const pets = isReadable ? (await store.pets.list({ id: ids, limit: exportPageSize }).page()).items : []
      const byId = new Map(pets.map((pet) => [pet.id, pet]))
      return { items: items.map((order) => ({ order, pet: byId.get(order.petId) })), nextCursor }
    },
  })
}
