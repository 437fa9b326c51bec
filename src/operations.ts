import type { Operation } from './api/operation.ts'
import type { ApiKeyCache } from './auth/apiKeyCache.ts'
import { category, categoryRoutes } from './categories/routes.ts'
import type { Config } from './config.ts'
import type { Database } from './database/database.ts'
import type { FindAccess } from './events/access.ts'
import type { EventBroadcaster } from './events/broadcaster.ts'
import { type EventRoutesOptions, eventRoutes } from './events/routes.ts'
import { eventKinds } from './events/schemas.ts'
import { inventoryRoutes } from './inventory/routes.ts'
import { limitsRoute } from './keys/limitsRoute.ts'
import { keyRoutes } from './keys/routes.ts'
import { shownKey } from './keys/schemas.ts'
import type { RateLimiter } from './limits/rateLimiter.ts'
import { openOrderOf } from './orders/queries.ts'
import { orderRoutes, orderStatus } from './orders/routes.ts'
import { pet, petRoutes } from './pets/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

type Parts = {
  database: Database
  directory: ApiKeyCache
  gate: RateLimiter
  broadcaster: EventBroadcaster
  findAccess: FindAccess
  config: Config
  streamsMax: number
  durableThrough: EventRoutesOptions['durableThrough']
}

const kinds = eventKinds({ pet, category, key: shownKey, orderStatus })

/** Every operation of the API, in the order in which the reference shows them. */
export function createOperations({ database, directory, gate, config, ...parts }: Parts): Operation[] {
  const { environment, publicUrl, orderHoldMs, webhookAllow } = config
  return [
    ...petRoutes({
      database,
      publicUrl,
      hasOpenOrder: async (trx, petId, now) => (await openOrderOf(trx, petId, now)) !== undefined,
    }),
    ...categoryRoutes(database, publicUrl),
    ...inventoryRoutes(database),
    ...orderRoutes({ database, publicUrl, holdMs: orderHoldMs }),
    ...eventRoutes({
      database,
      broadcaster: parts.broadcaster,
      findAccess: parts.findAccess,
      streamsMax: parts.streamsMax,
      publicUrl,
      durableThrough: parts.durableThrough,
      kinds,
    }),
    ...webhookRoutes({ database, allowed: webhookAllow, publicUrl, kinds }),
    limitsRoute(environment),
    ...keyRoutes({ database, directory, environment, publicUrl, flushUsage: () => gate.flush() }),
  ]
}
