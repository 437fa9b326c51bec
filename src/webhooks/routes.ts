import { type BlockList, isIP } from 'node:net'
import * as z from 'zod'
import { validationFailed } from '../api/errors.ts'
import { type Operation, type OperationResult, operation, respond } from '../api/operation.ts'
import { idCursor, openCursor, pageAnswer, sealCursor } from '../api/pagination.ts'
import type { Database } from '../database/database.ts'
import { allEvents, lastEventId } from '../events/queries.ts'
import type { EventKind } from '../events/schemas.ts'
import { isAllowedAddress, isPublicAddress } from './addresses.ts'
import { failPending } from './deliveries.ts'
import { deliveryRoutes } from './deliveryRoutes.ts'
import { orNotFound, requireEventAccess } from './guards.ts'
import { webhookMessage } from './messages.ts'
import {
  countWebhooks,
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  reenableWebhook,
  rotateWebhookSecret,
  setWebhookStatus,
  updateWebhook,
} from './queries.ts'
import {
  newWebhookSchema,
  overlapSecondsDefault,
  pageQuery,
  secretRotationSchema,
  webhookByIdOperation,
  webhookExample,
  webhookListSchema,
  webhookOperation,
  webhookSchema,
  webhookUpdateSchema,
  webhookWithSecretExample,
  webhookWithSecretSchema,
} from './schemas.ts'
import { serializeWebhook } from './serialize.ts'
import { testEventType, webhooksMax } from './webhook.ts'

type WebhookRoutesOptions = {
  database: Database
  allowed: BlockList
  publicUrl: string | undefined
  /** What events there are, for the description of the API. */
  kinds: readonly EventKind[]
}

export function webhookRoutes({ database, allowed, publicUrl, kinds }: WebhookRoutesOptions): Operation[] {
  const allowHint = 'the operator can allow others with PETSTORE_WEBHOOK_ALLOW'

  /** What can be said of an address without looking a name up; the rest is checked at every connection. */
  function checkUrl(url: string): void {
    const { protocol, hostname } = new URL(url)
    const host = hostname.replace(/^\[|\]$/g, '')
    const isNamed = isIP(host) !== 0 && isAllowedAddress(host, allowed)
    if (isNamed) return
    if (protocol !== 'https:')
      throw validationFailed([{ path: '/url', message: `must be an https address (${allowHint})` }])
    if (isIP(host) !== 0 && !isPublicAddress(host))
      throw validationFailed([{ path: '/url', message: `is not on the public internet (${allowHint})` }])
  }

  return [
    operation({
      ...webhookOperation,
      id: 'listWebhooks',
      method: 'GET',
      path: '/webhooks',
      summary: 'List webhooks',
      query: z.object(pageQuery),
      responses: {
        200: {
          description: 'One page of webhooks.',
          schema: webhookListSchema,
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`; absent on the last page.' },
          example: [webhookExample],
        },
      },
      errors: ['validation_failed', 'invalid_cursor'],
      async read({ query: { limit, cursor } }) {
        const belowId = cursor === undefined ? undefined : openCursor('webhooks', idCursor, cursor)[0]
        const found = await listWebhooks(database.read, limit + 1, belowId)
        return pageAnswer(found, serializeWebhook, {
          publicUrl,
          path: '/v1/webhooks',
          limit,
          cursorAfter: (last) => sealCursor('webhooks', [last.id]),
        })
      },
    }),

    operation({
      ...webhookOperation,
      id: 'createWebhook',
      method: 'POST',
      path: '/webhooks',
      summary: 'Register a webhook',
      description: 'The answer has the signing secret in `secret`. It is shown this once.',
      hasSecretResponse: true,
      sends: webhookMessage(kinds),
      body: newWebhookSchema,
      bodyExample: { url: webhookExample.url, events: webhookExample.events },
      responses: {
        201: {
          description: 'The webhook is registered.',
          schema: webhookWithSecretSchema,
          headers: { Location: 'Where the webhook is.' },
          example: webhookWithSecretExample,
        },
      },
      errors: ['malformed_json', 'validation_failed'],
      async write({ body }, { trx, now, principal: caller }) {
        checkUrl(body.url)
        requireEventAccess(body.events, caller)
        if ((await countWebhooks(trx)) >= webhooksMax) {
          throw validationFailed([
            { path: '', message: `would be one webhook more than the ${webhooksMax} that are possible` },
          ])
        }
        const { webhook, secret } = await createWebhook(trx, body, await lastEventId(trx, allEvents), now)
        return respond(
          201,
          { ...serializeWebhook(webhook), secret },
          { Location: `${publicUrl ?? ''}/v1/webhooks/${webhook.id}` },
        )
      },
    }),

    operation({
      ...webhookByIdOperation,
      id: 'getWebhook',
      method: 'GET',
      path: '/webhooks/{webhookId}',
      summary: 'Get a webhook',
      responses: { 200: { description: 'The webhook.', schema: webhookSchema, example: webhookExample } },
      errors: ['webhook_not_found'],
      async read({ params: { webhookId: id } }) {
        return respond(200, serializeWebhook(orNotFound(await findWebhook(database.read, Number(id)))))
      },
    }),

    operation({
      ...webhookByIdOperation,
      id: 'updateWebhook',
      method: 'PATCH',
      path: '/webhooks/{webhookId}',
      summary: 'Change, pause or resume a webhook',
      description:
        'While it is paused messages wait. One that was disabled is told of what happens after it is enabled again.',
      body: webhookUpdateSchema,
      bodyExample: { status: 'paused' },
      responses: {
        200: {
          description: 'The webhook after the change.',
          schema: webhookSchema,
          example: { ...webhookExample, status: 'paused' },
        },
      },
      errors: ['malformed_json', 'validation_failed', 'webhook_not_found'],
      async write({ params: { webhookId: id }, body }, { trx, now, principal: caller }) {
        const found = orNotFound(await findWebhook(trx, Number(id)))
        if (body.url !== undefined) checkUrl(body.url)
        const events = body.events ?? found.events
        // Also what it was told of so far: who may not see that must not have it sent elsewhere.
        requireEventAccess([...found.events, ...events], caller)
        await updateWebhook(trx, found.id, { url: body.url ?? found.url, events })
        await failPending(trx, found.id, 'The webhook was changed.', now, [...events, testEventType])
        if (body.status === 'enabled' && found.status === 'disabled')
          await reenableWebhook(trx, found.id, await lastEventId(trx, allEvents))
        else if (body.status !== undefined) await setWebhookStatus(trx, found.id, body.status)
        return respond(200, serializeWebhook(orNotFound(await findWebhook(trx, found.id))))
      },
    }),

    operation({
      ...webhookByIdOperation,
      id: 'deleteWebhook',
      method: 'DELETE',
      path: '/webhooks/{webhookId}',
      summary: 'Remove a webhook',
      responses: { 204: { description: 'The webhook is removed, with its deliveries.' } },
      errors: ['webhook_not_found'],
      async write({ params: { webhookId: id } }, { trx, principal: caller }): Promise<OperationResult> {
        const found = orNotFound(await findWebhook(trx, Number(id)))
        requireEventAccess(found.events, caller)
        await deleteWebhook(trx, found.id)
        return { status: 204 }
      },
    }),

    operation({
      ...webhookByIdOperation,
      id: 'rotateWebhookSecret',
      method: 'POST',
      path: '/webhooks/{webhookId}/rotate',
      summary: 'Rotate the signing secret',
      description:
        'Answers the new secret, once. Until the overlap ends, messages are signed with both. Two secrets sign at the most: if you rotate again within the overlap, the oldest ends at once.',
      hasSecretResponse: true,
      body: secretRotationSchema,
      isBodyOptional: true,
      bodyExample: { overlapSeconds: 3600 },
      responses: {
        200: {
          description: 'The webhook with its new secret.',
          schema: webhookWithSecretSchema,
          example: webhookWithSecretExample,
        },
      },
      errors: ['malformed_json', 'validation_failed', 'webhook_not_found'],
      async write({ params: { webhookId: id }, body }, { trx, now, principal: caller }) {
        const found = orNotFound(await findWebhook(trx, Number(id)))
        requireEventAccess(found.events, caller)
        const secret = await rotateWebhookSecret(
          trx,
          found.id,
          (body.overlapSeconds ?? overlapSecondsDefault) * 1000,
          now,
        )
        return respond(200, { ...serializeWebhook(found), secret })
      },
    }),

    ...deliveryRoutes(database, publicUrl),
  ]
}
