import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { Webhook as Signer } from 'standardwebhooks'
import { timestamp } from '../clock.ts'
import { http } from '../nodeHttp.ts'
import type { ClaimedDelivery } from './attempts.ts'
import { type ConnectionOptions, checkedLookup, connectionProblem } from './connection.ts'
import { type AttemptOutcome, attemptTimeoutMs, messageId } from './webhook.ts'

export type SendOptions = ConnectionOptions & {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

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

/**
 * Sends one message. Its addresses are checked in the `lookup` of the connection. Redirects are not followed.
 */
export function sendMessage(
  url: string,
  body: string,
  headers: Record<string, string>,
  { timeoutMs = attemptTimeoutMs, signal, ...connection }: SendOptions,
): Promise<AttemptOutcome> {
  const target = new URL(url)
  const ended = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])])
  let lookup: LookupFunction
  try {
    lookup = checkedLookup(target, connection, ended)
  } catch (error) {
    return Promise.resolve({ error: connectionProblem(error as Error, timeoutMs) })
  }
  return new Promise((resolve) => {
    const outgoing = (target.protocol === 'https:' ? httpsRequest : http.request)(target, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': String(Buffer.byteLength(body)) },
      lookup,
      agent: false,
      signal: ended,
    })
    outgoing.on('response', (incoming) => {
      // The body is not read.
      resolve({ status: incoming.statusCode ?? 0 })
      incoming.destroy()
    })
    outgoing.on('error', (error) => resolve({ error: connectionProblem(error, timeoutMs) }))
    // Reached without a response or an error if the endpoint switches protocols, for example.
    outgoing.on('close', () => resolve({ error: 'The endpoint did not send an HTTP response.' }))
    outgoing.end(body)
  })
}
