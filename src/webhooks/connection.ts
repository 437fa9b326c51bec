import { type BlockList, isIP, type LookupFunction } from 'node:net'
import { isAllowedAddress, isPublicAddress } from './addresses.ts'
import { ResolveError, resolveHost } from './resolveHost.ts'

/** All addresses of a host are checked, and this many are tried. */
const addressesTriedMax = 16

export type ConnectionOptions = {
  /** Networks outside the public internet that the operator allows. */
  readonly allowed: BlockList
  /** DNS servers to use instead of the system's, in the format of `dns.Resolver`. */
  readonly nameServers?: readonly string[] | undefined
}

export const addressNotAllowedMessage =
  'The address is not on the public internet. The operator can allow it with PETSTORE_WEBHOOK_ALLOW.'

/**
 * The `lookup` of a connection to an address that someone else has chosen: the address that was checked is the one that is
 * connected to, even if DNS changes in between. Throws a `ResolveError` for an IP address that is not allowed.
 */
export function checkedLookup(
  target: URL,
  { allowed, nameServers }: ConnectionOptions,
  signal: AbortSignal,
): LookupFunction {
  const isHttps = target.protocol === 'https:'
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const mayConnect = (address: string) =>
    (isHttps && isPublicAddress(address)) || isAllowedAddress(address, allowed)
  if (isIP(host) !== 0 && !mayConnect(host)) throw new ResolveError(addressNotAllowedMessage)
  const resolveAndCheck = async (name: string) => {
    const addresses = await resolveHost(name, signal, nameServers)
    if (!addresses.every(({ address }) => mayConnect(address)))
      throw new ResolveError(addressNotAllowedMessage)
    return addresses.slice(0, addressesTriedMax)
  }
  return (name, { all }, callback) => {
    resolveAndCheck(name).then(
      (addresses) => {
        if (all) callback(null, addresses)
        else callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
      },
      (error) => callback(error, ''),
    )
  }
}

/** Why a connection failed, for people. */
export function connectionProblem(error: Error, timeoutMs: number): string {
  if (error.name === 'AbortError' || error.name === 'TimeoutError')
    return `No response within ${timeoutMs / 1000} seconds.`
  if (error instanceof ResolveError) return error.message
  return `The connection failed (${(error as NodeJS.ErrnoException).code ?? error.name}).`
}
