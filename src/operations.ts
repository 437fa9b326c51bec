import { categoryRoutes } from './categories/routes.ts'
import type { Config } from './config.ts'
import type { Database } from './database/database.ts'
import type { Hub } from './events/hub.ts'
import { type EventRoutesOptions, eventRoutes } from './events/routes.ts'
import type { StreamBounds } from './events/stream.ts'
import type { Operation } from './http/operation.ts'
import { inventoryRoutes } from './inventory/routes.ts'
import type { KeyDirectory } from './keys/directory.ts'
import { keyRoutes } from './keys/routes.ts'
import type { Gate } from './limits/gate.ts'
import { limitRoutes } from './limits/routes.ts'
import { openOrderOf } from './orders/queries.ts'
import { orderRoutes } from './orders/routes.ts'
import { petRoutes } from './pets/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

export type Parts = {
  database: Database
  directory: KeyDirectory
  gate: Gate
  hub: Hub
  config: Config
  streamBounds: StreamBounds
  durableThrough: EventRoutesOptions['durableThrough']
  onStreamFault(error: unknown): void
}

/** Every operation of the API, in the order in which the reference shows them. */
export function createOperations({ database, directory, gate, hub, config, ...parts }: Parts): Operation[] {
  const scopesOf = async (token: string, now: number) => {
    const found = await directory.find(token, now)
    return 'key' in found ? found.key.scopes : undefined
  }
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
      hub,
      publicUrl,
      streamBounds: parts.streamBounds,
      durableThrough: parts.durableThrough,
      scopesOf,
      onFault: parts.onStreamFault,
    }),
    ...webhookRoutes({ database, allowed: webhookAllow, publicUrl }),
    ...limitRoutes(gate),
    ...keyRoutes({ database, directory, environment, publicUrl, flushUsage: () => gate.flush() }),
  ]
}
