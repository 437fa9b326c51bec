import { optionalTimestamp, timestamp } from '../clock.ts'
import type { Delivery, Webhook } from './webhook.ts'

/** A webhook without its secret. Undefined fields are left out of the JSON. */
export const serializeWebhook = ({ id, url, events, status, statusReason, createdAt }: Webhook) => ({
  id,
  url,
  events,
  status,
  statusReason,
  createdAt: timestamp(createdAt),
})

export const serializeDelivery = (delivery: Delivery) => ({
  id: delivery.id,
  eventId: delivery.eventId,
  eventType: delivery.eventType,
  status: delivery.status,
  attempts: delivery.attempts,
  nextAttemptAt: optionalTimestamp(delivery.nextAttemptAt),
  lastStatus: delivery.lastStatus,
  lastError: delivery.lastError,
  createdAt: timestamp(delivery.createdAt),
  finishedAt: optionalTimestamp(delivery.finishedAt),
})
