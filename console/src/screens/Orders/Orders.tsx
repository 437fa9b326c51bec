import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Order, OrderStatus } from '../../../../client/src/index.ts'
import { orderStatuses } from '../../../../src/orders/order.ts'
import { keepFocus } from '../../app/focus.ts'
import { hrefOf } from '../../app/router.ts'
import { streamReady } from '../../app/stream.ts'
import { showToast } from '../../app/toasts.ts'
import { useAction } from '../../app/useAction.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { LoadingRows } from '../../components/Loading.tsx'
import { Menu } from '../../components/Menu.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { Segments } from '../../components/Segments.tsx'
import { statusName } from '../../components/StatusChip.tsx'
import './orders.css'
import { OrderCard } from './OrderCard.tsx'
import { OrderBoard } from './orderBoard.ts'
import { exportOrders } from './ordersCsv.ts'

const emptyTexts: Record<OrderStatus, string> = {
  placed: 'New orders appear here.',
  approved: 'Approved orders wait here for the adopter.',
  delivered: 'Finished adoptions appear here.',
  cancelled: 'Cancelled orders and expired holds appear here.',
}

export default function Orders() {
  const board = useMemo(() => new OrderBoard(), [])
  const [shown, setShown] = useState<OrderStatus>('placed')
  const [erasing, setErasing] = useState<Order>()
  useEffect(() => {
    const end = board.follow()
    void streamReady().then(() => board.reload())
    return end
  }, [board])
  const { run } = useAction()
  const isEmpty = orderStatuses.every((status) => board.column(status).isEmpty)
  return (
    <>
      <PageHeader
        title="Orders"
        actions={
          <>
            <LiveIndicator onRefresh={() => void board.reload()} />
            {!isEmpty && (
              <Menu
                label="More actions"
                items={[{ label: 'Export as CSV', onSelect: () => void run(exportOrders) }]}
              />
            )}
          </>
        }
      />
      {isEmpty ? (
        <EmptyState
          icon="orders"
          title="No orders yet"
          text="Place the first one from an available animal."
          action={
            <a class="button button-primary button-normal" href={`${hrefOf('animals')}?status=available`}>
              Show available animals
            </a>
          }
        />
      ) : (
        <>
          {/* On a phone one column is shown at a time. */}
          <Segments
            class="board-switch"
            label="Status"
            options={orderStatuses.map((status) => ({
              value: status,
              label: [statusName(status), ' ', <span key={status}>{columnCount(board, status)}</span>],
            }))}
            value={shown}
            onValue={(status) => setShown(status)}
          />
          <div class="board">
            {orderStatuses.map((status) => (
              <Column
                key={status}
                board={board}
                status={status}
                isShown={status === shown}
                onErase={setErasing}
              />
            ))}
          </div>
        </>
      )}
      {erasing && <EraseDialog board={board} order={erasing} onClose={() => setErasing(undefined)} />}
    </>
  )
}

/** "12", or "50+" if there are more. */
const columnCount = (board: OrderBoard, status: OrderStatus): string => {
  const { orders, hasNewer, hasOlder } = board.column(status)
  return `${orders.length}${hasNewer || hasOlder ? '+' : ''}`
}

type ColumnProps = { board: OrderBoard; status: OrderStatus; isShown: boolean; onErase(order: Order): void }

function Column({ board, status, isShown, onErase }: ColumnProps) {
  const { state, error, orders, hasNewer, hasOlder, isEmpty } = board.column(status)
  const cards = useRef<HTMLUListElement>(null)
  const keepInPlace = useScrollAnchor(`${orders[0]?.id} ${orders.at(-1)?.id}`)
  return (
    <section class={`column ${isShown ? 'column-shown' : ''}`} aria-label={statusName(status)}>
      <header class="column-header">
        <h2>{statusName(status)}</h2>
        <span class="column-count">{columnCount(board, status)}</span>
      </header>
      {hasNewer && (
        <div class="column-newer">
          <LoadButton
            load={() => {
              keepInPlace(cards.current?.firstElementChild)
              return board.loadNewer(status)
            }}
          >
            Load newer
          </LoadButton>
          <LoadButton load={() => board.showNewest(status)}>Newest</LoadButton>
        </div>
      )}
      {orders.length > 0 && (
        <ul class="column-orders" ref={cards}>
          {orders.map((order) => (
            <OrderCard key={order.id} board={board} order={order} onErase={onErase} />
          ))}
        </ul>
      )}
      {state === 'loading' && orders.length === 0 && (
        <LoadingRows count={3} label={`Loading ${status} orders`} />
      )}
      {state === 'error' && error && (
        <ErrorState error={error} hasContent={orders.length > 0} onRetry={() => void board.retry(status)} />
      )}
      {isEmpty && <p class="column-empty">{emptyTexts[status]}</p>}
      {hasOlder && state !== 'error' && (
        <LoadButton
          load={() => {
            keepInPlace(cards.current?.lastElementChild)
            return board.loadOlder(status)
          }}
        >
          Load more
        </LoadButton>
      )}
    </section>
  )
}

function LoadButton({ load, children }: { load(): Promise<void>; children: string }) {
  const [isBusy, setBusy] = useState(false)
  async function run() {
    setBusy(true)
    await load()
    setBusy(false)
    keepFocus()
  }
  return (
    <Button size="small" isBusy={isBusy} onClick={() => void run()}>
      {children}
    </Button>
  )
}

/** Keeps a card in its place on the screen when cards above it are added or dropped. `shown` changes when that happens. */
function useScrollAnchor(shown: string): (card: Element | null | undefined) => void {
  const kept = useRef<Element | null | undefined>(undefined)
  // Measured while rendering, before the document changes.
  const top = kept.current?.getBoundingClientRect().top
  useLayoutEffect(() => {
    const card = kept.current
    kept.current = undefined
    const content = card?.closest('.content')
    if (card && content && top !== undefined) content.scrollTop += card.getBoundingClientRect().top - top
  }, [shown])
  return (card) => {
    kept.current = card
  }
}

function EraseDialog({ board, order, onClose }: { board: OrderBoard; order: Order; onClose(): void }) {
  async function erase() {
    await board.eraseCustomer(order.id)
    showToast(`The adopter's data of order ${order.id} is erased.`)
    onClose()
  }
  return (
    <ConfirmDialog
      title="Erase the adopter's data?"
      text={`The name, e-mail address and note of order ${order.id} are deleted for good. The order stays.`}
      action="Erase"
      isDanger
      run={erase}
      onClose={onClose}
    />
  )
}
