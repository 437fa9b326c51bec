import * as z from 'zod'
import { defineErrors } from '../api/errors.ts'
import { int64, timestampSchema } from '../api/validation.ts'
import { type EventKindName, eventTypes, eventTypesByKind } from './event.ts'

export const eventErrors = defineErrors({
  events_expired: [
    410,
    'Events this old are no longer available. Start from the oldest one.',
    { headers: { Link: 'The URL to continue from, with `rel="next"`.' } },
  ],
  too_many_streams: [
    429,
    'This API key has reached its limit of open event streams. Close one, then retry.',
    { hasRetryAfter: true },
  ],
})

/** The lists of types and kinds are open: see docs/decisions/0023-openapi-for-generators.md. */

export const knownEventTypeSchema = z
  .enum(eventTypes)
  .meta({ id: 'KnownEventType', description: 'The types of events that exist today.' })
export const eventTypeSchema = z.union([knownEventTypeSchema, z.string()]).meta({
  id: 'EventType',
  description: 'The type of an event. This is an open list: new types may be added. Ignore unknown types.',
})

export const eventExample = {
  id: 1017,
  type: 'pet.updated',
  createdAt: '2026-11-15T12:00:00.000Z',
  data: { id: 42, name: 'Milo', categoryId: 3, status: 'pending' },
}

const deletedResource = z
  .object({ id: int64().meta({ description: 'The id of the resource.' }) })
  .meta({ id: 'DeletedResource', description: 'A resource that was removed.' })
const keyBan = z
  .object({
    id: int64().meta({ description: 'The id of the API key.' }),
    bannedUntil: timestampSchema('When the ban ends.'),
  })
  .meta({ id: 'KeyBan', description: 'A temporary ban of an API key.' })

/** The event types whose `data` has the same schema. */
export type EventKind = { name: string; types: readonly string[]; data: z.ZodType }

const ownSchemas = { PetDeleted: deletedResource, CategoryDeleted: deletedResource, KeyBanned: keyBan }
/** Those of features that record events: importing them here would be a cycle. */
type ResourceSchemas = Record<Exclude<EventKindName, keyof typeof ownSchemas>, z.ZodType>

export function eventKinds(resources: ResourceSchemas): EventKind[] {
  const schemas: Record<EventKindName, z.ZodType> = { ...ownSchemas, ...resources }
  const names = Object.keys(eventTypesByKind) as EventKindName[]
  return names.map((name) => ({ name, types: eventTypesByKind[name], data: schemas[name] }))
}

type EventUnion = {
  name: string
  description: string
  examples?: readonly unknown[]
  /** The end of the name of each member. */
  suffix: string
  kinds: readonly EventKind[]
  fields(type: z.ZodType, data: z.ZodType): Record<string, z.ZodType>
}

/** A union with the discriminator `type`, with one named schema per kind. */
export function eventUnionSchema(union: EventUnion): z.ZodType {
  const { name, description, suffix, kinds, fields, ...meta } = union
  const members = kinds.map(({ name, types, data }) =>
    z.object(fields(z.enum(types), data)).meta({ id: `${name}${suffix}` }),
  )
  const mapping = kinds.flatMap(({ name, types }) =>
    types.map((type) => [type, `#/components/schemas/${name}${suffix}`]),
  )
  return z.xor(members).meta({
    id: name,
    description: `${description} More kinds may be added. Ignore unknown kinds.`,
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) },
    'x-extensible': true,
    ...meta,
  })
}

export function eventListSchema(kinds: readonly EventKind[]): z.ZodType {
  const event = eventUnionSchema({
    name: 'Event',
    description: 'A change.',
    examples: [eventExample],
    suffix: 'Event',
    kinds,
    fields: (type, data) => ({
      id: int64().meta({ description: 'The position in the feed. Later events have higher ids.' }),
      type,
      createdAt: timestampSchema('When the change was made.'),
      data,
    }),
  })
  return z.array(event).meta({ id: 'Events', description: 'One page of events, oldest first.' })
}
