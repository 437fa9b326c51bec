import * as z from 'zod'
import { eventTypes } from '../events/event.ts'
import { int64Text, integer, pageLimit } from '../http/validation.ts'
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
  .meta({ format: 'uri', maxLength: urlLengthMax, description: 'Where messages are sent: https.' })
const types = z
  .array(z.enum(eventTypes))
  .min(1)
  .max(eventTypes.length)
  .meta({ description: 'The events it is told of. Events of keys need the scope `keys:manage`.' })

export const newWebhook = z
  .object({ url: webhookUrl, events: types })
  .meta({ id: 'NewWebhook', description: 'An endpoint to tell of events.' })
export const webhookChange = z
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
export const shownWebhook = z
  .object(shownFields)
  .meta({ id: 'Webhook', description: 'An endpoint that is told of events.' })
export const shownWebhooks = z
  .array(shownWebhook)
  .meta({ id: 'Webhooks', description: 'One page of webhooks, newest first.' })
export const webhookWithSecret = z
  .object({
    ...shownFields,
    secret: z.string().meta({ description: 'What messages are signed with. Shown this once.' }),
  })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with its signing secret.' })
export const secretRotation = z.object({ overlapSeconds: integer(0, overlapSecondsMax).optional() }).meta({
  id: 'SecretRotation',
  description: 'How long messages are signed with both secrets; a day unless given.',
})
export const shownDelivery = z
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
export const deliveryParams = z.object({
  webhookId,
  deliveryId: int64Text().meta({ description: 'The identifier of the delivery.' }),
})
export const page = {
  limit: pageLimit().meta({ description: 'How many a page has at the most.' }),
  cursor: z.string().optional().meta({ description: 'From the `Link` header of the page before.' }),
}

/** What every operation here has. */
export const common = { tag: 'Webhooks', scope: 'webhooks:manage', stability: 'experimental' } as const
export const one = { ...common, params, notFound: 'webhook_not_found' } as const
export const oneDelivery = { ...one, params: deliveryParams } as const
