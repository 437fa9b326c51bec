import { timestamp } from '../clock.ts'
import type { Delivery, Webhook } from './webhook.ts'

/** A webhook as callers see it: without its secret. */
export const serializeWebhook = ({ id, url, events, status, statusReason, createdAt }: Webhook) => ({
  id,
  url,
  events,
  status,
  ...(statusReason !== undefined && { statusReason }),
  createdAt: timestamp(createdAt),
})

export const serializeDelivery = (delivery: Delivery) => ({
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
