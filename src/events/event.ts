/** What is told of a change. Nothing here knows of HTTP or SQL. */

export const eventTypes = [
  'pet.created',
  'pet.updated',
  'pet.deleted',
  'order.placed',
  'order.approved',
  'order.delivered',
  'order.cancelled',
  'category.created',
  'category.updated',
  'category.deleted',
  'key.created',
  'key.updated',
  'key.revoked',
  'key.banned',
] as const
export type EventType = (typeof eventTypes)[number]

export type StoreEvent = { id: number; type: EventType; createdAt: number; data: string }

/** What a key must have to follow events, */
export const eventsScope = 'events:read'
/** and to follow those of keys as well. */
export const privateEventsScope = 'keys:manage'

/** Events of keys are for those who manage keys. */
export const isPrivate = (type: string): boolean => type.startsWith('key.')
