import * as z from 'zod'
import { ApiError } from '../api/errors.ts'
import { toJson } from '../api/json.ts'
import { type Operation, type OperationResult, operation, respond } from '../api/operation.ts'
import { openCursor, pageAnswer, sealCursor } from '../api/pagination.ts'
import { int64, int64Text, notBlankPattern, pageCursor, pageLimit } from '../api/validation.ts'
import { timestamp } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { findPet } from '../pets/queries.ts'
import {
  customerNameLengthMax,
  emailLengthMax,
  isOrderTransitionAllowed,
  nextOrderStatuses,
  noteLengthMax,
  type Order,
  type OrderStatus,
  orderStatuses,
} from './order.ts'
import {
  changeOrderStatus,
  eraseCustomer,
  expireHold,
  findOpenOrder,
  findOrder,
  listOrders,
  type OrderFilter,
  placeOrder,
} from './queries.ts'

const lengthOf = (text: string) => [...text].length
const time = z.iso.datetime()
export const orderStatusSchema = z
  .enum(orderStatuses)
  .meta({ id: 'OrderStatus', description: 'Where an order stands.' })
export const customerSchema = z
  .object({
    name: z
      .string()
      .refine(
        (text) => text.trim() !== '' && lengthOf(text) <= customerNameLengthMax,
        `must be 1 to ${customerNameLengthMax} characters and not blank`,
      )
      .meta({
        minLength: 1,
        maxLength: customerNameLengthMax,
        pattern: notBlankPattern,
        description: "The customer's name; not blank.",
      }),
    email: z
      .email({ error: 'must be an e-mail address' })
      .max(emailLengthMax, `must have at most ${emailLengthMax} characters`)
      .optional()
      .meta({ description: "The customer's e-mail address." }),
  })
  .meta({ id: 'Customer', description: 'Who adopts. Personal: never in events or logs.' })
export const noteSchema = z
  .string()
  .refine((text) => lengthOf(text) <= noteLengthMax, `must have at most ${noteLengthMax} characters`)
  .meta({ maxLength: noteLengthMax, description: 'Anything to remember about the order.' })

const newOrder = z
  .object({
    petId: int64().meta({ description: 'The animal, which must be available.' }),
    customer: customerSchema.optional(),
    note: noteSchema.optional(),
  })
  .meta({ id: 'NewOrder', description: 'An order to place on an available animal.' })
const orderChange = z
  .object({ status: orderStatusSchema })
  .meta({ id: 'OrderChange', description: 'The status that the order is to have.' })
const order = z
  .object({
    id: int64().meta({ description: 'Assigned by the service.' }),
    petId: int64().meta({ description: 'The animal.' }),
    status: orderStatusSchema,
    customer: customerSchema.optional(),
    note: noteSchema.optional(),
    placedAt: time.meta({ description: 'When it was placed.' }),
    updatedAt: time.meta({ description: 'When it last changed.' }),
    holdExpiresAt: time.optional().meta({ description: 'When a placed order lapses unless it is approved.' }),
    cancelReason: z.string().optional().meta({ description: '`hold_expired` where it lapsed.' }),
  })
  .meta({ id: 'Order', description: 'An order: one animal on its way to one adopter.' })
const orders = z.array(order).meta({ id: 'Orders', description: 'One page of orders, newest first.' })

const example = {
  id: 9,
  petId: 42,
  status: 'placed',
  customer: { name: 'Ada Example', email: 'ada@example.com' },
  placedAt: '2026-11-15T12:00:00.000Z',
  updatedAt: '2026-11-15T12:00:00.000Z',
  holdExpiresAt: '2026-11-18T12:00:00.000Z',
}
const cursorForm = z.tuple([z.int(), orderStatusSchema.nullable(), int64Text().nullable()])
const params = z.object({ orderId: int64Text().meta({ description: 'The identifier of the order.' }) })

type OrderRoutesOptions = { database: Database; publicUrl: string | undefined; holdMs: number }

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
        'Orders, newest first. Filters combine. The next page is in the `Link` header with `rel="next"`.',
      scope: 'orders:read',
      query: z.object({
        limit: pageLimit(),
        status: orderStatusSchema.optional().meta({ description: 'Only orders with this status.' }),
        petId: int64Text().optional().meta({ description: 'Only orders for this animal.' }),
        cursor: pageCursor(),
      }),
      responses: {
        200: {
          description: 'One page of orders.',
          schema: orders,
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`; absent on the last page.' },
          example: [example],
        },
      },
      errors: ['validation_failed', 'invalid_cursor'],
      async read({ query }) {
        const given: OrderFilter = { status: query.status, petId: query.petId }
        const { belowId, filter } =
          query.cursor === undefined ? { filter: given } : openOrderCursor(query.cursor, given)
        const found = await listOrders(database, filter, query.limit + 1, belowId)
        return pageAnswer(found, serializeOrder, {
          publicUrl,
          path: '/v1/store/orders',
          limit: query.limit,
          filters: filterParameters(filter),
          cursorAfter: (last) =>
            sealCursor('orders', [last.id, filter.status ?? null, filter.petId?.toString() ?? null]),
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
        'Takes an available animal to `pending` and holds it. Of any number of simultaneous orders for one animal exactly one is placed.',
      scope: 'orders:write',
      body: newOrder,
      bodyExample: { petId: 42, customer: { name: 'Ada Example', email: 'ada@example.com' } },
      responses: {
        201: {
          description: 'The order is placed.',
          schema: order,
          headers: { Location: 'Where the order is.' },
          example,
        },
      },
      errors: ['malformed_json', 'validation_failed', 'pet_not_found', 'pet_unavailable'],
      async write({ body }, { trx, now }): Promise<OperationResult> {
        // A hold that ran out a moment ago must not stand in the way of the next adopter.
        const open = await findOpenOrder(trx, body.petId, now)
        const pet = await findPet(trx, body.petId)
        if (!pet) throw new ApiError('pet_not_found')
        if (open || pet.status !== 'available') throw new ApiError('pet_unavailable')
        const placed = await placeOrder(trx, pet, { customer: body.customer, note: body.note, holdMs }, now)
        const Location = `${publicUrl ?? ''}/v1/store/orders/${placed.id}`
        return { ...respond(201, serializeOrder(placed), { Location }), subjectRef: subjectRefOf(placed.id) }
      },
    }),

    operation({
      ...one,
      id: 'getOrder',
      method: 'GET',
      path: '/store/orders/{orderId}',
      summary: 'Get an order',
      scope: 'orders:read',
      responses: { 200: { description: 'The order.', schema: order, example } },
      errors: ['order_not_found'],
      async read({ params: { orderId } }) {
        const found = await findOrder(database.read, Number(orderId))
        if (!found) throw new ApiError('order_not_found')
        return respond(200, serializeOrder(found))
      },
    }),

    operation({
      ...one,
      id: 'updateOrder',
      method: 'PATCH',
      path: '/store/orders/{orderId}',
      summary: 'Approve, deliver or cancel an order',
      description:
        'A placed order may be approved, an approved one delivered (the animal is sold), and either cancelled (the animal is available again).',
      scope: 'orders:write',
      body: orderChange,
      bodyExample: { status: 'approved' },
      responses: {
        200: {
          description: 'The order after the change.',
          schema: order,
          example: { ...example, status: 'approved', holdExpiresAt: undefined },
        },
      },
      errors: ['malformed_json', 'validation_failed', 'order_not_found', 'illegal_transition'],
      async write({ params: { orderId }, body }, { trx, now, principal: caller }) {
        const found = await findOrder(trx, Number(orderId))
        if (!found) throw new ApiError('order_not_found')
        // A hold that has run out is over, also if nobody has noticed yet.
        const current = await expireHold(trx, found, now)
        if (!isOrderTransitionAllowed(current.status, body.status))
          throw new ApiError('illegal_transition', refusalText(current.status, body.status))
        const isSame = current.status === body.status
        const moved = isSame ? current : await changeOrderStatus(trx, current, body.status, now)
        // Who may only write orders does not get to see whose they are.
        return respond(
          200,
          serializeOrder(caller.scopes.has('orders:read') ? moved : withoutPersonalData(moved)),
        )
      },
    }),

    operation({
      ...one,
      id: 'eraseOrderCustomer',
      method: 'DELETE',
      path: '/store/orders/{orderId}/customer',
      summary: "Erase an order's customer",
      description: 'Erases the customer and the note for good. The order itself stays.',
      scope: 'orders:write',
      responses: { 204: { description: 'Nothing personal is left of the order.' } },
      errors: ['order_not_found'],
      async write(
        { params: { orderId } },
        { trx, now, eraseFromIdempotencyRecords: eraseFromKeptAnswers, afterCommit },
      ): Promise<OperationResult> {
        const found = await findOrder(trx, Number(orderId))
        if (!found) throw new ApiError('order_not_found')
        await eraseCustomer(trx, found.id, now)
        await eraseFromKeptAnswers(subjectRefOf(found.id), withoutCustomer)
        afterCommit(() => database.truncateWal())
        return { status: 204 }
      },
    }),
  ]
}

/** What the kept answer of a placed order is about. */
const subjectRefOf = (orderId: number): string => `order ${orderId}`

/** An answer of createOrder with nothing personal left; its numbers are all ids that this service assigned. */
function withoutCustomer(json: string): string {
  const { customer: _customer, note: _note, ...rest } = JSON.parse(json)
  return toJson(rest)
}

const withoutPersonalData = (order: Order): Order => ({ ...order, customer: undefined, note: undefined })

const refusalText = (from: OrderStatus, to: OrderStatus): string =>
  from === 'delivered' || from === 'cancelled'
    ? `This order is ${from}, and that is final: place a new one.`
    : `An order that is ${from} cannot become ${to}: it can become ${nextOrderStatuses(from).join(' or ')}.`

function openOrderCursor(cursor: string, given: OrderFilter): { belowId: number; filter: OrderFilter } {
  const [belowId, status, petId] = openCursor('orders', cursorForm, cursor)
  const filter: OrderFilter = { status: status ?? undefined, petId: petId ?? undefined }
  const isOther =
    (given.status !== undefined && given.status !== filter.status) ||
    (given.petId !== undefined && given.petId !== filter.petId)
  if (isOther) throw new ApiError('invalid_cursor')
  return { belowId, filter }
}

function filterParameters({ status, petId }: OrderFilter): [string, string][] {
  const parameters: [string, string][] = []
  if (status !== undefined) parameters.push(['status', status])
  if (petId !== undefined) parameters.push(['petId', String(petId)])
  return parameters
}

const serializeOrder = (found: Order) => ({
  id: found.id,
  petId: found.petId,
  status: found.status,
  ...(found.customer && { customer: found.customer }),
  ...(found.note !== undefined && { note: found.note }),
  placedAt: timestamp(found.placedAt),
  updatedAt: timestamp(found.updatedAt),
  ...(found.holdExpiresAt !== undefined && { holdExpiresAt: timestamp(found.holdExpiresAt) }),
  ...(found.cancelReason !== undefined && { cancelReason: found.cancelReason }),
})
