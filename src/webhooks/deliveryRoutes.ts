import * as z from 'zod'
import { type Operation, operation, respond } from '../api/operation.ts'
import { idCursor, openCursor, pageAnswer, sealCursor } from '../api/pagination.ts'
import type { Database } from '../database/database.ts'
import { addTestDelivery, findDelivery, listDeliveries, retryDelivery } from './deliveries.ts'
import { checkEvents, present } from './guards.ts'
import { findWebhook } from './queries.ts'
import {
  deliveryExample,
  example,
  one,
  oneDelivery,
  page,
  shownDeliveries,
  shownDelivery,
} from './schemas.ts'
import { serializeDelivery } from './serialize.ts'

const noDelivery = 'This webhook has no delivery with this id: GET its deliveries lists those that exist.'

/** What became of the messages to a webhook. */
export function deliveryRoutes(database: Database, publicUrl: string | undefined): Operation[] {
  return [
    operation({
      ...one,
      id: 'testWebhook',
      method: 'POST',
      path: '/webhooks/{webhookId}/test',
      summary: 'Send a test message',
      description: 'Queues a message of the type `webhook.test`; the deliveries show how it went.',
      responses: {
        202: {
          description: 'The message is queued.',
          schema: shownDelivery,
          example: {
            id: 32,
            eventType: 'webhook.test',
            status: 'pending',
            attempts: 0,
            createdAt: example.createdAt,
          },
        },
      },
      errors: ['webhook_not_found'],
      async write({ params: { webhookId: id } }, { trx, now }) {
        const found = present(await findWebhook(trx, Number(id)))
        return respond(202, serializeDelivery(await addTestDelivery(trx, found.id, now)))
      },
    }),

    operation({
      ...one,
      id: 'listDeliveries',
      method: 'GET',
      path: '/webhooks/{webhookId}/deliveries',
      summary: 'List deliveries',
      description: 'Newest first. Kept 30 days, like the events.',
      query: z.object(page),
      responses: {
        200: {
          description: 'One page of deliveries, newest first.',
          schema: shownDeliveries,
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`; absent on the last page.' },
          example: [deliveryExample],
        },
      },
      errors: ['validation_failed', 'invalid_cursor', 'webhook_not_found'],
      async read({ params: { webhookId: id }, query: { limit, cursor } }) {
        const kind = `deliveries ${id}`
        const belowId = cursor === undefined ? undefined : openCursor(kind, idCursor, cursor)[0]
        const found = present(await findWebhook(database.read, Number(id)))
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
      ...oneDelivery,
      id: 'retryDelivery',
      method: 'POST',
      path: '/webhooks/{webhookId}/deliveries/{deliveryId}/retry',
      summary: 'Try a delivery again now',
      responses: {
        202: {
          description: 'It is queued again.',
          schema: shownDelivery,
          example: { ...deliveryExample, status: 'pending', finishedAt: undefined },
        },
      },
      errors: ['webhook_not_found'],
      async write({ params: { webhookId: id, deliveryId } }, { trx, now, principal: caller }) {
        const found = present(await findDelivery(trx, Number(id), Number(deliveryId)), noDelivery)
        checkEvents([found.eventType], caller)
        await retryDelivery(trx, found.id, now)
        return respond(202, serializeDelivery(present(await findDelivery(trx, found.webhookId, found.id))))
      },
    }),
  ]
}
