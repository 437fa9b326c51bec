import type { ComponentChildren } from 'preact'
import type { Order, OrderStatus } from '../../../../client/src/index.ts'
import type { RequestError } from '../../app/errors.ts'
import { withNames } from '../../components/Name.tsx'

/** "Order 5 for Milo delivered." */
export const moveMessage = ({ id }: Order, name: string, status: OrderStatus): ComponentChildren => [
  withNames`Order ${id} for ${name}`,
  ` ${status}.`,
]

/** What an error means for the person who moves the order for an animal. */
export function explain(error: RequestError, name: string): ComponentChildren {
  if (error.code === 'illegal_transition')
    return [withNames`Someone else changed the order for ${name} first. `, error.message]
  if (error.code === 'order_not_found') return withNames`The order for ${name} no longer exists.`
  return error.message
}
