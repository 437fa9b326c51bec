import { categoryResource } from './categories/resource.ts'
import { continueFeed } from './events/queries.ts'
import { keyResource } from './keys/resource.ts'
import { petOrders } from './orders/queries.ts'
import { orderResource } from './orders/resource.ts'
import { petResource } from './pets/resource.ts'
import { photoResource } from './photos/resource.ts'
import { profileResource } from './profiles/resource.ts'
import { type Counter, identityCounter, type Resource } from './records/resource.ts'
import { storeResource } from './store/resource.ts'

const pets = petResource(petOrders)

/**
 * What is exported, imported and counted. In the order of the counters in the first line of an export; an owner comes
 * before what it owns.
 */
export const resources: readonly Resource[] = [
  pets,
  keyResource,
  categoryResource,
  orderResource,
  profileResource,
  photoResource,
  storeResource,
]

/** In the order of results and messages: what requires `--with-keys` comes last. */
export const countedResources: readonly Resource[] = resources.toSorted(
  (a, b) => Number(a.requiresWithKeys ?? 0) - Number(b.requiresWithKeys ?? 0),
)

/** The resource of records without a type, and of CSV. */
export const defaultResource = pets

const byType = new Map<unknown, Resource>(resources.map((resource) => [resource.type, resource]))

/** The resource of a record. Undefined for an unknown type. */
export const resourceOf = (type: unknown = defaultResource.type): Resource | undefined => byType.get(type)

/** The fields of the first line of an export after its format. */
export const counters: readonly Counter[] = [
  ...resources.flatMap(({ counter }) => counter ?? []),
  {
    ...identityCounter('lastEventId', 'events'),
    // The events up to this one count as pruned.
    reserve: (trx, upTo) => continueFeed(trx, upTo),
  },
]
