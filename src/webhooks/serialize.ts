import { optionalTimestamp, timestamp } from '../clock.ts'
import type { Delivery } from './deliveries.ts'
import type { Webhook } from './queries.ts'

/** For responses. Undefined fields are left out of the JSON. */
export const serializeWebhook = (webhook: Webhook) => ({
  id: webhook.id,
  url: webhook.url,
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
  attempts: delivery.attempts,
  nextAttemptAt: optionalTimestamp(delivery.next_attempt_at),
  lastStatus: delivery.last_status ?? undefined,
  lastError: delivery.last_error ?? undefined,
  createdAt: timestamp(delivery.created_at),
  finishedAt: optionalTimestamp(delivery.finished_at),
})
