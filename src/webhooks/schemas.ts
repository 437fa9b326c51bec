import * as z from 'zod'
import { int64, int64Text, integer, pageCursor, pageLimit } from '../api/validation.ts'
import { eventTypes } from '../events/event.ts'
import { eventTypeSchema, knownEventTypeSchema } from '../events/schemas.ts'
import { urlLengthMax, webhookStatuses } from './webhook.ts'

const overlapSecondsMax = 30 * 24 * 60 * 60
export const overlapSecondsDefault = 24 * 60 * 60

const holdsCredentials = ({ username, password }: URL) => username !== '' || password !== ''

const time = z.iso.datetime()
const webhookUrl = z
  .string()
  .refine((text) => text.length <= urlLengthMax && URL.canParse(text), 'must be an absolute address')
  .refine(
    (text) => !URL.canParse(text) || /^https?:$/.test(new URL(text).protocol),
    'must be an https address',
  )
  .refine((text) => !URL.canParse(text) || !holdsCredentials(new URL(text)), 'must not hold credentials')
  .meta({ format: 'uri', maxLength: urlLengthMax, description: 'Where messages are sent.' })
const newUrl = webhookUrl.meta({
  pattern: '^https://\\S+$',
  description:
    'Where messages are sent: https, on the public internet, without credentials. An operator may allow other addresses.',
})
const types = z.array(knownEventTypeSchema).min(1).max(eventTypes.length).meta({
  description: 'The events to send. Events of keys need the scope `keys:manage`.',
})

export const newWebhook = z
  .object({ url: newUrl, events: types })
  .meta({ id: 'NewWebhook', description: 'An endpoint to tell of events.' })
export const webhookChange = z
  .object({
    url: newUrl.optional(),
    events: types.optional(),
    status: z.enum(['enabled', 'paused']).optional(),
  })
  .meta({ id: 'WebhookChange', description: 'What is to change; what is left out stays.' })
const webhookStatus = z.enum(webhookStatuses).meta({
  id: 'WebhookStatus',
  description:
    '`enabled`: messages are sent. `paused` by you: messages wait. `disabled` by the service: nothing is sent until you enable it.',
})
const deliveryStatus = z.enum(['pending', 'delivered', 'failed']).meta({
  id: 'DeliveryStatus',
  description: '`pending` until an attempt succeeds or the last one fails.',
})
const shownFields = {
  id: int64().meta({ description: 'Assigned by the service.' }),
  url: webhookUrl,
  events: z.array(eventTypeSchema).meta({ description: 'The events that are sent.' }),
  status: webhookStatus,
  statusReason: z.string().optional().meta({ description: 'Why it was disabled.' }),
  createdAt: time.meta({ description: 'When the webhook was registered.' }),
}
export const shownWebhook = z
  .object(shownFields)
  .meta({ id: 'Webhook', description: 'An endpoint that is told of events.' })
export const shownWebhooks = z
  .array(shownWebhook)
  .meta({ id: 'WebhookList', description: 'One page of webhooks, newest first.' })
const webhookSecret = z
  .object({ secret: z.string().meta({ description: 'What messages are signed with. Shown this once.' }) })
  .meta({ id: 'WebhookSecret', description: 'The signing secret of a webhook.' })
export const webhookWithSecret = z
  .intersection(shownWebhook, webhookSecret)
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with its signing secret.' })
export const secretRotation = z.object({ overlapSeconds: integer(0, overlapSecondsMax).optional() }).meta({
  id: 'SecretRotation',
  description: 'How long messages are signed with both secrets; a day unless given.',
})
export const shownDelivery = z
  .object({
    id: int64().meta({ description: 'Assigned by the service.' }),
    eventId: int64().optional().meta({ description: 'The event; absent for a test message.' }),
    eventType: eventTypeSchema.meta({
      description: 'The type of the message; `webhook.test` for a test message.',
    }),
    status: deliveryStatus,
    attempts: z.int().meta({ minimum: 0, format: 'int32', description: 'The number of attempts so far.' }),
    nextAttemptAt: time.optional().meta({ description: 'When the next attempt is made.' }),
    lastStatus: z
      .int()
      .optional()
      .meta({ minimum: 0, maximum: 999, description: 'The HTTP status of the last response.' }),
    lastError: z.string().optional().meta({ description: 'Why the last attempt failed.' }),
    createdAt: time.meta({ description: 'When the message was queued.' }),
    finishedAt: time.optional().meta({ description: 'When it was delivered or failed for good.' }),
  })
  .meta({ id: 'Delivery', description: 'One message on its way to one endpoint.' })
export const shownDeliveries = z
  .array(shownDelivery)
  .meta({ id: 'Deliveries', description: 'One page of deliveries, newest first.' })

export const example = {
  id: 4,
  url: 'https://shelter.example/hooks/petstore',
  events: ['pet.updated', 'order.placed'],
  status: 'enabled',
  createdAt: '2026-11-15T12:00:00.000Z',
}
export const exampleWithSecret = { ...example, secret: 'whsec_<44 characters of base64>' }
export const deliveryExample = {
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
export const params = z.object({ webhookId })
const deliveryParams = z.object({
  webhookId,
  deliveryId: int64Text().meta({ description: 'The identifier of the delivery.' }),
})
export const page = {
  limit: pageLimit(),
  cursor: pageCursor(),
}

/** What every operation here has. */
export const common = { tag: 'Webhooks', scope: 'webhooks:manage', stability: 'experimental' } as const
export const one = { ...common, params, notFound: 'webhook_not_found' } as const
export const oneDelivery = { ...one, params: deliveryParams } as const
