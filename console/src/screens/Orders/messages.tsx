import type { ComponentChildren } from 'preact'
import type { RequestError } from '../../api/errors.ts'
import type { Order, OrderStatus } from '../../api/types.ts'
import { Name } from '../../components/Name.tsx'

/** "Order 5 for Milo delivered." */
export const moveMessage = ({ id }: Order, name: string, status: OrderStatus): ComponentChildren => (
  <>
    Order {String(id)} for <Name>{name}</Name> {status}.
  </>
)

/** What an error means for the person who moves the order for an animal. */
export function explain(error: RequestError, name: string): ComponentChildren {
  if (error.code === 'illegal_transition')
    return (
      <>
        Someone else changed the order for <Name>{name}</Name> first. {error.message}
      </>
    )
  if (error.code === 'order_not_found')
    return (
      <>
        The order for <Name>{name}</Name> no longer exists.
      </>
    )
  return error.message
}
