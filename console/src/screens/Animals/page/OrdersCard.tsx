import type { Order } from '../../../../../client/src/index.ts'
import { hrefOf } from '../../../app/router.ts'
import { store } from '../../../app/store.ts'
import { Card } from '../../../components/Card.tsx'
import { Entry } from '../../../components/Entry.tsx'
import { Name } from '../../../components/Name.tsx'
import { PagedRows } from '../../../components/PagedRows.tsx'
import { StatusChip } from '../../../components/StatusChip.tsx'
import { TimeAgo } from '../../../components/TimeAgo.tsx'
import type { SideCardProps } from './events.ts'
import { useSideList } from './useSideList.ts'

const pageSize = 5

/** The orders for this animal, newest first. */
export function OrdersCard(props: SideCardProps) {
  const { petId } = props
  const list = useSideList<Order>(props, {
    pageSize,
    list: (page, options) => store.orders.list({ ...page, petId }, options),
  })
  return (
    <Card title="Orders" anchor="orders">
      <PagedRows list={list} name="orders" empty={<p class="muted">No orders for this animal.</p>}>
        {(orders) => (
          <ol class="entries">
            {orders.map((order) => (
              <Entry key={order.id} icon="orders" class="animal-entry">
                <a href={hrefOf('orders')}>Order {String(order.id)}</a> <StatusChip status={order.status} />
                <span class="entry-detail">
                  {order.customer && (
                    <>
                      <Name>{order.customer.name}</Name> ·{' '}
                    </>
                  )}
                  <TimeAgo at={order.placedAt} />
                </span>
              </Entry>
            ))}
          </ol>
        )}
      </PagedRows>
    </Card>
  )
}
