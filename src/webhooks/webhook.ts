import { randomBytes } from 'node:crypto'
import { type EventType, isPrivateEvent } from '../events/event.ts'

/** A webhook and its rules. Nothing here knows of HTTP or SQL. */

export const webhookStatuses = ['enabled', 'paused', 'disabled'] as const
export type WebhookStatus = (typeof webhookStatuses)[number]

export const testEvent = 'webhook.test'

export type Webhook = {
  id: number
  url: string
  events: readonly EventType[]
  status: WebhookStatus
  /** Why it was disabled. */
  statusReason: string | undefined
  createdAt: number
}

export type Delivery = {
  id: number
  webhookId: number
  eventId: number | undefined
  eventType: string
  eventAt: number
  data: string
  status: 'pending' | 'delivered' | 'failed'
  attempts: number
  nextAttemptAt: number | undefined
  lastStatus: number | undefined
  lastError: string | undefined
  createdAt: number
  finishedAt: number | undefined
}

export const urlLengthMax = 2_048
export const webhooksMax = 1_000
export const attemptTimeoutMs = 15_000

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
/** How long after each failed attempt the next one comes; after the last the endpoint is disabled. */
export const retryDelaysMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const
/** Up to a tenth more, so that what failed together does not come back together. */
const jitterShare = 0.1

/** When to try again after this many attempts have failed; undefined when it was the last. */
export function nextAttemptAt(attempts: number, now: number, random: number): number | undefined {
  const delay = retryDelaysMs[attempts - 1]
  return delay === undefined ? undefined : now + Math.round(delay * (1 + jitterShare * random))
}

/** Standard Webhooks: `whsec_` and base64 of 24 to 64 random bytes. */
export const makeSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** The same for every attempt, so that a receiver can tell a repetition. */
export const messageId = ({ id, eventId }: Pick<Delivery, 'id' | 'eventId'>): string =>
  eventId === undefined ? `msg_test_${id}` : `msg_${eventId}`

export const wantsPrivate = (events: readonly string[]): boolean => events.some(isPrivateEvent)
