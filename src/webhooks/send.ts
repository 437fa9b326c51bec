import { request as httpsRequest } from 'node:https'
import { type BlockList, isIP, type LookupFunction } from 'node:net'
import { Webhook as Signer } from 'standardwebhooks'
import { timestamp } from '../clock.ts'
import { http } from '../nodeHttp.ts'
import { isAllowedAddress, isPublicAddress } from './addresses.ts'
import type { ClaimedDelivery } from './attempts.ts'
import { ResolveError, resolveHost } from './resolveHost.ts'
import { type AttemptOutcome, attemptTimeoutMs, messageId } from './webhook.ts'

/** All addresses of a host are checked, and this many are tried. */
const addressesTriedMax = 16

export type SendOptions = {
  /** Networks outside the public internet that the operator allows. */
  readonly allowed: BlockList
  /** DNS servers to use instead of the system's, in the format of `dns.Resolver`. */
  readonly nameServers?: readonly string[] | undefined
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
 * Sends one message. Addresses are checked in the `lookup` of the connection, so the address that was checked is the one
 * that is connected to, even if DNS changes in between. Redirects are not followed.
 */
export function sendMessage(
  url: string,
  body: string,
  headers: Record<string, string>,
  { allowed, nameServers, timeoutMs = attemptTimeoutMs, signal }: SendOptions,
): Promise<AttemptOutcome> {
  const target = new URL(url)
  const isHttps = target.protocol === 'https:'
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const mayConnect = (address: string) =>
    (isHttps && isPublicAddress(address)) || isAllowedAddress(address, allowed)
  if (isIP(host) !== 0 && !mayConnect(host)) return Promise.resolve({ error: addressNotAllowedMessage })

  const ended = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])])
  const resolveAndCheck = async (name: string) => {
    const addresses = await resolveHost(name, ended, nameServers)
    if (!addresses.every(({ address }) => mayConnect(address)))
      throw new ResolveError(addressNotAllowedMessage)
    return addresses.slice(0, addressesTriedMax)
  }
  const lookup: LookupFunction = (name, { all }, callback) => {
    resolveAndCheck(name).then(
      (addresses) => {
        if (all) callback(null, addresses)
        else callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
      },
      (error) => callback(error, ''),
    )
  }

  return new Promise((resolve) => {
    const outgoing = (isHttps ? httpsRequest : http.request)(target, {
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
    outgoing.on('error', (error) => resolve({ error: reasonOf(error, timeoutMs) }))
    // Reached without a response or an error if the endpoint switches protocols, for example.
    outgoing.on('close', () => resolve({ error: 'The endpoint did not send an HTTP response.' }))
    outgoing.end(body)
  })
}

export const addressNotAllowedMessage =
  'The address is not on the public internet. The operator can allow it with PETSTORE_WEBHOOK_ALLOW.'

function reasonOf(error: Error, timeoutMs: number): string {
  if (error.name === 'AbortError' || error.name === 'TimeoutError')
    return `No response within ${timeoutMs / 1000} seconds.`
  if (error instanceof ResolveError) return error.message
  return `The connection failed (${(error as NodeJS.ErrnoException).code ?? error.name}).`
}
