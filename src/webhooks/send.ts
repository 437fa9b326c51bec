import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type BlockList, isIP, type LookupFunction } from 'node:net'
import { isAllowedAddress, isPublicAddress } from './addresses.ts'
import { ResolveError, resolveHost } from './resolve.ts'
import { attemptTimeoutMs } from './webhook.ts'

/** Of a name with more addresses than this the first are tried; all of them are checked. */
const addressesTriedMax = 16

export type AttemptOutcome = { status: number } | { error: string }

export type SendOptions = {
  /** Addresses beyond the public internet's that the operator allows. */
  readonly allowed: BlockList
  /** DNS servers in place of the system's, as `dns.Resolver` takes them. */
  readonly nameServers?: readonly string[] | undefined
  readonly timeoutMs?: number
  /** Breaks the attempt off. */
  readonly signal?: AbortSignal
}

/**
 * Sends one signed message. The address that is connected to is the one that was checked: the check sits in the look-up
 * of the connection itself, so a name that changes its mind in between changes nothing. Redirects are not followed.
 */
export function send(
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
  if (isIP(host) !== 0 && !mayConnect(host)) return Promise.resolve({ error: addressNotAllowed })

  const ended = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])])
  const resolveAndCheck = async (name: string) => {
    const addresses = await resolveHost(name, { nameServers, signal: ended })
    if (!addresses.every(({ address }) => mayConnect(address))) throw new ResolveError(addressNotAllowed)
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

  return new Promise((settle) => {
    const outgoing = (isHttps ? httpsRequest : httpRequest)(target, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': String(Buffer.byteLength(body)) },
      lookup,
      agent: false,
      signal: ended,
    })
    outgoing.on('response', (incoming) => {
      // The status says it all; whatever follows is not read.
      settle({ status: incoming.statusCode ?? 0 })
      incoming.destroy()
    })
    outgoing.on('error', (error) => settle({ error: reasonOf(error, timeoutMs) }))
    // Whatever else an endpoint does, such as wanting another protocol, ends here: no attempt goes on for ever.
    outgoing.on('close', () => settle({ error: 'The endpoint did not answer in HTTP.' }))
    outgoing.end(body)
  })
}

export const addressNotAllowed =
  'The address is not on the public internet, and the operator has not allowed it.'

function reasonOf(error: Error, timeoutMs: number): string {
  if (error.name === 'AbortError' || error.name === 'TimeoutError')
    return `No answer within ${timeoutMs / 1000} seconds.`
  if (error instanceof ResolveError) return error.message
  return `The connection failed (${(error as NodeJS.ErrnoException).code ?? error.name}).`
}
