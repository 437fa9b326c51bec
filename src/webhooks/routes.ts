import { type BlockList, isIP } from 'node:net'
import * as z from 'zod'
import { timestamp } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { eventTypes } from '../events/event.ts'
import { lastEventId } from '../events/queries.ts'
import { ApiError, validationFailed } from '../http/errors.ts'
import { type Answer, answer, type Caller, type Operation, operation } from '../http/operation.ts'
import { idCursor, openCursor, pageAnswer, sealCursor } from '../http/paging.ts'
import { int64Text, integer, pageLimit } from '../http/validation.ts'
import { isAllowed, isGlobal } from './addresses.ts'
import {
  addTestDelivery,
  addWebhook,
  changeWebhook,
  countWebhooks,
  findDelivery,
  findWebhook,
  listDeliveries,
  listWebhooks,
  removeWebhook,
  restartWebhook,
  retryDelivery,
  rotateSecret,
  setWebhookStatus,
} from './queries.ts'
import { refusedAddress } from './send.ts'
import {
  type Delivery,
  urlLengthMax,
  type Webhook,
  wantsPrivate,
  webhookStatuses,
  webhooksMax,
} from './webhook.ts'

const overlapSecondsMax = 30 * 24 * 60 * 60
const overlapSecondsDefault = 24 * 60 * 60

const time = z.iso.datetime()
const webhookUrl = z
  .string()
  .refine((text) => text.length <= urlLengthMax && URL.canParse(text), 'must be an absolute address')
  .refine(
    (text) => !URL.canParse(text) || /^https?:$/.test(new URL(text).protocol),
    'must be an https address',
  )
  .refine((text) => !URL.canParse(text) || new URL(text).username === '', 'must not hold credentials')
  .meta({ format: 'uri', maxLength: urlLengthMax, description: 'Where messages are sent: https.' })
const types = z
  .array(z.enum(eventTypes))
  .min(1)
  .max(eventTypes.length)
  .meta({ description: 'The events it is told of. Events of keys need the scope `keys:manage`.' })

const newWebhook = z
  .object({ url: webhookUrl, events: types })
  .meta({ id: 'NewWebhook', description: 'An endpoint to tell of events.' })
const webhookChange = z
  .object({
    url: webhookUrl.optional(),
    events: types.optional(),
    status: z.enum(['enabled', 'paused']).optional(),
  })
  .meta({ id: 'WebhookChange', description: 'What is to change; what is left out stays.' })
const shownFields = {
  id: z.int().meta({ description: 'Assigned by the service.' }),
  url: webhookUrl,
  events: types,
  status: z.enum(webhookStatuses).meta({
    description:
      '`paused` by you: messages wait. `disabled` by the service: nothing is sent until you enable it.',
  }),
  statusReason: z.string().optional().meta({ description: 'Why it was disabled.' }),
  createdAt: time,
}
const shownWebhook = z
  .object(shownFields)
  .meta({ id: 'Webhook', description: 'An endpoint that is told of events.' })
const shownWebhooks = z
  .array(shownWebhook)
  .meta({ id: 'Webhooks', description: 'One page of webhooks, newest first.' })
const webhookWithSecret = z
  .object({
    ...shownFields,
    secret: z.string().meta({ description: 'What messages are signed with. Shown this once.' }),
  })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with its signing secret.' })
const secretRotation = z.object({ overlapSeconds: integer(0, overlapSecondsMax).optional() }).meta({
  id: 'SecretRotation',
  description: 'How long messages are signed with both secrets; a day unless given.',
})
const shownDelivery = z
  .object({
    id: z.int(),
    eventId: z.int().optional().meta({ description: 'The event; none for a test.' }),
    eventType: z.string(),
    status: z.enum(['pending', 'delivered', 'failed']),
    attempts: z.int().meta({ description: 'How often it was tried.' }),
    nextAttemptAt: time.optional(),
    lastStatus: z.int().optional().meta({ description: "The endpoint's last answer." }),
    lastError: z.string().optional(),
    createdAt: time,
    finishedAt: time.optional(),
  })
  .meta({ id: 'Delivery', description: 'One message on its way to one endpoint.' })
const shownDeliveries = z
  .array(shownDelivery)
  .meta({ id: 'Deliveries', description: 'One page of deliveries, newest first.' })

const example = {
  id: 4,
  url: 'https://shelter.example/hooks/petstore',
  events: ['pet.updated', 'order.placed'],
  status: 'enabled',
  createdAt: '2026-11-15T12:00:00.000Z',
}
const exampleWithSecret = { ...example, secret: 'whsec_<44 characters of base64>' }
const deliveryExample = {
  id: 31,
  eventId: 1017,
  eventType: 'pet.updated',
  status: 'delivered',
  attempts: 1,
  lastStatus: 204,
  createdAt: '2026-11-15T12:00:00.000Z',
  finishedAt: '2026-11-15T12:00:00.180Z',
}
const webhookId = int64Text().meta({ description: 'The identifier of the webhook.' })
const params = z.object({ webhookId })
const deliveryParams = z.object({
  webhookId,
  deliveryId: int64Text().meta({ description: 'The identifier of the delivery.' }),
})
const page = {
  limit: pageLimit().meta({ description: 'How many a page has at the most.' }),
  cursor: z.string().optional().meta({ description: 'From the `Link` header of the page before.' }),
}

export type WebhookRoutesOptions = { database: Database; allowed: BlockList; publicUrl: string | undefined }

export function webhookRoutes({ database, allowed, publicUrl }: WebhookRoutesOptions): Operation[] {
  const common = { tag: 'Webhooks', scope: 'webhooks:manage', stability: 'experimental' } as const
  const one = { ...common, params, notFound: 'webhook_not_found' } as const
  const oneDelivery = { ...common, params: deliveryParams, notFound: 'webhook_not_found' } as const

  /** What can be said of an address without looking a name up; the rest is checked at every connection. */
  function checkUrl(url: string): void {
    const { protocol, hostname } = new URL(url)
    const host = hostname.replace(/^\[|\]$/g, '')
    const isNamed = isIP(host) !== 0 && isAllowed(host, allowed)
    if (isNamed) return
    if (protocol !== 'https:') throw validationFailed([{ path: '/url', message: 'must be an https address' }])
    if (isIP(host) !== 0 && !isGlobal(host))
      throw validationFailed([{ path: '/url', message: `is refused. ${refusedAddress}` }])
  }

  return [
    operation({
      ...common,
      id: 'listWebhooks',
      method: 'GET',
      path: '/webhooks',
      summary: 'List webhooks',
      query: z.object(page),
      answers: {
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
        return pageAnswer(found, shown, {
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
      hasSecretAnswer: true,
      body: newWebhook,
      bodyExample: { url: example.url, events: example.events },
      answers: {
        201: {
          description: 'The webhook is registered.',
          schema: webhookWithSecret,
          headers: { Location: 'Where the webhook is.' },
          example: exampleWithSecret,
        },
      },
      errors: ['malformed_json', 'validation_failed'],
      async write({ body }, { trx, now, caller }) {
        checkUrl(body.url)
        checkEvents(body.events, caller)
        if ((await countWebhooks(trx)) >= webhooksMax) {
          throw validationFailed([
            { path: '', message: `would be one webhook more than the ${webhooksMax} that are possible` },
          ])
        }
        const { webhook, secret } = await addWebhook(trx, body, await lastEventId(trx), now)
        return answer(
          201,
          { ...shown(webhook), secret },
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
      answers: { 200: { description: 'The webhook.', schema: shownWebhook, example } },
      errors: ['webhook_not_found'],
      async read({ params: { webhookId: id } }) {
        return answer(200, shown(present(await findWebhook(database.read, Number(id)))))
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
      answers: {
        200: {
          description: 'The webhook after the change.',
          schema: shownWebhook,
          example: { ...example, status: 'paused' },
        },
      },
      errors: ['malformed_json', 'validation_failed', 'webhook_not_found'],
      async write({ params: { webhookId: id }, body }, { trx, caller }) {
        const found = present(await findWebhook(trx, Number(id)))
        if (body.url !== undefined) checkUrl(body.url)
        if (body.events !== undefined) checkEvents(body.events, caller)
        await changeWebhook(trx, found.id, {
          url: body.url ?? found.url,
          events: body.events ?? found.events,
        })
        if (body.status === 'enabled' && found.status === 'disabled')
          await restartWebhook(trx, found.id, await lastEventId(trx))
        else if (body.status !== undefined) await setWebhookStatus(trx, found.id, body.status)
        return answer(200, shown(present(await findWebhook(trx, found.id))))
      },
    }),

    operation({
      ...one,
      id: 'deleteWebhook',
      method: 'DELETE',
      path: '/webhooks/{webhookId}',
      summary: 'Remove a webhook',
      answers: { 204: { description: 'The webhook is removed, with its deliveries.' } },
      errors: ['webhook_not_found'],
      async write({ params: { webhookId: id } }, { trx }): Promise<Answer> {
        await removeWebhook(trx, present(await findWebhook(trx, Number(id))).id)
        return { status: 204 }
      },
    }),

    operation({
      ...one,
      id: 'rotateWebhookSecret',
      method: 'POST',
      path: '/webhooks/{webhookId}/rotate',
      summary: 'Rotate the signing secret',
      description: 'Answers the new secret, once. Until the overlap ends, messages are signed with both.',
      hasSecretAnswer: true,
      body: secretRotation,
      isBodyOptional: true,
      bodyExample: { overlapSeconds: 3600 },
      answers: {
        200: {
          description: 'The webhook with its new secret.',
          schema: webhookWithSecret,
          example: exampleWithSecret,
        },
      },
      errors: ['malformed_json', 'validation_failed', 'webhook_not_found'],
      async write({ params: { webhookId: id }, body }, { trx, now }) {
        const found = present(await findWebhook(trx, Number(id)))
        const secret = await rotateSecret(
          trx,
          found.id,
          (body.overlapSeconds ?? overlapSecondsDefault) * 1000,
          now,
        )
        return answer(200, { ...shown(found), secret })
      },
    }),

    operation({
      ...one,
      id: 'testWebhook',
      method: 'POST',
      path: '/webhooks/{webhookId}/test',
      summary: 'Send a test message',
      description: 'Queues a message of the type `webhook.test`; the deliveries show how it went.',
      answers: {
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
        return answer(202, shownAttempts(await addTestDelivery(trx, found.id, now)))
      },
    }),

    operation({
      ...one,
      id: 'listDeliveries',
      method: 'GET',
      path: '/webhooks/{webhookId}/deliveries',
      summary: 'List deliveries',
      description: 'Kept 30 days after they ended.',
      query: z.object(page),
      answers: {
        200: {
          description: 'One page of deliveries, newest first.',
          schema: shownDeliveries,
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`; absent on the last page.' },
          example: [deliveryExample],
        },
      },
      errors: ['validation_failed', 'invalid_cursor', 'webhook_not_found'],
      async read({ params: { webhookId: id }, query: { limit, cursor } }) {
        const found = present(await findWebhook(database.read, Number(id)))
        const kind = `deliveries ${found.id}`
        const belowId = cursor === undefined ? undefined : openCursor(kind, idCursor, cursor)[0]
        const deliveries = await listDeliveries(database.read, found.id, limit + 1, belowId)
        return pageAnswer(deliveries, shownAttempts, {
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
      answers: {
        202: {
          description: 'It is queued again.',
          schema: shownDelivery,
          example: { ...deliveryExample, status: 'pending', finishedAt: undefined },
        },
      },
      errors: ['webhook_not_found'],
      async write({ params: { webhookId: id, deliveryId } }, { trx, now }) {
        const found = present(await findDelivery(trx, Number(id), Number(deliveryId)))
        await retryDelivery(trx, found.id, now)
        return answer(202, shownAttempts(present(await findDelivery(trx, found.webhookId, found.id))))
      },
    }),
  ]
}

function present<T>(found: T | undefined): T {
  if (found === undefined) throw new ApiError('webhook_not_found')
  return found
}

function checkEvents(events: Webhook['events'], caller: Caller): void {
  if (wantsPrivate(events) && !caller.scopes.has('keys:manage')) {
    throw new ApiError(
      'insufficient_scope',
      'This API key lacks the scope "keys:manage", which events of keys need.',
    )
  }
}

const shown = ({ id, url, events, status, statusReason, createdAt }: Webhook) => ({
  id,
  url,
  events,
  status,
  ...(statusReason !== undefined && { statusReason }),
  createdAt: timestamp(createdAt),
})

const shownAttempts = (delivery: Delivery) => ({
  id: delivery.id,
  ...(delivery.eventId !== undefined && { eventId: delivery.eventId }),
  eventType: delivery.eventType,
  status: delivery.status,
  attempts: delivery.attempts,
  ...(delivery.nextAttemptAt !== undefined && { nextAttemptAt: timestamp(delivery.nextAttemptAt) }),
  ...(delivery.lastStatus !== undefined && { lastStatus: delivery.lastStatus }),
  ...(delivery.lastError !== undefined && { lastError: delivery.lastError }),
  createdAt: timestamp(delivery.createdAt),
  ...(delivery.finishedAt !== undefined && { finishedAt: timestamp(delivery.finishedAt) }),
})
