import * as z from 'zod'
import { int64, integer } from '../api/validation.ts'
import { isCategoryName } from '../categories/category.ts'
import { timeMaxMs } from '../clock.ts'
import { type KeySettings, settingsProblems } from '../keys/key.ts'
import { secretsKeptMax } from '../keys/queries.ts'
import { keyName, keyScopes, origins, plan } from '../keys/schemas.ts'
import { ownLimitMax, ownStreamsMax } from '../limits/plans.ts'
import { holdExpired, orderStatuses } from '../orders/order.ts'
import { customer, note } from '../orders/routes.ts'
import { isName, petStatuses } from '../pets/pet.ts'

/** The lines of an export, one JSON object each. Times are milliseconds, as in the store. */

export const formatVersion = 1

/** Leaves as many ids again for the service to assign, which stay below 2^53. */
const idMax = 2 ** 52
const id = integer(1, idMax)
const ms = integer(0, timeMaxMs)
const orNull = <S extends z.ZodType>(schema: S) => schema.nullable()
const nameMessage = 'must be 1 to 255 characters and not blank'
const name = z.string().refine(isName, nameMessage)
const categoryName = z.string().refine(isCategoryName, nameMessage)

const counters = {
  lastPetId: integer(0, idMax).optional(),
  lastKeyId: integer(0, idMax).optional(),
  lastCategoryId: integer(0, idMax).optional(),
  lastOrderId: integer(0, idMax).optional(),
  lastEventId: integer(0, idMax).optional(),
}
export const headRecord = z.object({
  type: z.literal('petstore'),
  format: integer(formatVersion, formatVersion),
  ...counters,
})
export const categoryRecord = z.object({
  type: z.literal('category'),
  id: int64(),
  name: orNull(categoryName),
})
const petRecord = z.object({
  // A line without a type is an animal, and one without an id a new one: a partner's feed needs no more.
  type: z.literal('pet').optional(),
  id: id.optional(),
  name,
  categoryId: int64(),
  status: z.enum(petStatuses).optional(),
})
const keyFields = z.object({
  type: z.literal('key'),
  id,
  name: keyName,
  plan,
  perMinute: orNull(integer(1, ownLimitMax)),
  perDay: orNull(integer(1, ownLimitMax)),
  streams: orNull(integer(1, ownStreamsMax)).optional(),
  scopes: keyScopes,
  origins,
  isFromSetting: z.boolean(),
  createdAt: ms,
  expiresAt: orNull(ms),
  revokedAt: orNull(ms),
  unbannedAt: ms,
  secrets: z
    .array(z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/), createdAt: ms, expiresAt: orNull(ms) }))
    .max(secretsKeptMax),
})
/** Under the rules of HTTP, save that a key may have expired already. */
export const keyRecord = keyFields.superRefine((record, context) => {
  for (const { field, message } of settingsProblems(settingsIn(record), 0))
    context.addIssue({ code: 'custom', path: [field], message })
})

export const settingsIn = (record: z.output<typeof keyFields>): KeySettings => {
  const { name, plan, perMinute, perDay, streams = null, scopes, origins, expiresAt } = record
  const limits = {
    ...(perMinute !== null && { perMinute }),
    ...(perDay !== null && { perDay }),
    ...(streams !== null && { streams }),
  }
  return {
    name,
    plan,
    limits: Object.keys(limits).length === 0 ? undefined : limits,
    scopes,
    origins,
    expiresAt: expiresAt ?? undefined,
  }
}

export const orderRecord = z
  .object({
    type: z.literal('order'),
    id,
    petId: id,
    status: z.enum(orderStatuses),
    customer: orNull(customer),
    note: orNull(note),
    placedAt: ms,
    updatedAt: ms,
    holdExpiresAt: orNull(ms),
    cancelReason: orNull(z.literal(holdExpired)),
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

/** What makes a line privileged: a key, or a counter, which moves the ids and the feed of a store. */
export function privilegeOf(value: { readonly [name: string]: unknown }): string | undefined {
  if (value.type === 'key') return 'a key'
  const counter =
    value.type === 'petstore' ? Object.keys(value).find((name) => Object.hasOwn(counters, name)) : undefined
  return counter === undefined ? undefined : `a counter (${counter})`
}

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
