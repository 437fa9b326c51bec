/** The rules for events, without HTTP or SQL. */

/** The event types by the kind of their `data`. */
export const eventTypesByKind = {
  Pet: ['pet.created', 'pet.updated'],
  PetDeleted: ['pet.deleted'],
  Profile: ['profile.updated'],
  Photo: ['photo.added', 'photo.updated', 'photo.removed'],
  Order: ['order.placed', 'order.approved', 'order.delivered', 'order.cancelled'],
  Category: ['category.created', 'category.updated'],
  CategoryDeleted: ['category.deleted'],
  Store: ['store.updated'],
  Key: ['key.created', 'key.updated', 'key.revoked'],
  KeyBanned: ['key.banned'],
} as const
export type EventKindName = keyof typeof eventTypesByKind
export type EventType = (typeof eventTypesByKind)[EventKindName][number]
export const eventTypes: readonly EventType[] = Object.values(eventTypesByKind).flat()

/** An event in the feed. `data` is JSON text. */
export type FeedEvent = { id: number; type: EventType; createdAt: number; data: string }

/** The scope that is required to read events. */
export const eventsScope = 'events:read'
/** The additional scope that is required to read private events. */
export const privateEventsScope = 'keys:manage'

/** Events about API keys are private. */
export const isPrivateEvent = (type: string): boolean => type.startsWith('key.')
