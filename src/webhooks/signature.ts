import { Webhook as Signer } from 'standardwebhooks'
import { timestamp } from '../clock.ts'
import type { ClaimedDelivery } from './attempts.ts'
import { messageId } from './webhook.ts'

/** The body and headers of a message as Standard Webhooks defines them, with one signature per secret. */
export function signedMessage({ delivery, secrets }: ClaimedDelivery, now: number) {
  const { eventType, eventAt, data } = delivery
  const body = `{"type":"${eventType}","timestamp":"${timestamp(eventAt)}","data":${data}}`
  const id = messageId(delivery)
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'Petstore-Webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': secrets.map((secret) => new Signer(secret).sign(id, new Date(now), body)).join(' '),
  }
  return { body, headers }
}
