import { type BlockList, isIP } from 'node:net'
import * as z from 'zod'
import { validationFailed } from '../api/errors.ts'
import { type Operation, type OperationResult, operation, respond } from '../api/operation.ts'
import { idCursor, openCursor, pageAnswer, sealCursor } from '../api/pagination.ts'
import type { Database } from '../database/database.ts'
import { eventIdMax, lastEventId } from '../events/queries.ts'
import type { EventKind } from '../events/schemas.ts'
import { isAllowed, isGlobal } from './addresses.ts'
import { failWaiting } from './deliveries.ts'
import { deliveryRoutes } from './deliveryRoutes.ts'
import { checkEvents, present } from './guards.ts'
import { webhookMessage } from './messages.ts'
import {
  addWebhook,
  changeWebhook,
  countWebhooks,
  findWebhook,
  listWebhooks,
  removeWebhook,
  restartWebhook,
  rotateSecret,
  setWebhookStatus,
} from './queries.ts'
import {
  common,
  example,
  exampleWithSecret,
  newWebhook,
  one,
  overlapSecondsDefault,
  page,
  secretRotation,
  shownWebhook,
  shownWebhooks,
  webhookChange,
  webhookWithSecret,
} from './schemas.ts'
import { serializeWebhook } from './serialize.ts'
import { testEvent, webhooksMax } from './webhook.ts'

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
    const isNamed = isIP(host) !== 0 && isAllowed(host, allowed)
    if (isNamed) return
    if (protocol !== 'https:')
      throw validationFailed([{ path: '/url', message: `must be an https address (${allowHint})` }])
    if (isIP(host) !== 0 && !isGlobal(host))
      throw validationFailed([{ path: '/url', message: `is not on the public internet (${allowHint})` }])
  }

  return [
    operation({
      ...common,
      id: 'listWebhooks',
      method: 'GET',
      path: '/webhooks',
      summary: 'List webhooks',
      query: z.object(page),
      responses: {
        200: {
          description: 'One page of webhooks.',
          schema: shownWebhooks,
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`; absent on the last page.' },
          example: [example],
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
      ...common,
      id: 'createWebhook',
      method: 'POST',
      path: '/webhooks',
      summary: 'Register a webhook',
      description: 'The answer has the signing secret in `secret`. It is shown this once.',
      hasSecretResponse: true,
      sends: webhookMessage(kinds),
      body: newWebhook,
      bodyExample: { url: example.url, events: example.events },
      responses: {
        201: {
          description: 'The webhook is registered.',
          schema: webhookWithSecret,
          headers: { Location: 'Where the webhook is.' },
          example: exampleWithSecret,
        },
      },
      errors: ['malformed_json', 'validation_failed'],
      async write({ body }, { trx, now, principal: caller }) {
        checkUrl(body.url)
        checkEvents(body.events, caller)
        if ((await countWebhooks(trx)) >= webhooksMax) {
          throw validationFailed([
            { path: '', message: `would be one webhook more than the ${webhooksMax} that are possible` },
          ])
        }
        const { webhook, secret } = await addWebhook(trx, body, await lastEventId(trx, eventIdMax), now)
        return respond(
          201,
          { ...serializeWebhook(webhook), secret },
          { Location: `${publicUrl ?? ''}/v1/webhooks/${webhook.id}` },
        )
      },
    }),

    operation({
      ...one,
      id: 'getWebhook',
      method: 'GET',
      path: '/webhooks/{webhookId}',
      summary: 'Get a webhook',
      responses: { 200: { description: 'The webhook.', schema: shownWebhook, example } },
      errors: ['webhook_not_found'],
      async read({ params: { webhookId: id } }) {
        return respond(200, serializeWebhook(present(await findWebhook(database.read, Number(id)))))
      },
    }),

    operation({
      ...one,
      id: 'updateWebhook',
      method: 'PATCH',
      path: '/webhooks/{webhookId}',
      summary: 'Change, pause or resume a webhook',
      description:
        'While it is paused messages wait. One that was disabled is told of what happens after it is enabled again.',
      body: webhookChange,
      bodyExample: { status: 'paused' },
      responses: {
        200: {
          description: 'The webhook after the change.',
          schema: shownWebhook,
          example: { ...example, status: 'paused' },
        },
      },
      errors: ['malformed_json', 'validation_failed', 'webhook_not_found'],
      async write({ params: { webhookId: id }, body }, { trx, now, principal: caller }) {
        const found = present(await findWebhook(trx, Number(id)))
        if (body.url !== undefined) checkUrl(body.url)
        const events = body.events ?? found.events
        // Also what it was told of so far: who may not see that must not have it sent elsewhere.
        checkEvents([...found.events, ...events], caller)
        await changeWebhook(trx, found.id, { url: body.url ?? found.url, events })
        await failWaiting(trx, found.id, 'The webhook was changed.', now, [...events, testEvent])
        if (body.status === 'enabled' && found.status === 'disabled')
          await restartWebhook(trx, found.id, await lastEventId(trx, eventIdMax))
        else if (body.status !== undefined) await setWebhookStatus(trx, found.id, body.status)
        return respond(200, serializeWebhook(present(await findWebhook(trx, found.id))))
      },
    }),

    operation({
      ...one,
      id: 'deleteWebhook',
      method: 'DELETE',
      path: '/webhooks/{webhookId}',
      summary: 'Remove a webhook',
      responses: { 204: { description: 'The webhook is removed, with its deliveries.' } },
      errors: ['webhook_not_found'],
      async write({ params: { webhookId: id } }, { trx, principal: caller }): Promise<OperationResult> {
        const found = present(await findWebhook(trx, Number(id)))
        checkEvents(found.events, caller)
        await removeWebhook(trx, found.id)
        return { status: 204 }
      },
    }),

    operation({
      ...one,
      id: 'rotateWebhookSecret',
      method: 'POST',
      path: '/webhooks/{webhookId}/rotate',
      summary: 'Rotate the signing secret',
      description:
        'Answers the new secret, once. Until the overlap ends, messages are signed with both. Two secrets sign at the most: if you rotate again within the overlap, the oldest ends at once.',
      hasSecretResponse: true,
      body: secretRotation,
      isBodyOptional: true,
      bodyExample: { overlapSeconds: 3600 },
      responses: {
        200: {
          description: 'The webhook with its new secret.',
          schema: webhookWithSecret,
          example: exampleWithSecret,
        },
      },
      errors: ['malformed_json', 'validation_failed', 'webhook_not_found'],
      async write({ params: { webhookId: id }, body }, { trx, now, principal: caller }) {
        const found = present(await findWebhook(trx, Number(id)))
        checkEvents(found.events, caller)
        const secret = await rotateSecret(
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
