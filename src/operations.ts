import type { Operation } from './api/operation.ts'
import type { ApiKeyCache } from './auth/apiKeyCache.ts'
import { categoryRoutes } from './categories/routes.ts'
import { categorySchema } from './categories/schemas.ts'
import type { Config } from './config.ts'
import type { Database } from './database/database.ts'
import type { EventBroadcaster } from './events/broadcaster.ts'
import { type EventRoutesOptions, eventRoutes } from './events/routes.ts'
import { eventKinds } from './events/schemas.ts'
import type { FindStreamAccess } from './events/streamAccess.ts'
import { inventoryRoutes } from './inventory/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { shownKey } from './keys/schemas.ts'
import type { RateLimiter } from './limits/rateLimiter.ts'
import { limitRoutes } from './limits/routes.ts'
import { findOpenOrder } from './orders/queries.ts'
import { orderRoutes } from './orders/routes.ts'
import { orderStatusSchema } from './orders/schemas.ts'
import { petRoutes } from './pets/routes.ts'
import { petSchema } from './pets/schemas.ts'
import { webhookRoutes } from './webhooks/routes.ts'

type Parts = {
  database: Database
  directory: ApiKeyCache
  gate: RateLimiter
  broadcaster: EventBroadcaster
  findAccess: FindStreamAccess
  config: Config
  streamsMax: number
  durableThrough: EventRoutesOptions['durableThrough']
}

const kinds = eventKinds({
  pet: petSchema,
  category: categorySchema,
  key: shownKey,
  orderStatus: orderStatusSchema,
})

/** Every operation of the API, in the order in which the reference shows them. */
export function createOperations({ database, directory, gate, config, ...parts }: Parts): Operation[] {
  const { environment, publicUrl, orderHoldMs, webhookAllow } = config
  return [
    ...petRoutes({
      database,
      publicUrl,
      hasOpenOrder: async (trx, petId, now) => (await findOpenOrder(trx, petId, now)) !== undefined,
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
    ...limitRoutes(environment),
    ...keyRoutes({ database, directory, environment, publicUrl, flushUsage: () => gate.flush() }),
  ]
}
