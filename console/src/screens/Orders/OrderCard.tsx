import type { Order, OrderStatus } from '../../../../client/src/index.ts'
import { holdExpiredReason } from '../../../../src/orders/order.ts'
import { keepFocus } from '../../app/focus.ts'
import { petName } from '../../app/petNames.ts'
import { hasScope } from '../../app/session.ts'
import { tick } from '../../app/tick.ts'
import { Button } from '../../components/Button.tsx'
import { Countdown } from '../../components/Countdown.tsx'
import { Icon } from '../../components/Icon.tsx'
import { Menu, type MenuItem } from '../../components/Menu.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import { OrderNote } from './OrderNote.tsx'
import { canCancel, nextStep, type OrderBoard } from './orderBoard.ts'

/** A hold that ends within this time is marked. */
const soonMs = 60 * 60 * 1000

const stepNames: Partial<Record<OrderStatus, string>> = {
  approved: 'Approve',
  delivered: 'Mark as delivered',
}

type OrderCardProps = { board: OrderBoard; order: Order; onErase(order: Order): void }

export function OrderCard({ board, order, onErase }: OrderCardProps) {
  const next = nextStep(order.status)
  const name = petName(order.petId)
  const canWrite = hasScope('orders:write')
  const items: MenuItem[] = []
  const isMoving = board.isMoving(order.id)
  const move = (status: OrderStatus) => {
    board.move(order, status)
    keepFocus()
  }
  if (canWrite && !isMoving && canCancel(order.status))
    items.push({ label: 'Cancel order', isDanger: true, onSelect: () => move('cancelled') })
  if (canWrite && order.customer)
    items.push({ label: "Erase adopter's data", isDanger: true, onSelect: () => onErase(order) })
  return (
    <li class="order">
      <div class="order-head">
        <h3 class="order-title">{name}</h3>
        {items.length > 0 && <Menu label={`Actions for order ${order.id}`} items={items} />}
      </div>
      <p class="order-meta">
        Order {String(order.id)} · <TimeAgo at={order.placedAt} />
      </p>
      {order.customer && <p class="order-customer">{order.customer.name}</p>}
      {order.customer?.email !== undefined && (
        <p class="order-email">
          <a href={mailtoOf(order.customer.email)}>{order.customer.email}</a>
        </p>
      )}
      {order.note !== undefined && <OrderNote text={order.note} />}
      {order.status === 'placed' && order.holdExpiresAt !== undefined && (
        <Hold until={Date.parse(order.holdExpiresAt)} />
      )}
      {order.cancelReason === holdExpiredReason && <p class="order-hold">The hold expired.</p>}
      {canWrite && next && (
        <Button size="small" class="order-step" isBusy={isMoving} onClick={() => move(next)}>
          {stepNames[next]}
        </Button>
      )}
    </li>
  )
}

/** Some characters of an address have another meaning in a URL. */
const mailtoOf = (email: string): string => `mailto:${email.split('@').map(encodeURIComponent).join('@')}`

function Hold({ until }: { until: number }) {
  const left = until - tick.value
  return (
    <p class={`order-hold ${left < soonMs ? 'order-hold-soon' : ''}`}>
      <Icon name="clock" />
      {left > 0 ? (
        <span>
          Held for <Countdown until={until} />
        </span>
      ) : (
        'The hold has expired.'
      )}
    </p>
  )
}
