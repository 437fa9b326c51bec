import * as z from 'zod'
import { int64 } from '../api/validation.ts'
import { type EventType, eventTypes } from './event.ts'

/** What callers see of events. The lists are open: see docs/decisions/0023-openapi-for-generators.md. */

const time = z.iso.datetime()

export const knownEventTypeSchema = z
  .enum(eventTypes)
  .meta({ id: 'KnownEventType', description: 'The types of events that exist today.' })
export const eventTypeSchema = z.union([knownEventTypeSchema, z.string()]).meta({
  id: 'EventType',
  description: 'The type of an event. This is an open list: new types may be added, so ignore unknown ones.',
})

const deletedResource = z
  .object({ id: int64().meta({ description: 'The id that it had.' }) })
  .meta({ id: 'DeletedResource', description: 'What is left of a removed resource.' })
const keyBan = z
  .object({
    id: int64().meta({ description: 'The key.' }),
    bannedUntil: time.meta({ description: 'When the ban ends.' }),
  })
  .meta({ id: 'KeyBan', description: 'A temporary ban of a key.' })

/** The schemas of other features that events carry. Those features record events, so they cannot be imported here. */
type Resources = { pet: z.ZodType; category: z.ZodType; key: z.ZodType; orderStatus: z.ZodType }

/** Events with the same data are of one kind. */
export type EventKind = { name: string; types: readonly [string, ...string[]]; data: z.ZodType }

export function eventKinds({ pet, category, key, orderStatus }: Resources): EventKind[] {
  const orderState = z
    .object({
      id: int64().meta({ description: 'The order.' }),
      petId: int64().meta({ description: 'The animal.' }),
      status: orderStatus,
      cancelReason: z.string().optional().meta({ description: '`hold_expired` if its hold ran out.' }),
    })
    .meta({ id: 'OrderState', description: 'An order after the change, without personal data.' })
  return [
    { name: 'Pet', types: ['pet.created', 'pet.updated'], data: pet },
    { name: 'PetDeleted', types: ['pet.deleted'], data: deletedResource },
    {
      name: 'Order',
      types: ['order.placed', 'order.approved', 'order.delivered', 'order.cancelled'],
      data: orderState,
    },
    { name: 'Category', types: ['category.created', 'category.updated'], data: category },
    { name: 'CategoryDeleted', types: ['category.deleted'], data: deletedResource },
    { name: 'Key', types: ['key.created', 'key.updated', 'key.revoked'], data: key },
    { name: 'KeyBanned', types: ['key.banned'], data: keyBan },
  ] satisfies (Omit<EventKind, 'types'> & { types: [EventType, ...EventType[]] })[]
}

type Union = {
  name: string
  description: string
  /** What the name of each member ends in. */
  suffix: string
  kinds: readonly EventKind[]
  fields(type: z.ZodType, data: z.ZodType): Record<string, z.ZodType>
}

/** A union by `type`, with one named schema for each kind. */
export function eventUnionSchema({ name, description, suffix, kinds, fields }: Union): z.ZodType {
  const members = kinds.map(({ name, types, data }) =>
    z.object(fields(z.enum(types), data)).meta({ id: `${name}${suffix}` }),
  )
  const mapping = kinds.flatMap(({ name, types }) =>
    types.map((type) => [type, `#/components/schemas/${name}${suffix}`]),
  )
  return z.xor(members).meta({
    id: name,
    description: `${description} More kinds may be added: ignore those that you do not know.`,
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) },
    'x-extensible': true,
  })
}

export function eventsSchema(kinds: readonly EventKind[]): z.ZodType {
  const event = eventUnionSchema({
    name: 'Event',
    description: 'Something that changed.',
    suffix: 'Event',
    kinds,
    fields: (type, data) => ({
      id: int64().meta({ description: 'The position in the feed; rising.' }),
      type,
      createdAt: time.meta({ description: 'When it happened.' }),
      data,
    }),
  })
  return z.array(event).meta({ id: 'Events', description: 'One page of events, oldest first.' })
}

export const eventExample = {
  id: 1017,
  type: 'pet.updated',
  createdAt: '2026-11-15T12:00:00.000Z',
  data: { id: 42, name: 'Milo', categoryId: 3, status: 'pending' },
}
