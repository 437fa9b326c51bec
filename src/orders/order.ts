/** The rules for orders, without HTTP or SQL. */

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
  /** When a placed order is cancelled, unless it is approved first. */
  holdExpiresAt: number | undefined
  cancelReason: string | undefined
}

/** The cancel reason of an order whose hold expired. */
export const holdExpiredReason = 'hold_expired'

/** The statuses that a request may change each status to. */
export const nextOrderStatuses: Record<OrderStatus, readonly OrderStatus[]> = {
  placed: ['approved', 'cancelled'],
  approved: ['delivered', 'cancelled'],
  delivered: [],
  cancelled: [],
}

export const isOrderTransitionAllowed = (from: OrderStatus, to: OrderStatus): boolean =>
  from === to || nextOrderStatuses[from].includes(to)

export const isOpenOrderStatus = (status: OrderStatus): boolean => nextOrderStatuses[status].length > 0

/** The status that a pet has while its order has each status. */
export const petStatusForOrder = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  cancelled: 'available',
} as const

export const isHoldExpired = ({ status, holdExpiresAt }: Order, now: number): boolean =>
  status === 'placed' && holdExpiresAt !== undefined && now >= holdExpiresAt

/** The order without the customer, and without the note, which may name the customer. */
export const withoutPersonalData = <T extends object>(order: T): T => ({
  ...order,
  customer: undefined,
  note: undefined,
})
