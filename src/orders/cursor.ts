import * as z from 'zod'
import { requireSameFilters } from '../api/lists.ts'
import { openCursor, sealCursor } from '../api/pagination.ts'
import { int64Text } from '../api/validation.ts'
import { orderStatuses } from './order.ts'
import type { OrderFilter } from './queries.ts'

/** The start of a page, and the filters of the list that it belongs to. */
type OrderCursor = { belowId: number; filter: OrderFilter }

const payload = z.tuple([z.int(), z.enum(orderStatuses).nullable(), int64Text().nullable()])

export const encodeOrderCursor = ({ belowId, filter: { status, petId } }: OrderCursor): string =>
  sealCursor('orders', [belowId, status ?? null, petId?.toString() ?? null] satisfies z.input<typeof payload>)

export function decodeOrderCursor(cursor: string, sent: OrderFilter): OrderCursor {
  const [belowId, status, petId] = openCursor('orders', payload, cursor)
  const filter = { status: status ?? undefined, petId: petId ?? undefined }
  requireSameFilters(sent, filter)
  return { belowId, filter }
}
