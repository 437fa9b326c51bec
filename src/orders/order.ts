/** An order and its rules. Nothing here knows of HTTP or SQL. */

export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const
export type OrderStatus = (typeof orderStatuses)[number]

export type Customer = { name: string; email?: string | undefined }

export type Order = {
  id: number
  petId: number
  status: OrderStatus
  customer: Customer | undefined
  note: string | undefined
  placedAt: number
  updatedAt: number
  /** When the hold of a placed order lapses. */
  holdExpiresAt: number | undefined
  cancelReason: string | undefined
}

export const holdExpiredReason = 'hold_expired'
export const customerNameLengthMax = 255
export const emailLengthMax = 320
export const noteLengthMax = 1_000

const transitions: Record<OrderStatus, readonly OrderStatus[]> = {
  placed: ['approved', 'cancelled'],
  approved: ['delivered', 'cancelled'],
  delivered: [],
  cancelled: [],
}

export const isOrderTransitionAllowed = (from: OrderStatus, to: OrderStatus): boolean =>
  from === to || transitions[from].includes(to)

export const nextOrderStatuses = (from: OrderStatus): readonly OrderStatus[] => transitions[from]

export const isOpenOrderStatus = (status: OrderStatus): boolean =>
  status === 'placed' || status === 'approved'

/** What becomes of the animal when its order gets to a status. */
export const petStatusForOrder = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  cancelled: 'available',
} as const

export const isHoldExpired = (
  { status, holdExpiresAt }: Pick<Order, 'status' | 'holdExpiresAt'>,
  now: number,
): boolean => status === 'placed' && holdExpiresAt !== undefined && now >= holdExpiresAt
