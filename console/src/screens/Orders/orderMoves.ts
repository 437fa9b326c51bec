import { signal } from '@preact/signals'
import type { Int64, Order } from '../../../../client/src/index.ts'
import { onSignOut } from '../../app/session.ts'

/**
 * Orders that are shown with a status that is not confirmed yet, with that status. They outlive the screen: the time for
 * undo goes on when it is left.
 */
export const orderMoves = signal<ReadonlyMap<Int64, Order>>(new Map())

export function showMove(order: Order): void {
  orderMoves.value = new Map(orderMoves.value).set(order.id, order)
}

export function endMove(orderId: Int64): void {
  const rest = new Map(orderMoves.value)
  rest.delete(orderId)
  orderMoves.value = rest
}

onSignOut(() => {
  orderMoves.value = new Map()
})
