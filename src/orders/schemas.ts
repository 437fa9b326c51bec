import * as z from 'zod'
import { defineErrors } from '../api/errors.ts'
import { ListCursor, pageSchema } from '../api/pagination.ts'
import { boundedText, int64, int64Text, nameText, nonBlankText, timestampSchema } from '../api/validation.ts'
import { optionalTimestamp, timestamp } from '../clock.ts'
import { orderStatuses } from './order.ts'
import { customerOf, type Order } from './queries.ts'

export const orderErrors = defineErrors({
  order_not_found: [404, 'There is no order with this id. GET /store/orders lists the existing ones.'],
  pet_unavailable: [409, 'This animal is not available. Choose another one.'],
})

const customerNameLengthMax = 255
const emailLengthMax = 320
const noteLengthMax = 1_000
const customer = { name: 'Ada Example', email: 'ada@example.com' }
const orderExample = {
  id: 9,
  petId: 42,
  status: 'placed',
  customer,
  placedAt: '2026-11-15T12:00:00.000Z',
  updatedAt: '2026-11-15T12:00:00.000Z',
  holdExpiresAt: '2026-11-18T12:00:00.000Z',
}

const orderStatusSchema = z
  .enum(orderStatuses)
  .meta({ id: 'OrderStatus', description: 'The status of an order.' })
const customerSchema = z
  .object({
    name: nameText(customerNameLengthMax, 'The name of the customer. It cannot be blank.'),
    email: z
      .email({ error: 'must be an e-mail address' })
      .max(emailLengthMax, `must have at most ${emailLengthMax} characters`)
      .optional()
      .meta({ description: 'The e-mail address of the customer.' }),
  })
  .meta({
    id: 'Customer',
    description: 'The adopter. This is personal data: it never appears in events or logs.',
  })
export const storedCustomerSchema = customerSchema.extend({ name: nonBlankText(customerNameLengthMax) })
export const noteSchema = boundedText(noteLengthMax, 'A note about the order.')

export const newOrderSchema = z
  .object({
    petId: int64().meta({ description: 'The id of the animal, which must be available.' }),
    customer: customerSchema.optional(),
    note: noteSchema.optional(),
  })
  .meta({
    id: 'NewOrder',
    description: 'An order to place for an available animal.',
    examples: [{ petId: 42, customer }],
  })
export const orderUpdateSchema = z.object({ status: orderStatusSchema }).meta({
  id: 'OrderChange',
  description: 'The new status of the order.',
  examples: [{ status: 'approved' }],
})
export const orderSchema = z
  .object({
    id: int64().meta({ description: 'The unique id of the order, assigned by the service.' }),
    petId: int64().meta({ description: 'The id of the animal.' }),
    status: orderStatusSchema,
    customer: customerSchema.optional(),
    note: noteSchema.optional(),
    placedAt: timestampSchema('When the order was placed.'),
    updatedAt: timestampSchema('When the order last changed.'),
    holdExpiresAt: timestampSchema(
      'When a placed order is cancelled, unless it is approved first.',
    ).optional(),
    cancelReason: z
      .string()
      .optional()
      .meta({ description: '`hold_expired` if the order was cancelled because its hold expired.' }),
  })
  .meta({ id: 'Order', description: 'An order for one animal by one adopter.', examples: [orderExample] })
const { petId, status, cancelReason } = orderSchema.shape
/** An order in events. */
export const orderStateSchema = z
  .object({ id: int64().meta({ description: 'The id of the order.' }), petId, status, cancelReason })
  .meta({ id: 'OrderState', description: 'An order after the change, without personal data.' })
export const orderListSchema = pageSchema(orderSchema, 'Orders', 'orders, newest first')

export const orderFilterSchema = z.object({
  status: orderStatusSchema.optional().meta({ description: 'Only orders with this status.' }),
  petId: int64Text().optional().meta({ description: 'Only orders for this animal.' }),
})
export const orderCursor = new ListCursor('orders', orderFilterSchema)

/** For responses. Undefined fields are left out of the JSON. */
export const serializeOrder = (order: Order) => ({
  id: order.id,
  petId: order.pet_id,
  status: order.status,
  customer: customerOf(order),
  note: order.note ?? undefined,
  placedAt: timestamp(order.placed_at),
  updatedAt: timestamp(order.updated_at),
  holdExpiresAt: optionalTimestamp(order.hold_expires_at),
  cancelReason: order.cancel_reason ?? undefined,
})
