import type { Int64, Order, OrderStatus, Event as StoreEvent } from '../../../../client/src/index.ts'
import {
  isOpenOrderStatus,
  nextOrderStatuses,
  orderStatuses,
  withoutPersonalData,
} from '../../../../src/orders/order.ts'
import { ChangesDuringLoad } from '../../app/changesDuringLoad.ts'
import { isAbort, type RequestError, toRequestError } from '../../app/errors.ts'
import { newestFirst } from '../../app/ids.ts'
import type { ListState } from '../../app/listTypes.ts'
import { PagedList } from '../../app/pagedList.ts'
import { petName } from '../../app/petNames.ts'
import { store } from '../../app/store.ts'
import { followEvents } from '../../app/stream.ts'
import { showError, showToast } from '../../app/toasts.ts'
import { runWithUndo } from '../../app/undo.ts'
import { explain, moveMessage } from './messages.tsx'
import { endMove, orderMoves, showMove } from './orderMoves.ts'

/** The orders of the board by status, with their live changes. */

const pageSize = 50
/** Bounds the document. Beyond it, the cards at the other end of the column are dropped. */
const columnOrdersMax = 200
/** Orders that are placed within this time are loaded together. */
const collectMs = 300
/** If more orders than this are new, their columns are loaded again. */
const singleLoadsMax = 3

/** The orders that are shown are a part of those with the status, newest first. */
type BoardColumn = {
  state: ListState
  error: RequestError | undefined
  orders: readonly Order[]
  hasNewer: boolean
  hasOlder: boolean
  /** There are no orders with the status. */
  isEmpty: boolean
}

const createList = (status: OrderStatus) =>
  new PagedList<Order>({
    pageSize,
    list: (page, options) => store.orders.list({ ...page, status }, options),
    accepts: (order) => order.status === status,
    windowMax: columnOrdersMax,
  })

/** The board on the screen. */
let shownBoard: OrderBoard | undefined

export class OrderBoard {
  readonly #lists: Readonly<Record<OrderStatus, PagedList<Order>>> = {
    placed: createList('placed'),
    approved: createList('approved'),
    delivered: createList('delivered'),
    cancelled: createList('cancelled'),
  }
  readonly #controller = new AbortController()
  readonly #unknownOrders = new Map<Int64, OrderStatus>()
  readonly #changesDuringLoad = new ChangesDuringLoad<true>()

  column(status: OrderStatus): BoardColumn {
    const list = this.#lists[status]
    const { items, hasNewer, hasOlder, isAtEnd } = list.window()
    const movedHere = [...orderMoves.value.values()].filter((order) => order.status === status)
    const stay = items.filter(({ id }) => !orderMoves.value.has(id))
    const orders = [...stay, ...movedHere].sort(newestFirst)
    // The page that failed to load is not the next one.
    const state = list.state.value === 'error' && !isAtEnd ? 'more' : list.state.value
    const isEmpty = state === 'end' && orders.length === 0 && !hasNewer && !hasOlder
    return { state, error: list.error.value, orders, hasNewer, hasOlder, isEmpty }
  }

  async reload(): Promise<void> {
    await Promise.all(orderStatuses.map((status) => this.showNewest(status)))
  }

  showNewest(status: OrderStatus): Promise<void> {
    return this.#lists[status].reload()
  }

  async loadNewer(status: OrderStatus): Promise<void> {
    await this.#lists[status].loadNewer()
    this.#showPageError(status)
  }

  /** Repeats a load of a column that failed. */
  retry(status: OrderStatus): Promise<void> {
    return this.#lists[status].loadOlder()
  }

  async loadOlder(status: OrderStatus): Promise<void> {
    await this.#lists[status].loadOlder()
    this.#showPageError(status)
  }

  /**
   * Shows the order in its new column at once, and back in the old one if the API rejects the change. Nothing changes a
   * delivered or cancelled order back, so these are sent when the time for undo ends.
   */
  move(order: Order, status: OrderStatus): void {
    if (this.isMoving(order.id)) return
    showMove({ ...order, status })
    if (isOpenOrderStatus(status)) void send(order, status)
    else
      runWithUndo({
        text: moveMessage(order, petName(order.petId), status),
        undo: () => endMove(order.id),
        commit: (isLeaving) => void send(order, status, isLeaving),
      })
  }

  /** Whether a change of the order is not confirmed yet. */
  isMoving(orderId: Int64): boolean {
    return orderMoves.value.has(orderId)
  }

  async eraseCustomer(orderId: Int64): Promise<void> {
    await store.orders.eraseCustomer(orderId)
    const order = this.find(orderId)
    if (order) this.#put(withoutPersonalData(order))
    const shown = orderMoves.value.get(orderId)
    if (shown) showMove(withoutPersonalData(shown))
  }

  /** Keeps the board current while it is shown. Returns a function that ends it. */
  follow(): () => void {
    const end = followEvents(
      (event) => this.#apply(event),
      () => void this.reload(),
    )
    shownBoard = this
    return () => {
      if (shownBoard === this) shownBoard = undefined
      this.#controller.abort()
      end()
      for (const list of Object.values(this.#lists)) list.dispose()
    }
  }

  #apply({ type, data, createdAt }: StoreEvent): void {
    if (
      type !== 'order.placed' &&
      type !== 'order.approved' &&
      type !== 'order.delivered' &&
      type !== 'order.cancelled'
    )
      return
    const { id, status, cancelReason } = data
    const known = this.find(id)
    if (!known) {
      this.#addUnknown(id, status)
      return
    }
    const { holdExpiresAt, ...rest } = known
    this.#put({
      ...rest,
      status,
      cancelReason,
      updatedAt: createdAt,
      ...(status === 'placed' && { holdExpiresAt }),
    })
  }

  /** An event has no personal data, so the order is loaded, if its column shows it. */
  #addUnknown(id: Int64, newStatus: OrderStatus): void {
    this.#changesDuringLoad.record(id, true)
    // A response that is on its way may still have it in another column.
    for (const status of orderStatuses) if (status !== newStatus) this.#lists[status].remove(id)
    if (!this.#lists[newStatus].covers(id)) return
    if (this.#unknownOrders.size === 0) setTimeout(() => void this.#loadUnknown(), collectMs)
    this.#unknownOrders.set(id, newStatus)
  }

  async #loadUnknown(): Promise<void> {
    const orders = new Map(this.#unknownOrders)
    this.#unknownOrders.clear()
    if (orders.size > singleLoadsMax)
      await Promise.all([...new Set(orders.values())].map((status) => this.showNewest(status)))
    else for (const id of orders.keys()) await this.loadOrder(id)
  }

  async loadOrder(orderId: Int64): Promise<void> {
    try {
      await this.take(() => store.orders.get(orderId, { signal: this.#controller.signal }))
    } catch {
      // The next reload shows it.
    }
  }

  /** Takes over the response of a request, unless an event has overtaken it. */
  async take(request: () => Promise<Order>): Promise<void> {
    const { result, changes } = await this.#changesDuringLoad.during(request)
    const known = this.find(result.id)
    const isNewer = known
      ? Date.parse(known.updatedAt) <= Date.parse(result.updatedAt)
      : !changes.has(result.id)
    if (isNewer) this.#put(result)
  }

  find(id: Int64): Order | undefined {
    for (const list of Object.values(this.#lists)) {
      const found = list.find(id)
      if (found) return found
    }
    return undefined
  }

  /** Shows an order in the column of its status, and in no other. */
  #put(order: Order): void {
    this.#changesDuringLoad.record(order.id, true)
    for (const list of Object.values(this.#lists)) list.upsert(order)
  }

  #showPageError(status: OrderStatus): void {
    const error = this.#lists[status].pageError.value
    if (error) showError(error.message)
  }
}

/** Sends a move that is shown. The screen may have been left since then. */
async function send(order: Order, status: OrderStatus, keepalive = false): Promise<void> {
  const { id } = order
  const name = petName(order.petId)
  const request = () => store.orders.update(id, { status }, { keepalive })
  const board = shownBoard
  try {
    await (board ? board.take(request) : request())
    // A board that was opened during the request may not have loaded the order yet.
    const isOutside = board !== undefined && board === shownBoard && !board.find(id)
    if (isOutside)
      showToast([moveMessage(order, name, status), ' The board shows another part of that column.'])
    else if (isOpenOrderStatus(status)) showToast(moveMessage(order, name, status))
  } catch (thrown) {
    if (isAbort(thrown)) return
    const error = toRequestError(thrown)
    showError(explain(error, name))
    if (error.code === 'illegal_transition') await shownBoard?.loadOrder(id)
  } finally {
    endMove(id)
  }
}

/** The step that usually comes next. */
export const nextStep = (status: OrderStatus): OrderStatus | undefined =>
  nextOrderStatuses[status].find((next) => next !== 'cancelled')

export const canCancel = (status: OrderStatus): boolean => isOpenOrderStatus(status)
