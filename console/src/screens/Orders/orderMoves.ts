import { signal } from '@preact/signals'
import type { Order } from '../../api/types.ts'
import { onSignOut } from '../../app/session.ts'

/**
 * Orders that are shown with a status that is not confirmed yet, with that status. They outlive the screen: the time for
 * undo goes on when it is left.
 */
export const moves = signal<ReadonlyMap<number, Order>>(new Map())

export function showMove(order: Order): void {
  moves.value = new Map(moves.value).set(order.id, order)
}

export function endMove(orderId: number): void {
  const rest = new Map(moves.value)
  rest.delete(orderId)
  moves.value = rest
}

onSignOut(() => {
  moves.value = new Map()
})
