import type { Operation } from './api/operation.ts'
import type { ApiKeyCache } from './auth/apiKeyCache.ts'
import { categoryRoutes } from './categories/routes.ts'
import { categorySchema } from './categories/schemas.ts'
import type { Config } from './config.ts'
import { type EventRoutesOptions, eventRoutes } from './events/routes.ts'
import { eventKinds } from './events/schemas.ts'
import { inventoryRoutes } from './inventory/routes.ts'
import { limitsRoute } from './keys/limitsRoute.ts'
import { keyRoutes } from './keys/routes.ts'
import { keySchema } from './keys/schemas.ts'
import type { RateLimiter } from './limits/rateLimiter.ts'
import { findOpenOrder } from './orders/queries.ts'
import { orderRoutes } from './orders/routes.ts'
import { orderStatusSchema } from './orders/schemas.ts'
import { petRoutes } from './pets/routes.ts'
import { petSchema } from './pets/schemas.ts'
import { webhookRoutes } from './webhooks/routes.ts'

type OperationOptions = Omit<EventRoutesOptions, 'publicUrl' | 'kinds'> & {
  readonly apiKeyCache: ApiKeyCache
  readonly rateLimiter: RateLimiter
  readonly config: Config
}

const kinds = eventKinds({
  pet: petSchema,
  category: categorySchema,
  key: keySchema,
  orderStatus: orderStatusSchema,
})

/** All operations of the API, in the order of the reference. */
export function createOperations({
  apiKeyCache,
  rateLimiter,
  config,
  ...options
}: OperationOptions): Operation[] {
  const { database } = options
  const { environment, publicUrl, orderHoldMs, webhookAllow } = config
  return [
    ...petRoutes({
      database,
      publicUrl,
      hasOpenOrder: async (...args) => (await findOpenOrder(...args)) !== undefined,
    }),
    ...categoryRoutes(database, publicUrl),
    ...inventoryRoutes(database),
    ...orderRoutes({ database, publicUrl, holdMs: orderHoldMs }),
    ...eventRoutes({ ...options, publicUrl, kinds }),
    ...webhookRoutes({ database, allowed: webhookAllow, publicUrl, kinds }),
    limitsRoute(environment),
    ...keyRoutes({
      database,
      apiKeyCache,
      environment,
      publicUrl,
      flushUsage: () => rateLimiter.flush(),
    }),
  ]
}
