import { randomBytes } from 'node:crypto'

/** Webhooks and their rules, without HTTP and SQL. */

export const webhookStatuses = ['enabled', 'paused', 'disabled'] as const
/** Events are queued for webhooks with these statuses. */
export const activeStatuses = ['enabled', 'paused'] as const
/** In the database only: the webhook has been deleted, and its deliveries are being deleted. */
export const deletedStatus = 'deleted'

export const testEventType = 'webhook.test'

/** The response status of an attempt, or why there was none. */
export type AttemptOutcome = { status: number } | { error: string }

/** The endpoint wants no more messages. */
export const goneStatus = 410

export const isDelivered = (outcome: AttemptOutcome): boolean =>
  'status' in outcome && outcome.status >= 200 && outcome.status < 300

export const webhooksMax = 1_000
export const attemptTimeoutMs = 15_000

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
/** The delay after each failed attempt. When the last retry fails, the webhook is disabled. */
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
/** Spreads out retries of attempts that failed at the same time. */
const jitterShare = 0.1

/** When to retry after this many failed attempts; undefined after the last one. */
export function nextAttemptAt(attempts: number, now: number, random: number): number | undefined {
  const delay = retryDelaysMs[attempts - 1]
  return delay === undefined ? undefined : now + Math.round(delay * (1 + jitterShare * random))
}

/** Labels of at most 63 characters that neither begin nor end with a hyphen, or an address. */
const hostPattern = /^(?:(?:(?!-)[\w-]{1,63}(?<!-)\.)*(?!-)[\w-]{1,63}(?<!-)\.?|\[.*\])$/
const hostLengthMax = 253

export const urlLengthMax = 2_048
/** RFC 3986. The URL parser leaves some characters as they are that do not belong into a URI. */
const pathPattern = /^(?:[\w\-.~!$&'()*+,;=:@/?]|%[\da-f]{2})*$/i

/** Why no message can be sent to a URL, by any instance. */
export function urlProblem(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || Math.max(text.length, url.href.length) > urlLengthMax)
    return `must be an absolute URL of at most ${urlLengthMax} characters`
  if (!/^https?:$/.test(url.protocol)) return 'must be an https address'
  if (url.username !== '' || url.password !== '') return 'must not contain credentials'
  if (url.href.includes('#')) return 'must not contain a fragment ("#")'
  if (url.port === '0') return 'must not have the port 0'
  if (!hostPattern.test(url.hostname) || url.hostname.length > hostLengthMax)
    return 'must have an IP address, or a host name of letters, digits, hyphens and dots'
  if (!pathPattern.test(url.pathname + url.search))
    return 'has a character that must be percent-encoded, such as "[", "|", "^", "{", or a "%" without two hexadecimal digits after it'
  return undefined
}

/** The URL as it is sent to (WHATWG URL). */
export const normalizeUrl = (url: string): string => new URL(url).href

/** Standard Webhooks: `whsec_` and base64 of 24 to 64 random bytes. */
export const generateWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** The same for every attempt, so that a receiver can recognize duplicates. */
export const messageId = (deliveryId: number, eventId: number | null): string =>
  eventId === null ? `msg_test_${deliveryId}` : `msg_${eventId}`
