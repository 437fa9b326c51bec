import * as z from 'zod'
import { type Operation, operation, respond } from '../api/operation.ts'
import { idCursor, openCursor, pageAnswer, sealCursor } from '../api/pagination.ts'
import type { Database } from '../database/database.ts'
import { addTestDelivery, findDelivery, listDeliveries, retryDelivery } from './deliveries.ts'
import { orNotFound, requireEventAccess } from './guards.ts'
import { findWebhook } from './queries.ts'
import {
  deliveryByIdOperation,
  deliveryExample,
  deliveryListSchema,
  deliverySchema,
  pageQuery,
  webhookByIdOperation,
  webhookExample,
} from './schemas.ts'
import { serializeDelivery } from './serialize.ts'

const noDelivery = 'This webhook has no delivery with this id: GET its deliveries lists those that exist.'

/** What became of the messages to a webhook. */
export function deliveryRoutes(database: Database, publicUrl: string | undefined): Operation[] {
  return [
    operation({
      ...webhookByIdOperation,
      id: 'testWebhook',
      method: 'POST',
      path: '/webhooks/{webhookId}/test',
      summary: 'Send a test message',
      description: 'Queues a message of the type `webhook.test`; the deliveries show how it went.',
      responses: {
        202: {
          description: 'The message is queued.',
          schema: deliverySchema,
          example: {
            id: 32,
            eventType: 'webhook.test',
            status: 'pending',
            attempts: 0,
            createdAt: webhookExample.createdAt,
          },
        },
      },
      errors: ['webhook_not_found'],
      async write({ params: { webhookId: id } }, { trx, now }) {
        const found = orNotFound(await findWebhook(trx, Number(id)))
        return respond(202, serializeDelivery(await addTestDelivery(trx, found.id, now)))
      },
    }),

    operation({
      ...webhookByIdOperation,
      id: 'listDeliveries',
      method: 'GET',
      path: '/webhooks/{webhookId}/deliveries',
      summary: 'List deliveries',
      description: 'Newest first. Kept 30 days, like the events.',
      query: z.object(pageQuery),
      responses: {
        200: {
          description: 'One page of deliveries, newest first.',
          schema: deliveryListSchema,
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`; absent on the last page.' },
          example: [deliveryExample],
        },
      },
      errors: ['validation_failed', 'invalid_cursor', 'webhook_not_found'],
      async read({ params: { webhookId: id }, query: { limit, cursor } }) {
        const kind = `deliveries ${id}`
        const belowId = cursor === undefined ? undefined : openCursor(kind, idCursor, cursor)[0]
        const found = orNotFound(await findWebhook(database.read, Number(id)))
        const deliveries = await listDeliveries(database, found.id, limit + 1, belowId)
        return pageAnswer(deliveries, serializeDelivery, {
          publicUrl,
          path: `/v1/webhooks/${found.id}/deliveries`,
          limit,
          cursorAfter: (last) => sealCursor(kind, [last.id]),
        })
      },
    }),

    operation({
      ...deliveryByIdOperation,
      id: 'retryDelivery',
      method: 'POST',
      path: '/webhooks/{webhookId}/deliveries/{deliveryId}/retry',
      summary: 'Try a delivery again now',
      responses: {
        202: {
          description: 'It is queued again.',
          schema: deliverySchema,
          example: { ...deliveryExample, status: 'pending', finishedAt: undefined },
        },
      },
      errors: ['webhook_not_found'],
      async write({ params: { webhookId: id, deliveryId } }, { trx, now, principal: caller }) {
        const found = orNotFound(await findDelivery(trx, Number(id), Number(deliveryId)), noDelivery)
        requireEventAccess([found.eventType], caller)
        await retryDelivery(trx, found.id, now)
        return respond(202, serializeDelivery(orNotFound(await findDelivery(trx, found.webhookId, found.id))))
      },
    }),
  ]
}
