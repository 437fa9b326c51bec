import { useEffect } from 'preact/hooks'
import type { Delivery, Webhook } from '../../../../client/src/index.ts'
import { now } from '../../app/clock.ts'
import { pluralize } from '../../app/format.ts'
import type { PagedList } from '../../app/pagedList.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { useAction } from '../../app/useAction.ts'
import { useList } from '../../app/useList.ts'
import { Button, IconButton } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { Countdown } from '../../components/Countdown.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { PagedRows } from '../../components/PagedRows.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'

export type DeliveryList = PagedList<Delivery>

/** While a message is being sent. */
const duePollMs = 2_000
/** Otherwise, less often: each refresh counts as a request of the key. */
const idlePollMs = 10_000
/** An attempt within this time is worth waiting for. */
const soonMs = 30_000

type DeliveriesProps = {
  webhook: Webhook
  list: DeliveryList
  /** Called when no message is being sent any more: their outcome may have disabled the webhook. */
  onSettled(): void
}

/** The messages to a webhook with the outcome of their attempts. */
export function Deliveries({ webhook, list, onSettled }: DeliveriesProps) {
  useFollowed(webhook, list, onSettled)
  return (
    <Card
      title="Deliveries"
      text="Newest first, kept for 30 days. A failed message is sent again up to 9 times, over three days."
      actions={<IconButton label="Refresh deliveries" icon="refresh" onClick={() => void list.reload()} />}
      class="deliveries-card"
    >
      <PagedRows
        list={list}
        name="deliveries"
        empty={
          <EmptyState
            icon="webhook"
            title="No deliveries yet"
            text="Send a test message, or wait for the first event."
          />
        }
      >
        {(deliveries) => (
          <ul class="deliveries">
            {deliveries.map((delivery) => (
              <DeliveryRow key={delivery.id} webhook={webhook} delivery={delivery} list={list} />
            ))}
          </ul>
        )}
      </PagedRows>
    </Card>
  )
}

/** Takes over new messages and the outcome of attempts: soon while an attempt is due, and now and then otherwise. */
function useFollowed({ status }: Webhook, list: DeliveryList, onSettled: () => void): void {
  useList(list)
  useEffect(() => {
    let refreshedAt = Date.now()
    const timer = setInterval(() => {
      const isLimited = (list.error.value?.retryAt ?? 0) > now()
      // A paused webhook sends nothing.
      const isDue = status === 'enabled' && hasDue(list)
      if (document.visibilityState !== 'visible' || isLimited) return
      if (!isDue && Date.now() - refreshedAt < idlePollMs) return
      refreshedAt = Date.now()
      void list.refresh(isDue ? 1 : pagesToRefresh(list)).then(() => {
        if (isDue && !hasDue(list)) onSettled()
      })
    }, duePollMs)
    return () => clearInterval(timer)
  }, [list, status])
}

export const deliveriesPerPage = 50
/** Bounds the requests for a list of which many pages were loaded. */
const pagesMax = 4

/** The first page has what is new. The others can have messages whose outcome is not known. */
function pagesToRefresh(list: DeliveryList): number {
  const { length } = list.size.peek()
  let last = 0
  for (let index = 0; index < Math.min(length, pagesMax * deliveriesPerPage); index++)
    if (list.itemAt(index)?.status === 'pending') last = index
  return Math.floor(last / deliveriesPerPage) + 1
}

function hasDue(list: DeliveryList): boolean {
  for (let index = 0; index < Math.min(list.size.peek().length, deliveriesPerPage); index++) {
    const item = list.itemAt(index)
    if (item?.status === 'pending' && Date.parse(item.nextAttemptAt ?? item.createdAt) <= now() + soonMs)
      return true
  }
  return false
}

type DeliveryRowProps = { webhook: Webhook; delivery: Delivery; list: DeliveryList }

function DeliveryRow({ webhook, delivery, list }: DeliveryRowProps) {
  const { isBusy, run } = useAction()
  const retry = () =>
    run(async () => {
      list.upsert(await store.webhooks.retryDelivery(webhook.id, delivery.id))
      showToast('The message is sent again.')
    })
  return (
    <li class="delivery">
      <StatusChip status={delivery.status} />
      <div class="delivery-text">
        <p>
          <strong>{delivery.eventType}</strong>
          {delivery.eventId !== undefined && <span class="muted"> · event {String(delivery.eventId)}</span>}
        </p>
        <p class="muted">
          <Outcome delivery={delivery} />
        </p>
      </div>
      <span class="delivery-time muted">
        <TimeAgo at={delivery.createdAt} />
      </span>
      <span class="delivery-action">
        {delivery.status !== 'pending' && webhook.status !== 'disabled' && (
          <Button
            size="small"
            isBusy={isBusy}
            aria-label={`Retry delivery ${delivery.id}`}
            onClick={() => void retry()}
          >
            Retry
          </Button>
        )}
      </span>
    </li>
  )
}

/** "2 attempts · Response 503 · next attempt in 4 min" */
function Outcome({ delivery }: { delivery: Delivery }) {
  const { attempts, lastStatus, lastError, nextAttemptAt, status } = delivery
  const next = nextAttemptAt === undefined ? undefined : Date.parse(nextAttemptAt)
  return (
    <>
      {attempts === 0 ? 'Not sent yet' : pluralize(attempts, 'attempt')}
      {lastStatus !== undefined && ` · Response ${lastStatus}`}
      {lastStatus === undefined && lastError !== undefined && ` · ${lastError}`}
      {status === 'pending' && next !== undefined && next > now() && (
        <>
          {' '}
          · next attempt in <Countdown until={next} />
        </>
      )}
    </>
  )
}
