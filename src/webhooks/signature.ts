import { Webhook as Signer } from 'standardwebhooks'
import { timestamp } from '../clock.ts'
import type { ClaimedDelivery } from './attempts.ts'
import { messageId } from './webhook.ts'

/** The body and headers of a message as Standard Webhooks defines them, with one signature per secret. */
export function signedMessage({ delivery, secrets }: ClaimedDelivery, now: number) {
  const { event_type, event_at, data } = delivery
  const body = `{"type":"${event_type}","timestamp":"${timestamp(event_at)}","data":${data}}`
  const id = messageId(delivery.id, delivery.event_id)
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'Petstore-Webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': secrets.map((secret) => new Signer(secret).sign(id, new Date(now), body)).join(' '),
  }
  return { body, headers }
}
