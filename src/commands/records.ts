import * as z from 'zod'
import { isCategoryName } from '../categories/category.ts'
import { int64, integer } from '../http/validation.ts'
import { scopes } from '../keys/key.ts'
import { ownStreamsMax, planNames } from '../keys/plans.ts'
import { orderStatuses } from '../orders/order.ts'
import { isName, petStatuses } from '../pets/pet.ts'

/** The lines of an export, one JSON object each. Times are milliseconds, as in the store. */

export const formatVersion = 1

/** Leaves as many ids again for the service to assign, which stay below 2^53. */
const idMax = 2 ** 52
const id = integer(1, idMax)
/** No later than a date can be. */
const ms = integer(0, 8_640_000_000_000_000)
const orNull = <S extends z.ZodType>(schema: S) => schema.nullable()
const nameMessage = 'must be 1 to 255 characters and not blank'
const name = z.string().refine(isName, nameMessage)
const categoryName = z.string().refine(isCategoryName, nameMessage)

export const headRecord = z.object({
  type: z.literal('petstore'),
  format: integer(formatVersion, formatVersion),
  lastPetId: integer(0, idMax),
  lastKeyId: integer(0, idMax),
  lastCategoryId: integer(0, idMax).optional(),
  lastOrderId: integer(0, idMax).optional(),
  lastEventId: integer(0, idMax).optional(),
})
export const categoryRecord = z.object({
  type: z.literal('category'),
  id: int64(),
  name: orNull(categoryName),
})
export const petRecord = z.object({
  // A line without a type is an animal, and one without an id a new one: a partner's feed needs no more.
  type: z.literal('pet').optional(),
  id: id.optional(),
  name,
  categoryId: int64(),
  status: z.enum(petStatuses).optional(),
})
export const keyRecord = z.object({
  type: z.literal('key'),
  id,
  name: z.string(),
  plan: z.enum(planNames),
  perMinute: orNull(integer(1, Number.MAX_SAFE_INTEGER)),
  perDay: orNull(integer(1, Number.MAX_SAFE_INTEGER)),
  streams: orNull(integer(1, ownStreamsMax)).optional(),
  scopes: z.array(z.enum(scopes)),
  origins: z.array(z.string()),
  isFromSetting: z.boolean(),
  createdAt: ms,
  expiresAt: orNull(ms),
  revokedAt: orNull(ms),
  unbannedAt: ms,
  secrets: z.array(
    z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/), createdAt: ms, expiresAt: orNull(ms) }),
  ),
})

export const orderRecord = z
  .object({
    type: z.literal('order'),
    id,
    petId: id,
    status: z.enum(orderStatuses),
    customer: orNull(z.object({ name: z.string(), email: z.string().optional() })),
    note: orNull(z.string()),
    placedAt: ms,
    updatedAt: ms,
    holdExpiresAt: orNull(ms),
    cancelReason: orNull(z.string()),
  })
  // A hold on anything else would be due for ever, since only a placed order lapses.
  .refine(({ status, holdExpiresAt }) => (status === 'placed') === (holdExpiresAt !== null), {
    path: ['holdExpiresAt'],
    message: 'must be set on a placed order, and on no other',
  })

export type AnyRecord =
  | z.output<typeof headRecord>
  | z.output<typeof categoryRecord>
  | z.output<typeof petRecord>
  | z.output<typeof keyRecord>
  | z.output<typeof orderRecord>

export type PetRecord = z.output<typeof petRecord>

export const isPet = (record: AnyRecord): record is PetRecord =>
  record.type === undefined || record.type === 'pet'

export const schemaOf = (type: unknown): z.ZodType<AnyRecord> | undefined => {
  switch (type) {
    case 'petstore':
      return headRecord
    case 'category':
      return categoryRecord
    case 'key':
      return keyRecord
    case 'order':
      return orderRecord
    case 'pet':
    case undefined:
      return petRecord
    default:
      return undefined
  }
}
