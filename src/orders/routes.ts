import * as z from 'zod'
import { ApiError } from '../api/errors.ts'
import { toJson } from '../api/json.ts'
import { filterParameters, nextPageLink } from '../api/lists.ts'
import { type Operation, type OperationResult, operation, respond } from '../api/operation.ts'
import { pageAnswer } from '../api/pagination.ts'
import { int64Text, pageCursor, pageLimit } from '../api/validation.ts'
import { timestamp } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { findPet } from '../pets/queries.ts'
import {
  isOpenOrderStatus,
  isOrderTransitionAllowed,
  nextOrderStatuses,
  type Order,
  type OrderStatus,
  withoutPersonalData,
} from './order.ts'
import {
  changeOrderStatus,
  eraseCustomer,
  expireHold,
  findOpenOrder,
  findOrder,
  listOrders,
  placeOrder,
} from './queries.ts'
import {
  orderExample as example,
  newOrderSchema,
  orderChangeSchema,
  orderCursor,
  orderFilterSchema,
  orderSchema,
  ordersSchema,
} from './schemas.ts'

const params = z.object({ orderId: int64Text().meta({ description: 'The id of the order.' }) })

type OrderRoutesOptions = {
  readonly database: Database
  readonly publicUrl: string | undefined
  readonly holdMs: number
}

export function orderRoutes({ database, publicUrl, holdMs }: OrderRoutesOptions): Operation[] {
  const common = { tag: 'Store' } as const
  const one = { ...common, params, notFound: 'order_not_found' } as const
  return [
    operation({
      ...common,
      id: 'listOrders',
      method: 'GET',
      path: '/store/orders',
      summary: 'List orders',
      description:
        'Returns one page of orders, newest first. Filters can be combined. The `Link` header contains the URL of the next page with `rel="next"`.',
      scope: 'orders:read',
      query: z.object({ limit: pageLimit(), ...orderFilterSchema.shape, cursor: pageCursor() }),
      responses: {
        200: {
          description: 'One page of orders.',
          schema: ordersSchema,
          optionalHeaders: nextPageLink,
          example: [example],
        },
      },
      async read({ query: { limit, cursor, ...query } }) {
        const { belowId, filter } = orderCursor.decode(cursor, query)
        const orders = await listOrders(database, filter, limit + 1, belowId)
        return pageAnswer(orders, serializeOrder, {
          publicUrl,
          path: '/v1/store/orders',
          limit,
          filters: filterParameters(filter),
          cursorAfter: (last) => orderCursor.encode(last.id, filter),
        })
      },
    }),

    operation({
      ...common,
      id: 'createOrder',
      method: 'POST',
      path: '/store/orders',
      summary: 'Place an order',
      description:
        'Places an order for an available animal, which becomes `pending` and is held. If several orders for one animal are sent at the same time, exactly one is placed.',
      scope: 'orders:write',
      body: newOrderSchema,
      bodyExample: { petId: 42, customer: { name: 'Ada Example', email: 'ada@example.com' } },
      responses: {
        201: {
          description: 'The order was placed.',
          schema: orderSchema,
          headers: { Location: 'The URL of the order.' },
          example,
        },
      },
      errors: ['pet_not_found', 'pet_unavailable'],
      async write({ body }, { trx, now }): Promise<OperationResult> {
        // Before the pet is read, because this makes the pet available again if a hold has expired.
        const openOrder = await findOpenOrder(trx, body.petId, now)
        const pet = await findPet(trx, body.petId)
        if (!pet) throw new ApiError('pet_not_found')
        if (openOrder || pet.status !== 'available') throw new ApiError('pet_unavailable')
        const order = await placeOrder(trx, pet, { customer: body.customer, note: body.note, holdMs }, now)
        const Location = `${publicUrl ?? ''}/v1/store/orders/${order.id}`
        return { ...respond(201, serializeOrder(order), { Location }), subjectRef: subjectRefOf(order.id) }
      },
    }),

    operation({
      ...one,
      id: 'getOrder',
      method: 'GET',
      path: '/store/orders/{orderId}',
      summary: 'Get an order',
      scope: 'orders:read',
      responses: { 200: { description: 'The order.', schema: orderSchema, example } },
      async read({ params: { orderId } }) {
        return respond(200, serializeOrder(orNotFound(await findOrder(database.read, Number(orderId)))))
      },
    }),

    operation({
      ...one,
      id: 'updateOrder',
      method: 'PATCH',
      path: '/store/orders/{orderId}',
      summary: 'Approve, deliver or cancel an order',
      description:
        'A placed order can be approved. An approved order can be delivered, which makes the animal `sold`. Both can be cancelled, which makes the animal `available` again.',
      scope: 'orders:write',
      body: orderChangeSchema,
      bodyExample: { status: 'approved' },
      responses: {
        200: {
          description: 'The order after the change.',
          schema: orderSchema,
          example: { ...example, status: 'approved', holdExpiresAt: undefined },
        },
      },
      errors: ['illegal_transition'],
      async write({ params: { orderId }, body: { status } }, { trx, now, principal }) {
        const found = orNotFound(await findOrder(trx, Number(orderId)))
        // The hold may have expired since holds were last checked.
        const order = await expireHold(trx, found, now)
        if (!isOrderTransitionAllowed(order.status, status))
          throw new ApiError('illegal_transition', illegalTransitionMessage(order.status, status))
        const changed = order.status === status ? order : await changeOrderStatus(trx, order.id, status, now)
        // A principal that may only write orders must not see personal data.
        const isReader = principal.scopes.has('orders:read')
        return respond(200, serializeOrder(isReader ? changed : withoutPersonalData(changed)))
      },
    }),

    operation({
      ...one,
      id: 'eraseOrderCustomer',
      method: 'DELETE',
      path: '/store/orders/{orderId}/customer',
      summary: "Erase an order's customer",
      description: 'Erases the customer and the note permanently. The order is kept.',
      scope: 'orders:write',
      responses: { 204: { description: 'The personal data of the order was erased.' } },
      async write({ params: { orderId } }, context): Promise<OperationResult> {
        const { trx, now, eraseFromIdempotencyRecords, afterCommit } = context
        const { id } = orNotFound(await findOrder(trx, Number(orderId)))
        await eraseCustomer(trx, id, now)
        // Parsing is exact, because all numbers in the response are ids that the service assigned.
        await eraseFromIdempotencyRecords(subjectRefOf(id), (json) =>
          toJson(withoutPersonalData(JSON.parse(json))),
        )
        afterCommit(() => database.truncateWal())
        return { status: 204 }
      },
    }),
  ]
}

/** Identifies the order in idempotency records, which keep a copy of the response. */
const subjectRefOf = (orderId: number): string => `order ${orderId}`

function orNotFound(order: Order | undefined): Order {
  if (!order) throw new ApiError('order_not_found')
  return order
}

const illegalTransitionMessage = (from: OrderStatus, to: OrderStatus): string =>
  isOpenOrderStatus(from)
    ? `The status of an order cannot change from ${from} to ${to}: it can change to ${nextOrderStatuses[from].join(' or ')}.`
    : `This order is ${from}, which is a final status: place a new order.`

const serializeOrder = (order: Order) => ({
  ...order,
  placedAt: timestamp(order.placedAt),
  updatedAt: timestamp(order.updatedAt),
  holdExpiresAt: order.holdExpiresAt === undefined ? undefined : timestamp(order.holdExpiresAt),
})
