import * as z from 'zod'
import { ApiError, apiErrors } from '../api/errors.ts'
import { defineOperation, type Operation, respond } from '../api/operation.ts'
import { ListCursor, pageQuery, pageReader } from '../api/pagination.ts'
import { recordAudit } from '../audit/queries.ts'
import type { Db } from '../database/db.ts'
import { asFailedByCutoff, cutoffReason, findCutoffs } from './cutoffs.ts'
import { createTestDelivery, findDelivery, listDeliveries, retryDelivery } from './deliveries.ts'
import { requireEventAccess, webhookOrNotFound, webhookToSendTo } from './guards.ts'
import {
  deliveryByIdOperation,
  deliveryListSchema,
  deliverySchema,
  serializeDelivery,
  webhookByIdOperation,
  webhookErrors,
} from './schemas.ts'
import { testEventType } from './webhook.ts'

const cutoffMessage =
  'After a change of this webhook, the service is still marking its deliveries as failed. Retry after "Retry-After".'
const cutoffRetrySeconds = '5'
const deliveryNotFoundMessage =
  'This webhook has no delivery with this id: GET /webhooks/{webhookId}/deliveries lists its deliveries.'

const testWebhookOperation = defineOperation('testWebhook', 'POST /webhooks/{webhookId}/test', {
  ...webhookByIdOperation,
  summary: 'Send a test message',
  description: `Queues a message of the type \`${testEventType}\`. The deliveries of the webhook show the outcome.`,
  responses: { 202: { description: 'The message is queued.', schema: deliverySchema } },
  errors: [webhookErrors.webhook_disabled],
  async write({ params }, context) {
    const { trx, now } = context
    const { id } = await webhookToSendTo(trx, params.webhookId)
    await recordAudit(trx, context, 'webhook.tested', `webhook ${id}`)
    return respond(202, serializeDelivery(await createTestDelivery(trx, id, now)))
  },
})

const listDeliveriesOperation = defineOperation('listDeliveries', 'GET /webhooks/{webhookId}/deliveries', {
  ...webhookByIdOperation,
  summary: 'List deliveries',
  description: 'Newest first. Deliveries are retained for 30 days, like events.',
  query: z.object(pageQuery),
  responses: { 200: { description: 'One page of deliveries, newest first.', schema: deliveryListSchema } },
  read({ params: { webhookId }, query }, context) {
    async function find(db: Db, limit: number, belowId: number | undefined) {
      const { id } = await webhookOrNotFound(db, webhookId)
      // Before the deliveries: those of a cutoff that is complete in between have failed.
      const cutoffs = await findCutoffs(db, id)
      const deliveries = await listDeliveries(db, id, limit, belowId)
      return deliveries.map((delivery) => asFailedByCutoff(cutoffs, delivery))
    }
    const cursor = new ListCursor(`deliveries ${webhookId}`)
    return pageReader(cursor, find, serializeDelivery)({ query }, context)
  },
})

const retryDeliveryOperation = defineOperation(
  'retryDelivery',
  'POST /webhooks/{webhookId}/deliveries/{deliveryId}/retry',
  {
    ...deliveryByIdOperation,
    summary: 'Retry a delivery now',
    responses: { 202: { description: 'The delivery is queued again.', schema: deliverySchema } },
    errors: [webhookErrors.webhook_disabled],
    async write({ params }, context) {
      const { trx, now, principal } = context
      const { id } = await webhookToSendTo(trx, params.webhookId)
      const cutoffs = await findCutoffs(trx, id)
      const delivery = await findDelivery(trx, id, Number(params.deliveryId))
      if (!delivery) throw new ApiError(webhookErrors.webhook_not_found, deliveryNotFoundMessage)
      requireEventAccess([delivery.event_type], principal)
      // It would fail again without an attempt.
      if (cutoffReason(cutoffs, delivery) !== undefined)
        throw new ApiError(apiErrors.unavailable, cutoffMessage, {
          headers: { 'Retry-After': cutoffRetrySeconds },
        })
      const retried = await retryDelivery(trx, delivery.id, now)
      // It may have been pruned since it was read.
      if (!retried) throw new ApiError(webhookErrors.webhook_not_found, deliveryNotFoundMessage)
      const subject = `webhook ${delivery.webhook_id} delivery ${delivery.id}`
      await recordAudit(trx, context, 'webhook.retried', subject)
      return respond(202, serializeDelivery(retried))
    },
  },
)

export const deliveryRoutes: Operation[] = [
  testWebhookOperation,
  listDeliveriesOperation,
  retryDeliveryOperation,
]
