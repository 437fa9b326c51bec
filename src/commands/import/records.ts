import * as z from 'zod'
import { int64, integer, nonBlankText } from '../../api/validation.ts'
import { categoryNameSchema } from '../../categories/schemas.ts'
import { timeMaxMs } from '../../clock.ts'
import { type KeySettings, validateKeySettings } from '../../keys/key.ts'
import { customLimits, secretsPerKeyMax } from '../../keys/queries.ts'
import { keyNameSchema, planSchema, scopesSchema, storedOriginsSchema } from '../../keys/schemas.ts'
import { customLimitMax, customStreamsMax } from '../../limits/plans.ts'
import { holdExpiredReason, orderStatuses } from '../../orders/order.ts'
import { customerSchema, noteSchema } from '../../orders/schemas.ts'
import { petStatuses } from '../../pets/pet.ts'
import { petNameSchema } from '../../pets/schemas.ts'
import type { Problem } from './problems.ts'

/** The records of an export, one JSON object per line. Times are in milliseconds since the Unix epoch. */

export const formatVersion = 1

/** Leaves as many ids for the service to assign, all below 2^53. */
const idMax = 2 ** 52
const id = integer(1, idMax)
const timeMs = integer(0, timeMaxMs)

const counter = integer(0, idMax).optional()
const counters = {
  lastPetId: counter,
  lastKeyId: counter,
  lastCategoryId: counter,
  lastOrderId: counter,
  lastEventId: counter,
}

/** The name of an animal in another system. Without spaces around it, which CSV does not keep. */
const externalIdSchema = nonBlankText(255, 'Identifies the animal in another system.').transform((text) =>
  text.trim(),
)

const secretSchema = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: timeMs,
  expiresAt: timeMs.nullable(),
})

const schemas = {
  petstore: z.object({
    type: z.literal('petstore'),
    format: integer(formatVersion, formatVersion),
    ...counters,
  }),

  category: z.object({
    type: z.literal('category'),
    id: int64(),
    name: categoryNameSchema.nullable(),
  }),

  pet: z.object({
    // A record without a type is a pet, and a pet without an id is new. This is enough for the feed of a partner.
    type: z.literal('pet').optional(),
    id: id.optional(),
    name: petNameSchema,
    categoryId: int64(),
    status: z.enum(petStatuses).optional(),
    externalId: externalIdSchema.optional(),
  }),

  order: z
    .object({
      type: z.literal('order'),
      id,
      petId: id,
      status: z.enum(orderStatuses),
      customer: customerSchema.nullable(),
      note: noteSchema.nullable(),
      placedAt: timeMs,
      updatedAt: timeMs,
      holdExpiresAt: timeMs.nullable(),
      cancelReason: z.literal(holdExpiredReason).nullable(),
    })
    // Only a placed order expires. A hold on any other order would stay due forever.
    .refine(({ status, holdExpiresAt }) => (status === 'placed') === (holdExpiresAt !== null), {
      path: ['holdExpiresAt'],
      message: 'must be set on a placed order, and on no other',
    }),

  /** The rules of the API apply, except that a key can have expired already, and origins can have wildcards. */
  key: z
    .object({
      type: z.literal('key'),
      id,
      name: keyNameSchema,
      plan: planSchema,
      perMinute: integer(1, customLimitMax).nullable(),
      perDay: integer(1, customLimitMax).nullable(),
      streams: integer(1, customStreamsMax).nullable().default(null),
      scopes: scopesSchema,
      origins: storedOriginsSchema,
      isFromSetting: z.boolean(),
      createdAt: timeMs,
      expiresAt: timeMs.nullable(),
      revokedAt: timeMs.nullable(),
      unbannedAt: timeMs,
      secrets: z.array(secretSchema).max(secretsPerKeyMax),
    })
    .transform(({ name, plan, perMinute, perDay, streams, scopes, origins, ...record }, context) => {
      const limits = customLimits({ per_minute: perMinute, per_day: perDay, streams })
      const expiresAt = record.expiresAt ?? undefined
      const settings: KeySettings = { name, plan, limits, scopes, origins, expiresAt }
      for (const { field, message } of validateKeySettings(settings, 0))
        context.addIssue({ code: 'custom', path: [field], message })
      return { ...record, settings }
    }),
}

export const petSchema = schemas.pet

export type HeaderRecord = z.output<typeof schemas.petstore>
export type CategoryRecord = z.output<typeof schemas.category>
export type PetRecord = z.output<typeof schemas.pet>
export type OrderRecord = z.output<typeof schemas.order>
export type KeyRecord = z.output<typeof schemas.key>
export type ExportRecord = HeaderRecord | CategoryRecord | PetRecord | OrderRecord | KeyRecord

export const isPetRecord = (record: ExportRecord): record is PetRecord =>
  record.type === undefined || record.type === 'pet'

/** The schema of a record type. Undefined for an unknown type. */
export const recordSchema = (type: unknown = 'pet'): z.ZodType<ExportRecord> | undefined =>
  typeof type === 'string' && Object.hasOwn(schemas, type) ? schemas[type as keyof typeof schemas] : undefined

/** What only an import with `--with-keys` accepts: keys, and counters, which move the ids and the event feed. */
export function contentRequiringWithKeys(value: { readonly [name: string]: unknown }): string | undefined {
  if (value.type === 'key') return 'a key'
  if (value.type !== 'petstore') return undefined
  const counter = Object.keys(value).find((name) => Object.hasOwn(counters, name))
  return counter && `a counter (${counter})`
}

export type ReadOptions = {
  readonly format: 'csv' | 'ndjson'
  /** Keys and counters are rejected without it. */
  readonly withKeys: boolean
  /** Fields by the headers of a CSV file. */
  readonly map: ReadonlyMap<string, string>
  /** The column or field with the external id. */
  readonly externalId: string | undefined
}

/** Some records of a file, with the line of each, and the wrong lines among them. */
export type Batch = {
  readonly records: ExportRecord[]
  readonly lines: number[]
  readonly problems: Problem[]
  readonly bytes: number
}
