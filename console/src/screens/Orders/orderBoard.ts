import { signal } from '@preact/signals'
import { isOpenOrderStatus, nextOrderStatuses, orderStatuses } from '../../../../src/orders/order.ts'
import { call, callWithHeaders } from '../../api/client.ts'
import { isAbort, type RequestError, toRequestError } from '../../api/errors.ts'
import { onEvent, onResync } from '../../api/stream.ts'
import type { Order, OrderStatus, StoreEvent } from '../../api/types.ts'
import { ChangesDuringLoad } from '../../app/changesDuringLoad.ts'
import { petName } from '../../app/petNames.ts'
import { showError } from '../../app/toasts.ts'
import { explain } from './messages.tsx'

/** The orders of the board by status, with their live changes. */

const pageSize = 50
/** Bounds the document. Older orders of the column are not shown. */
export const columnOrdersMax = 200
/** Orders that are placed within this time are loaded together. */
const collectMs = 300
/** More new orders than this are loaded as a page. */
const singleLoadsMax = 3

type ColumnState = {
  state: 'loading' | 'more' | 'end' | 'error'
  error?: RequestError | undefined
  nextCursor?: string | undefined
  /** There are older orders than those that are shown, and they cannot be loaded. */
  isTruncated?: boolean
}
export type BoardColumn = Pick<ColumnState, 'state' | 'error' | 'isTruncated'> & { orders: readonly Order[] }

export class OrderBoard {
  readonly #orders = new Map<number, Order>()
  /** Statuses that are not confirmed yet. */
  readonly #moves = new Map<number, OrderStatus>()
  /** What is shown, made again with every change: a component that reads it is rendered again. */
  readonly #shown = signal<ReadonlyMap<OrderStatus, BoardColumn>>(new Map())
  readonly #columns = new Map<OrderStatus, ColumnState>(
    orderStatuses.map((status) => [status, { state: 'loading' }]),
  )
  readonly #controller = new AbortController()
  readonly #unknownIds = new Set<number>()
  readonly #changesDuringLoad = new ChangesDuringLoad<true>()

  /** The state of a column and its orders, newest first. */
  column(status: OrderStatus): BoardColumn {
    return this.#shown.value.get(status) ?? { state: 'loading', orders: [] }
  }

  async reload(): Promise<void> {
    await Promise.all(orderStatuses.map((status) => this.load(status, true)))
  }

  /** Loads the first or the next page of a column. */
  async load(status: OrderStatus, isFirst: boolean): Promise<void> {
    const cursor = this.#columns.get(status)?.nextCursor
    this.#setColumn(status, { state: 'loading', nextCursor: cursor })
    try {
      const query = { status, limit: pageSize, cursor: isFirst ? undefined : cursor }
      const { result, changes } = await this.#changesDuringLoad.during(() =>
        callWithHeaders('listOrders', { query, signal: this.#controller.signal }),
      )
      const { data, nextCursor } = result
      // What changed during the load is newer than the response.
      if (isFirst) for (const { id } of this.#ordersOf(status)) if (!changes.has(id)) this.#orders.delete(id)
      for (const order of data) if (!changes.has(order.id)) this.#orders.set(order.id, order)
      const isFull = this.#ordersOf(status).length >= columnOrdersMax
      const state = nextCursor === undefined || isFull ? 'end' : 'more'
      this.#setColumn(status, { state, nextCursor, isTruncated: isFull && nextCursor !== undefined })
    } catch (thrown) {
      if (!isAbort(thrown)) this.#setColumn(status, { state: 'error', error: toRequestError(thrown) })
    }
  }

  /** Shows the order in its new column at once, and back in the old one if the API rejects the change. */
  async move(order: Order, status: OrderStatus): Promise<void> {
    if (this.isMoving(order.id)) return
    this.#moves.set(order.id, status)
    this.#changed()
    try {
      this.#keepIfNewer(await call('updateOrder', { params: { orderId: order.id }, body: { status } }))
    } catch (thrown) {
      const error = toRequestError(thrown)
      showError(explain(error, petName(order.petId)))
      if (error.code === 'illegal_transition') await this.#loadOrder(order.id)
    } finally {
      this.#moves.delete(order.id)
      this.#changed()
    }
  }

  /** Whether a change of the order is not confirmed yet. */
  isMoving(orderId: number): boolean {
    return this.#moves.has(orderId)
  }

  async eraseCustomer(orderId: number): Promise<void> {
    await call('eraseOrderCustomer', { params: { orderId } })
    const order = this.#orders.get(orderId)
    if (!order) return
    const { customer: _customer, note: _note, ...rest } = order
    this.#keep(rest)
  }

  /** Keeps the board current while it is shown. Returns a function that ends it. */
  follow(): () => void {
    const ends = [onEvent((event) => this.#apply(event)), onResync(() => void this.reload())]
    return () => {
      this.#controller.abort()
      for (const end of ends) end()
    }
  }

  /** An event has no personal data, so a new order is loaded. */
  #apply({ type, data, createdAt }: StoreEvent): void {
    if (
      type !== 'order.placed' &&
      type !== 'order.approved' &&
      type !== 'order.delivered' &&
      type !== 'order.cancelled'
    )
      return
    const known = this.#orders.get(data.id)
    if (known) {
      const { holdExpiresAt, ...rest } = known
      const { status, cancelReason } = data
      this.#keep({
        ...rest,
        status,
        cancelReason,
        updatedAt: createdAt,
        ...(status === 'placed' && { holdExpiresAt }),
      })
      return
    }
    if (this.#unknownIds.size === 0) setTimeout(() => void this.#loadUnknown(), collectMs)
    this.#unknownIds.add(data.id)
  }

  async #loadUnknown(): Promise<void> {
    const ids = [...this.#unknownIds]
    this.#unknownIds.clear()
    if (ids.length > singleLoadsMax) await this.reload()
    else for (const id of ids) await this.#loadOrder(id)
  }

  async #loadOrder(orderId: number): Promise<void> {
    try {
      this.#keepIfNewer(await call('getOrder', { params: { orderId }, signal: this.#controller.signal }))
    } catch {
      // The next reload shows it.
    }
  }

  /** An event may have overtaken a response. */
  #keepIfNewer(order: Order): void {
    const known = this.#orders.get(order.id)
    if (!known || Date.parse(known.updatedAt) <= Date.parse(order.updatedAt)) this.#keep(order)
  }

  #keep(order: Order): void {
    this.#changesDuringLoad.record(order.id, true)
    this.#orders.set(order.id, order)
    const extra = this.#ordersOf(order.status).slice(columnOrdersMax)
    for (const { id } of extra) this.#orders.delete(id)
    const column = this.#columns.get(order.status)
    if (column && extra.length > 0) this.#columns.set(order.status, { ...column, isTruncated: true })
    this.#changed()
  }

  #setColumn(status: OrderStatus, column: ColumnState): void {
    this.#columns.set(status, column)
    this.#changed()
  }

  #ordersOf(status: OrderStatus): Order[] {
    return [...this.#orders.values()]
      .map((order) => ({ ...order, status: this.#moves.get(order.id) ?? order.status }))
      .filter((order) => order.status === status)
      .sort((a, b) => b.id - a.id)
  }

  #changed(): void {
    this.#shown.value = new Map(
      orderStatuses.map((status) => {
        const column = this.#columns.get(status) ?? { state: 'loading' as const }
        return [status, { ...column, orders: this.#ordersOf(status) }]
      }),
    )
  }
}

/** The step that usually comes next. */
export const nextStep = (status: OrderStatus): OrderStatus | undefined =>
  nextOrderStatuses[status].find((next) => next !== 'cancelled')

export const canCancel = (status: OrderStatus): boolean => isOpenOrderStatus(status)
