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

export type FeedEvent = { id: number; type: EventType; createdAt: number; data: string }

/** The scope that a key needs to follow events. */
export const eventsScope = 'events:read'
/** The scope that a key also needs to follow events of keys. */
export const privateEventsScope = 'keys:manage'

/** Events of keys are for those who manage keys. */
export const isPrivateEvent = (type: string): boolean => type.startsWith('key.')
