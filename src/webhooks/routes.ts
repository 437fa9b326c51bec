import { type BlockList, isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { apiErrors, validationFailed } from '../api/errors.ts'
import {
  etagHeader,
  ifMatchParameter,
  ifNoneMatchParameter,
  requireIfMatch,
  respondWithEtag,
} from '../api/etag.ts'
import { defineOperation, type Operation, type Principal, respond } from '../api/operation.ts'
import { ListCursor, pageQuery, pageReader } from '../api/pagination.ts'
import type { AuditAction } from '../audit/audit.ts'
import { recordAudit } from '../audit/queries.ts'
import type { Trx } from '../database/db.ts'
import { eventTypes, isPrivateEvent, privateEventsScope } from '../events/event.ts'
import { eventIdMax, lastEventId } from '../events/queries.ts'
import type { EventKind } from '../events/schemas.ts'
import { isAllowedAddress, isLocalhost, isPublicAddress, loopbackAddresses } from './addresses.ts'
import { deleteWebhookAndDeliveries, failPendingDeliveries } from './cutoffs.ts'
import { deliveryRoutes } from './deliveryRoutes.ts'
import { lockDispatch } from './dispatch.ts'
import { requireEventAccess, webhookOrNotFound, webhookToChange } from './guards.ts'
import { webhookMessage } from './messageDescription.ts'
import {
  countWebhooks,
  createWebhook,
  listWebhooks,
  markWebhookDeleted,
  rotateWebhookSecret,
  updateWebhook,
  type Webhook,
} from './queries.ts'
import {
  newWebhookSchema,
  secretOverlapSecondsDefault,
  secretRotationSchema,
  serializeWebhook,
  webhookByIdOperation,
  webhookListSchema,
  webhookOperation,
  webhookSchema,
  webhookUpdateSchema,
  webhookWithSecretSchema,
} from './schemas.ts'
import { recordWebhookStart } from './start.ts'
import { webhooksMax } from './webhook.ts'

type WebhookRoutesOptions = {
  /** Networks outside the public internet that the operator allows. */
  allowed: BlockList
  /** The event types that the OpenAPI document describes. */
  kinds: readonly EventKind[]
}

/** The webhook receives the events after this one that `recordWebhookStart` does not exclude. */
const newestEventId = (trx: Trx): Promise<number> => lastEventId(trx, eventIdMax)

const listWebhooksOperation = defineOperation('listWebhooks', 'GET /webhooks', {
  ...webhookOperation,
  summary: 'List webhooks',
  query: z.object(pageQuery),
  responses: { 200: { description: 'One page of webhooks.', schema: webhookListSchema } },
  read: pageReader(new ListCursor('webhooks'), listWebhooks, serializeWebhook),
})

const createWebhookOperation = ({ allowed, kinds }: WebhookRoutesOptions) =>
  defineOperation('createWebhook', 'POST /webhooks', {
    ...webhookOperation,
    summary: 'Register a webhook',
    description: 'The response contains the signing secret in `secret`. It is shown only once.',
    hasSecretResponse: true,
    sends: webhookMessage(kinds),
    body: newWebhookSchema,
    responses: {
      201: {
        description: 'The webhook is registered.',
        schema: webhookWithSecretSchema,
        headers: etagHeader,
      },
    },
    location: ({ id }) => `/webhooks/${id}`,
    async write({ body }, context) {
      const { trx, now, principal } = context
      validateUrl(body.url, allowed)
      requireEventAccess(body.events, principal)
      await trx.lockName('webhooks')
      if ((await countWebhooks(trx)) >= webhooksMax)
        throw validationFailed([{ path: '', message: `exceeds the maximum of ${webhooksMax} webhooks` }])
      const webhook = await createWebhook(trx, body, await newestEventId(trx), now)
      await recordWebhookStart(trx, webhook.id)
      await recordAudit(trx, context, 'webhook.created', `webhook ${webhook.id}`)
      return respondWithSecret(201, webhook)
    },
  })

const respondWithSecret = (status: number, webhook: Webhook) => {
  const serialized = serializeWebhook(webhook)
  return respondWithEtag(status, { ...serialized, secret: webhook.secret }, serialized)
}

const getWebhookOperation = defineOperation('getWebhook', 'GET /webhooks/{webhookId}', {
  ...webhookByIdOperation,
  summary: 'Get a webhook',
  requestHeaders: ifNoneMatchParameter,
  responses: {
    200: { description: 'The webhook.', schema: webhookSchema, headers: etagHeader },
    304: { description: 'The webhook has not changed.', headers: etagHeader },
  },
  async read({ params }, { db }) {
    return respondWithEtag(200, serializeWebhook(await webhookOrNotFound(db, params.webhookId)))
  },
})

const updateWebhookOperation = ({ allowed }: WebhookRoutesOptions) =>
  defineOperation('updateWebhook', 'PATCH /webhooks/{webhookId}', {
    ...webhookByIdOperation,
    summary: 'Change, pause or resume a webhook',
    description:
      'While a webhook is paused, its messages are queued. A disabled webhook that is enabled again receives only later events.',
    body: webhookUpdateSchema,
    requestHeaders: ifMatchParameter,
    responses: { 200: { description: 'The updated webhook.', schema: webhookSchema, headers: etagHeader } },
    errors: [apiErrors.precondition_failed],
    async write({ params, body }, context) {
      const { trx, now, principal } = context
      await lockDispatch(trx)
      const webhook = await webhookToChange(trx, params.webhookId)
      requireIfMatch(serializeWebhook(webhook), context)
      const { id } = webhook
      const { url = webhook.url, events = webhook.events, status } = body
      if (body.url !== undefined) validateUrl(url, allowed)
      // Includes the previous event types: pending deliveries of these would go to the new URL.
      requireEventAccess([...webhook.events, ...events], principal)
      const isReenabled = status !== undefined && webhook.status === 'disabled'
      const updated = await updateWebhook(trx, id, {
        url,
        events: JSON.stringify(events),
        ...(status && { status, status_reason: null }),
        ...(isReenabled && { from_event_id: await newestEventId(trx) }),
      })
      if (isReenabled) await recordWebhookStart(trx, id)
      const failedTypes = typesToFail(webhook, updated, principal)
      if (failedTypes.length > 0) await failPendingDeliveries(trx, id, now, failedTypes)
      for (const action of changesOf(webhook, updated))
        await recordAudit(trx, context, action, `webhook ${id}`)
      return respondWithEtag(200, serializeWebhook(updated))
    },
  })

const deleteWebhookOperation = defineOperation('deleteWebhook', 'DELETE /webhooks/{webhookId}', {
  ...webhookByIdOperation,
  summary: 'Delete a webhook',
  requestHeaders: ifMatchParameter,
  responses: { 204: { description: 'The webhook and its deliveries are deleted.' } },
  errors: [apiErrors.precondition_failed],
  async write({ params }, context) {
    const { trx, now, principal } = context
    const webhook = await webhookToChange(trx, params.webhookId)
    requireIfMatch(serializeWebhook(webhook), context)
    requireEventAccess(webhook.events, principal)
    await markWebhookDeleted(trx, webhook.id)
    await deleteWebhookAndDeliveries(trx, webhook.id, now)
    await recordAudit(trx, context, 'webhook.deleted', `webhook ${webhook.id}`)
    return respond(204)
  },
})

const rotateWebhookSecretOperation = defineOperation(
  'rotateWebhookSecret',
  'POST /webhooks/{webhookId}/rotate',
  {
    ...webhookByIdOperation,
    summary: 'Rotate the signing secret',
    description:
      'Returns the new secret. It is shown only once. Until the overlap ends, messages are signed with the new and the previous secret. At most two secrets are active: if you rotate again within the overlap, the oldest ends immediately.',
    hasSecretResponse: true,
    body: secretRotationSchema,
    isBodyOptional: true,
    requestHeaders: ifMatchParameter,
    responses: {
      200: {
        description: 'The webhook with its new secret.',
        schema: webhookWithSecretSchema,
        headers: etagHeader,
      },
    },
    errors: [apiErrors.precondition_failed],
    async write({ params, body }, context) {
      const { trx, now, principal } = context
      const webhook = await webhookToChange(trx, params.webhookId)
      requireIfMatch(serializeWebhook(webhook), context)
      requireEventAccess(webhook.events, principal)
      const overlapMs = (body.overlapSeconds ?? secretOverlapSecondsDefault) * 1000
      const rotated = await rotateWebhookSecret(trx, webhook, now + overlapMs)
      await recordAudit(trx, context, 'webhook.rotated', `webhook ${webhook.id}`)
      return respondWithSecret(200, rotated)
    },
  },
)

export const webhookRoutes = (options: WebhookRoutesOptions): Operation[] => [
  listWebhooksOperation,
  createWebhookOperation(options),
  getWebhookOperation,
  updateWebhookOperation(options),
  deleteWebhookOperation,
  rotateWebhookSecretOperation,
  ...deliveryRoutes,
]

/**
 * The event types whose pending deliveries an update makes fail: those that it removes. A retry by hand can also queue one of
 * a type that was removed earlier. If it is a key event, it must not go to a new URL that a caller without access sets.
 */
function typesToFail(before: Webhook, after: Webhook, { scopes }: Principal): string[] {
  const isRedirected = before.url !== after.url && !scopes.has(privateEventsScope)
  const earlier = isRedirected ? eventTypes.filter(isPrivateEvent) : []
  return [...new Set([...before.events, ...earlier])].filter((type) => !after.events.includes(type))
}

/** What an update has changed. */
function changesOf(before: Webhook, after: Webhook): AuditAction[] {
  const isUpdated = before.url !== after.url || !isDeepStrictEqual(before.events, after.events)
  const statusAction = after.status === 'paused' ? 'webhook.paused' : 'webhook.resumed'
  return [
    ...(isUpdated ? ['webhook.updated' as const] : []),
    ...(before.status === after.status ? [] : [statusAction as AuditAction]),
  ]
}

const allowHint = 'the operator can allow others with PETSTORE_WEBHOOK_ALLOW'

/** Rejects what can be rejected without DNS. The addresses of a host name are checked at every connection. */
function validateUrl(url: string, allowed: BlockList): void {
  const { protocol, hostname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const addresses = isLocalhost(host) ? loopbackAddresses : isIP(host) ? [host] : []
  if (addresses.some((address) => isAllowedAddress(address, allowed))) return
  if (protocol !== 'https:')
    throw validationFailed([{ path: '/url', message: `must be an https address (${allowHint})` }])
  if (addresses.length > 0 && !addresses.every(isPublicAddress))
    throw validationFailed([{ path: '/url', message: `is not on the public internet (${allowHint})` }])
}
