import { useEffect, useMemo } from 'preact/hooks'
import type { Order } from '../../../../../client/src/index.ts'
import { PagedList } from '../../../app/pagedList.ts'
import { hrefOf } from '../../../app/router.ts'
import { store } from '../../../app/store.ts'
import { collectEvents } from '../../../app/stream.ts'
import { useList } from '../../../app/useList.ts'
import { Card } from '../../../components/Card.tsx'
import { Entry } from '../../../components/Entry.tsx'
import { Name } from '../../../components/Name.tsx'
import { PagedRows } from '../../../components/PagedRows.tsx'
import { StatusChip } from '../../../components/StatusChip.tsx'
import { TimeAgo } from '../../../components/TimeAgo.tsx'
import { collectMs, isAbout, type SideCardProps } from './events.ts'

const pageSize = 5

/** The orders for this animal, newest first. */
export function OrdersCard({ petId, version }: SideCardProps) {
  const list = useMemo(
    () =>
      new PagedList<Order>({
        pageSize,
        list: (page, options) => store.orders.list({ ...page, petId }, options),
      }),
    [petId],
  )
  useList(list, () =>
    collectEvents(
      (event) => event.type.startsWith('order.') && isAbout(event, petId),
      () => void list.refresh(),
      collectMs,
    ),
  )
  useEffect(() => void list.refresh(), [version])
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
