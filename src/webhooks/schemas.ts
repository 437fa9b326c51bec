import * as z from 'zod'
import { defineErrors } from '../api/errors.ts'
import { pageSchema } from '../api/pagination.ts'
import { int64, int64Text, integer, optionalText, timestampSchema } from '../api/validation.ts'
import { optionalTimestamp, timestamp } from '../clock.ts'
import { eventTypes } from '../events/event.ts'
import { eventTypeSchema, knownEventTypeSchema } from '../events/schemas.ts'
import type { Delivery } from './deliveries.ts'
import type { Webhook } from './queries.ts'
import { normalizeUrl, testEventType, urlLengthMax, urlProblem, webhookStatuses } from './webhook.ts'

export const webhookErrors = defineErrors({
  webhook_not_found: [404, 'There is no webhook with this id. GET /webhooks lists the existing ones.'],
  webhook_disabled: [
    409,
    'The service has disabled this webhook, so nothing is sent to it. Its "statusReason" says why. Enable it first: PATCH /webhooks/{webhookId} with {"status": "enabled"}.',
  ],
})

const overlapSecondsMax = 30 * 24 * 60 * 60
export const secretOverlapSecondsDefault = 24 * 60 * 60

const urlSchema = { format: 'uri', maxLength: urlLengthMax }
const webhookUrl = z.string().meta({ ...urlSchema, description: 'The URL that messages are sent to.' })
const newUrl = z
  .string()
  .superRefine((text, context) => {
    const message = urlProblem(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
  .transform(normalizeUrl)
  .meta({
    ...urlSchema,
    pattern: '^https?://\\S+$',
    description:
      'The URL that messages are sent to: https, on the public internet, without credentials and without a fragment. The operator can allow IP addresses outside the public internet, which can also use http. The service normalizes the URL as browsers do (WHATWG URL), for example to a host name in lower case.',
  })
const webhookExample = {
  id: 4,
  url: 'https://shelter.example/hooks/petstore',
  events: ['pet.updated', 'order.placed'],
  status: 'enabled',
  createdAt: '2026-11-15T12:00:00.000Z',
}
const types = z
  .array(knownEventTypeSchema)
  .min(1)
  .max(eventTypes.length)
  .transform((list) => [...new Set(list)])
  .meta({
    description:
      'The event types to send. Repeated ones are stored once. Key events require the scope `keys:manage`.',
  })

export const newWebhookSchema = z.object({ url: newUrl, events: types }).meta({
  id: 'NewWebhook',
  description: 'A webhook to register.',
  examples: [{ url: webhookExample.url, events: webhookExample.events }],
})
export const webhookUpdateSchema = z
  .object({ ...newWebhookSchema.partial().shape, status: z.enum(['enabled', 'paused']).optional() })
  .meta({
    id: 'WebhookChange',
    description: 'The fields to change. Omitted fields keep their values.',
    examples: [{ status: 'paused' }],
  })
const webhookStatus = z.enum(webhookStatuses).meta({
  id: 'WebhookStatus',
  description:
    '`enabled`: messages are sent. `paused` by you: messages are queued. `disabled` by the service: nothing is sent until you enable it.',
})
const deliveryStatus = z.enum(['pending', 'delivered', 'failed']).meta({
  id: 'DeliveryStatus',
  description: '`pending` until an attempt succeeds or the last retry fails.',
})
export const webhookSchema = z
  .object({
    id: int64().meta({ description: 'Assigned by the service.' }),
    url: webhookUrl,
    events: z.array(eventTypeSchema).meta({ description: 'The event types that are sent.' }),
    status: webhookStatus,
    statusReason: optionalText('Why the service disabled the webhook.'),
    createdAt: timestampSchema('When the webhook was registered.'),
  })
  .meta({
    id: 'Webhook',
    description: 'A registered endpoint that receives events.',
    examples: [webhookExample],
  })
export const webhookListSchema = pageSchema(webhookSchema, 'WebhookList', 'webhooks, newest first')
const webhookSecret = z
  .object({
    secret: z
      .string()
      .meta({ description: 'The secret that messages are signed with. It is shown only once.' }),
  })
  .meta({ id: 'WebhookSecret', description: 'The signing secret of a webhook.' })
export const webhookWithSecretSchema = z.intersection(webhookSchema, webhookSecret).meta({
  id: 'WebhookWithSecret',
  description: 'A webhook with its signing secret.',
  examples: [{ ...webhookExample, secret: 'whsec_<44 characters of base64>' }],
})
export const secretRotationSchema = z
  .object({ overlapSeconds: integer(0, overlapSecondsMax).optional() })
  .meta({
    id: 'SecretRotation',
    description: 'How long messages are signed with both secrets. The default is one day.',
    examples: [{ overlapSeconds: 3600 }],
  })
const deliveryExample = {
  id: 32,
  eventType: testEventType,
  status: 'pending',
  attempts: 0,
  createdAt: '2026-11-15T12:00:00.000Z',
}
export const deliverySchema = z
  .object({
    id: int64().meta({ description: 'Assigned by the service.' }),
    eventId: int64().optional().meta({ description: 'The event. Absent for a test message.' }),
    eventType: eventTypeSchema.meta({ description: 'The event type. `webhook.test` for a test message.' }),
    status: deliveryStatus,
    attempts: z.int().meta({
      minimum: 0,
      format: 'int32',
      description: 'The number of attempts so far, including those before and after a retry by hand.',
    }),
    nextAttemptAt: timestampSchema('When the next attempt is due.').optional(),
    lastStatus: z
      .int()
      .optional()
      .meta({ minimum: 0, maximum: 999, description: 'The HTTP status of the last response.' }),
    lastError: optionalText('Why the last attempt failed.'),
    createdAt: timestampSchema('When the message was queued.'),
    finishedAt: timestampSchema('When the message was delivered or the last retry failed.').optional(),
  })
  .meta({
    id: 'Delivery',
    description: 'A message to one webhook and the state of its delivery.',
    examples: [deliveryExample],
  })
export const deliveryListSchema = pageSchema(deliverySchema, 'Deliveries', 'deliveries, newest first')

const webhookId = int64Text().meta({ description: 'The identifier of the webhook.' })
const deliveryParams = z.object({
  webhookId,
  deliveryId: int64Text().meta({ description: 'The identifier of the delivery.' }),
})

export const webhookOperation = {
  tag: 'Webhooks',
  scope: 'webhooks:manage',
  stability: 'experimental',
} as const
export const webhookByIdOperation = {
  ...webhookOperation,
  params: z.object({ webhookId }),
  notFound: webhookErrors.webhook_not_found,
} as const
export const deliveryByIdOperation = { ...webhookByIdOperation, params: deliveryParams } as const

/** For responses. Undefined fields are left out of the JSON. */
export const serializeWebhook = (webhook: Webhook) => ({
  id: webhook.id,
  // Version 1.3.0 stored URLs as they were sent.
  url: normalizeUrl(webhook.url),
  events: webhook.events,
  status: webhook.status,
  statusReason: webhook.status_reason ?? undefined,
  createdAt: timestamp(webhook.created_at),
})

export const serializeDelivery = (delivery: Delivery) => ({
  id: delivery.id,
  eventId: delivery.event_id ?? undefined,
  eventType: delivery.event_type,
  status: delivery.status,
  attempts: delivery.earlier_attempts + delivery.attempts,
  nextAttemptAt: optionalTimestamp(delivery.next_attempt_at),
  lastStatus: delivery.last_status ?? undefined,
  lastError: delivery.last_error ?? undefined,
  createdAt: timestamp(delivery.created_at),
  finishedAt: optionalTimestamp(delivery.finished_at),
})
