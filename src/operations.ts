import type { Operation } from './api/operation.ts'
import { listAuditEntriesOperation } from './audit/routes.ts'
import type { ApiKeyCache } from './auth/apiKeyCache.ts'
import { categoryRoutes } from './categories/routes.ts'
import { categorySchema } from './categories/schemas.ts'
import type { Config } from './config.ts'
import { type EventRoutesOptions, listEventsOperation } from './events/routes.ts'
import { eventKinds } from './events/schemas.ts'
import { getHistoryOperation } from './history/routes.ts'
import { importRoutes } from './imports/http/routes.ts'
import { getInventoryOperation } from './inventory/routes.ts'
import { getKeyLimitsOperation, getLimitsOperation } from './keys/limitsRoute.ts'
import { keyRoutes } from './keys/routes.ts'
import { keySchema } from './keys/schemas.ts'
import type { RateLimiter } from './limits/rateLimiter.ts'
import { listingRoutes } from './listings/routes.ts'
import { lockPetAndOrder } from './orders/queries.ts'
import { orderRoutes } from './orders/routes.ts'
import { orderStateSchema } from './orders/schemas.ts'
import type { CreatePetBatch } from './pets/queries.postgres.ts'
import { petRoutes } from './pets/routes.ts'
import { petSchema } from './pets/schemas.ts'
import type { PhotoDecoder } from './photos/decoder.ts'
import { photoRoutes } from './photos/routes.ts'
import { photoStateSchema } from './photos/schemas.ts'
import { hasProfile } from './profiles/queries.ts'
import { profileRoutes } from './profiles/routes.ts'
import { profileStateSchema } from './profiles/schemas.ts'
import { storeRoutes } from './store/routes.ts'
import { storeStateSchema } from './store/schemas.ts'
import { usageRoutes } from './usage/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

type OperationOptions = Omit<EventRoutesOptions, 'kinds'> & {
  readonly createBatch?: CreatePetBatch | undefined
  readonly apiKeyCache: ApiKeyCache
  readonly rateLimiter: RateLimiter
  /** Writes the counts of usage to the database. */
  flushUsage(): Promise<void>
  readonly decoder: PhotoDecoder
  /** Starts to apply imports. */
  wakeImporter(): void
  readonly config: Config
}

const kinds = eventKinds({
  Pet: petSchema,
  Profile: profileStateSchema,
  Photo: photoStateSchema,
  Order: orderStateSchema,
  Category: categorySchema,
  Store: storeStateSchema,
  Key: keySchema,
})

/** All operations of the API, in the order of the reference. */
export function createOperations(options: OperationOptions): Operation[] {
  const { database, apiKeyCache, rateLimiter, config, createBatch, decoder } = options
  const { environment, orderHoldMs, webhookAllow } = config
  const keyOptions = { apiKeyCache, environment, rateLimiter }
  return [
    ...petRoutes({
      lockPetAndOrder,
      createBatch,
      hasProfile,
      onProfileRemoved: () => database.truncateWal(),
    }),
    ...profileRoutes(database),
    ...photoRoutes({ database, decoder }),
    getHistoryOperation(database),
    ...listingRoutes,
    ...categoryRoutes,
    getInventoryOperation,
    ...orderRoutes({ database, holdMs: orderHoldMs }),
    ...storeRoutes,
    ...importRoutes({ database, wake: options.wakeImporter }),
    listEventsOperation({ ...options, kinds }),
    ...webhookRoutes({ allowed: webhookAllow, kinds }),
    getLimitsOperation(environment),
    ...keyRoutes(keyOptions),
    getKeyLimitsOperation(keyOptions),
    ...usageRoutes(options.flushUsage),
    listAuditEntriesOperation,
  ]
}
