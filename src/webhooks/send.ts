import { lookup as resolve } from 'node:dns'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type BlockList, isIP, type LookupFunction } from 'node:net'
import { isAllowed, isGlobal } from './addresses.ts'
import { attemptTimeoutMs } from './webhook.ts'

export type Outcome = { status: number } | { error: string }

export type SendOptions = {
  /** Addresses beyond the public internet's that the operator allows. */
  readonly allowed: BlockList
  readonly resolver?: typeof resolve
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
  { allowed, resolver = resolve, timeoutMs = attemptTimeoutMs, signal }: SendOptions,
): Promise<Outcome> {
  const target = new URL(url)
  const isHttps = target.protocol === 'https:'
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const mayConnect = (address: string) => (isHttps && isGlobal(address)) || isAllowed(address, allowed)
  if (isIP(host) !== 0 && !mayConnect(host)) return Promise.resolve({ error: refusedAddress })

  const lookup: LookupFunction = (hostname, options, callback) => {
    resolver(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0)
      const usable = addresses.filter(({ address }) => mayConnect(address))
      const [first] = usable
      if (!first || usable.length !== addresses.length) return callback(new Error(refusedAddress), '', 0)
      if (options.all) (callback as unknown as (error: null, addresses: unknown) => void)(null, usable)
      else callback(null, first.address, first.family)
    })
  }

  return new Promise((settle) => {
    const outgoing = (isHttps ? httpsRequest : httpRequest)(target, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': String(Buffer.byteLength(body)) },
      lookup,
      agent: false,
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
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

export const refusedAddress =
  'The address is not on the public internet, and the operator has not allowed it.'

function reasonOf(error: Error, timeoutMs: number): string {
  if (error.name === 'AbortError' || error.name === 'TimeoutError')
    return `No answer within ${timeoutMs / 1000} seconds.`
  if (error.message === refusedAddress) return refusedAddress
  return `The connection failed (${(error as NodeJS.ErrnoException).code ?? error.name}).`
}
