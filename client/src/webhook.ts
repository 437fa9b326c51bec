import { WebhookVerificationError } from './errors.ts'
import { parseJson } from './json.ts'
import type { WebhookMessage } from './schema.ts'

export type VerifyOptions = {
  /** The maximum difference between the time of the message and now. The default is five minutes. */
  toleranceSeconds?: number | undefined
  /** The time in milliseconds. The default is `Date.now()`. */
  now?: number | undefined
}

type MessageHeaders = Headers | Record<string, string | readonly string[] | undefined>

/**
 * Returns the message of a webhook if its signature is valid and its time is close to now. Otherwise it throws a
 * `WebhookVerificationError`. The payload is the body exactly as it was received.
 */
export async function verifyWebhook(
  payload: string | Uint8Array,
  headers: MessageHeaders,
  secret: string,
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookMessage> {
  const bytes = fromBase64((secret ?? '').replace(/^whsec_/, ''))
  if (!bytes?.length) throw new TypeError('The secret of a webhook is "whsec_" and base64.')
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  if (!/^\d+$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds)
    throw invalid('The message is too old, or from the future.')
  const text = typeof payload === 'string' ? payload : new TextDecoder().decode(payload)
  const content = new TextEncoder().encode(`${id}.${timestamp}.${text}`)
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ])
  for (const signature of signatures.split(' ')) {
    const signed = signature.startsWith('v1,') ? fromBase64(signature.slice(3)) : undefined
    // Web Crypto compares in constant time.
    if (signed && (await crypto.subtle.verify('HMAC', key, signed, content)))
      return parseJson(text) as WebhookMessage
  }
  throw invalid('No signature of the message is valid for this secret.')
}

function headerOf(headers: MessageHeaders, name: string): string {
  const value =
    typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  if (typeof value !== 'string' || value === '') throw invalid(`The header ${name} is missing.`)
  return value
}

const invalid = (message: string) => new WebhookVerificationError('invalid_signature', message)

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
