/** The rules for events, without HTTP or SQL. */

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

/** An event in the feed. `data` is JSON text. */
export type FeedEvent = { id: number; type: EventType; createdAt: number; data: string }

/** The scope that is required to read events. */
export const eventsScope = 'events:read'
/** The additional scope that is required to read private events. */
export const privateEventsScope = 'keys:manage'

/** Events about API keys are private. */
export const isPrivateEvent = (type: string): boolean => type.startsWith('key.')
