import * as z from 'zod'
import { ApiError, apiErrors, orNotFound } from '../api/errors.ts'
import { etagHeader, ifMatchParameter, requireIfMatch, respondWithEtag } from '../api/etag.ts'
import { toJson } from '../api/json.ts'
import { defineOperation, type Operation, type OperationResult, respond } from '../api/operation.ts'
import { pageQuery, pageReader } from '../api/pagination.ts'
import { int64Text } from '../api/validation.ts'
import { recordAudit } from '../audit/queries.ts'
import type { Database } from '../database/database.ts'
import { petErrors } from '../pets/schemas.ts'
import {
  isOpenOrderStatus,
  isOrderTransitionAllowed,
  nextOrderStatuses,
  type OrderStatus,
  withoutPersonalData,
} from './order.ts'
import {
  eraseCustomer,
  findOrder,
  findOrderForUpdate,
  isPetHeld,
  listOrders,
  lockOrder,
  lockPetAndOrder,
  type Order,
  placeOrder,
  updateOrderStatus,
} from './queries.ts'
import {
  newOrderSchema,
  orderCursor,
  orderErrors,
  orderFilterSchema,
  orderListSchema,
  orderSchema,
  orderUpdateSchema,
  serializeOrder,
} from './schemas.ts'

const params = z.object({ orderId: int64Text().meta({ description: 'The id of the order.' }) })

const orderByIdOperation = { tag: 'Store', params, notFound: orderErrors.order_not_found } as const

type OrderRoutesOptions = {
  readonly database: Database
  readonly holdMs: number
}

const listOrdersOperation = defineOperation('listOrders', 'GET /store/orders', {
  tag: 'Store',
  allowsReplica: true,
  summary: 'List orders',
  description:
    'Returns one page of orders, newest first. Filters can be combined. The `Link` header contains the URL of the next page with `rel="next"`.',
  scope: 'orders:read',
  query: z.object({ limit: pageQuery.limit, ...orderFilterSchema.shape, cursor: pageQuery.cursor }),
  responses: { 200: { description: 'One page of orders.', schema: orderListSchema } },
  read: pageReader(orderCursor, listOrders, serializeOrder),
})

const createOrderOperation = ({ holdMs }: OrderRoutesOptions) =>
  defineOperation('createOrder', 'POST /store/orders', {
    tag: 'Store',
    summary: 'Place an order',
    description:
      'Places an order for an available animal, which becomes `pending` and is held. If several orders for one animal are sent at the same time, exactly one is placed.',
    scope: 'orders:write',
    body: newOrderSchema,
    responses: { 201: { description: 'The order was placed.', schema: orderSchema, headers: etagHeader } },
    location: ({ id }) => `/store/orders/${id}`,
    errors: [petErrors.pet_not_found, orderErrors.pet_unavailable],
    subject: ({ body }) => `pet ${body.petId}`,
    async precheck({ body }, { db, now }) {
      if (await isPetHeld(db, body.petId, now)) throw new ApiError(orderErrors.pet_unavailable)
    },
    async write({ body }, { trx, now }): Promise<OperationResult> {
      const { pet: found, openOrder } = await lockPetAndOrder(trx, body.petId, now)
      const pet = orNotFound(found, petErrors.pet_not_found)
      if (openOrder || pet.status !== 'available') throw new ApiError(orderErrors.pet_unavailable)
      const order = await placeOrder(trx, pet, { customer: body.customer, note: body.note, holdMs }, now)
      const response = respondWithEtag(201, serializeOrder(order), etagSourceOfOrder(order))
      return { ...response, subjectRef: subjectRefOf(order.id) }
    },
  })

const getOrderOperation = defineOperation('getOrder', 'GET /store/orders/{orderId}', {
  ...orderByIdOperation,
  allowsReplica: true,
  summary: 'Get an order',
  scope: 'orders:read',
  responses: { 200: { description: 'The order.', schema: orderSchema, headers: etagHeader } },
  async read({ params: { orderId } }, { db }) {
    const order = orNotFound(await findOrder(db, Number(orderId)), orderErrors.order_not_found)
    return respondWithEtag(200, serializeOrder(order), etagSourceOfOrder(order))
  },
})

const updateOrderOperation = defineOperation('updateOrder', 'PATCH /store/orders/{orderId}', {
  ...orderByIdOperation,
  summary: 'Approve, deliver or cancel an order',
  description:
    'A placed order can be approved. An approved order can be delivered, which makes the animal `sold`. Both can be cancelled, which makes the animal `available` again.',
  scope: 'orders:write',
  body: orderUpdateSchema,
  requestHeaders: ifMatchParameter,
  responses: {
    200: { description: 'The order after the change.', schema: orderSchema, headers: etagHeader },
  },
  errors: [apiErrors.illegal_transition, apiErrors.precondition_failed],
  subject: ({ params: { orderId } }) => `order ${orderId}`,
  async write({ params: { orderId }, body: { status } }, context) {
    const { trx, now, principal } = context
    const { order, pet } = orNotFound(await lockOrder(trx, Number(orderId), now), orderErrors.order_not_found)
    requireIfMatch(etagSourceOfOrder(order), context)
    if (!isOrderTransitionAllowed(order.status, status))
      throw new ApiError(apiErrors.illegal_transition, illegalTransitionMessage(order.status, status))
    const changed =
      order.status === status ? order : (await updateOrderStatus(trx, order, pet, status, now)).order
    // A principal that may only write orders must not see personal data.
    const isReader = principal.scopes.has('orders:read')
    const serialized = serializeOrder(changed)
    return respondWithEtag(
      200,
      isReader ? serialized : withoutPersonalData(serialized),
      etagSourceOfOrder(changed),
    )
  },
})

const eraseOrderCustomerOperation = ({ database }: OrderRoutesOptions) =>
  defineOperation('eraseOrderCustomer', 'DELETE /store/orders/{orderId}/customer', {
    ...orderByIdOperation,
    summary: "Erase an order's customer",
    description: 'Erases the customer and the note permanently. The order itself is not deleted.',
    scope: 'orders:write',
    requestHeaders: ifMatchParameter,
    responses: { 204: { description: 'The personal data of the order was erased.' } },
    errors: [apiErrors.precondition_failed],
    async write({ params: { orderId } }, context) {
      const { trx, now, eraseFromIdempotencyRecords, afterCommit } = context
      const found = await findOrderForUpdate(trx, Number(orderId))
      const order = orNotFound(found, orderErrors.order_not_found)
      requireIfMatch(etagSourceOfOrder(order), context)
      const { id } = order
      await eraseCustomer(trx, id, now)
      await recordAudit(trx, context, 'order.customer_erased', `order ${id}`)
      // Parsing is exact, because all numbers in the response are ids that the service assigned.
      await eraseFromIdempotencyRecords(subjectRefOf(id), (json) =>
        toJson(withoutPersonalData(JSON.parse(json))),
      )
      afterCommit(() => database.truncateWal())
      return respond(204)
    },
  })

export const orderRoutes = (options: OrderRoutesOptions): Operation[] => [
  listOrdersOperation,
  createOrderOperation(options),
  getOrderOperation,
  updateOrderOperation,
  eraseOrderCustomerOperation(options),
]

/** Identifies the order in idempotency records, which keep a copy of the response. */
const subjectRefOf = (orderId: number): string => `order ${orderId}`

/**
 * What the ETag is made of: it says whether there are personal data, but is not computed from them. Idempotency records keep
 * it after an erasure, and a caller that may not read them gets it.
 */
const etagSourceOfOrder = (order: Order): object => [
  withoutPersonalData(serializeOrder(order)),
  order.customer_name !== null,
  order.note !== null,
]

const illegalTransitionMessage = (from: OrderStatus, to: OrderStatus): string =>
  isOpenOrderStatus(from)
    ? `The status of an order cannot change from ${from} to ${to}: it can change to ${nextOrderStatuses[from].join(' or ')}.`
    : `This order is ${from}, which is a final status: place a new order.`
