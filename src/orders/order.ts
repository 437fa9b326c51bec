/** The rules for orders, without HTTP or SQL. */

export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const
export type OrderStatus = (typeof orderStatuses)[number]

export type Customer = { name: string; email?: string | undefined }

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

type Hold = { readonly status: OrderStatus; readonly hold_expires_at: number | null }

export const isHoldExpired = ({ status, hold_expires_at }: Hold, now: number): boolean =>
  status === 'placed' && hold_expires_at !== null && now >= hold_expires_at

/** The response without the customer, and without the note, which may name the customer. */
export const withoutPersonalData = <T extends object>(order: T): T => ({
  ...order,
  customer: undefined,
  note: undefined,
})
