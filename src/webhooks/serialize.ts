import { optionalTimestamp, timestamp } from '../clock.ts'
import type { Delivery, Webhook } from './webhook.ts'

/** For responses. Undefined fields are left out of the JSON. */
export const serializeWebhook = (webhook: Webhook) => ({
  ...webhook,
  createdAt: timestamp(webhook.createdAt),
})

export const serializeDelivery = ({ webhookId: _id, eventAt: _at, data: _data, ...delivery }: Delivery) => ({
  ...delivery,
  nextAttemptAt: optionalTimestamp(delivery.nextAttemptAt),
  createdAt: timestamp(delivery.createdAt),
  finishedAt: optionalTimestamp(delivery.finishedAt),
})
