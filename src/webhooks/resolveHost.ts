import { Resolver } from 'node:dns/promises'
import { createReadStream } from 'node:fs'
import { isIP } from 'node:net'
import { text } from 'node:stream/consumers'
import { isLocalhost, loopbackAddresses } from './addresses.ts'

/** For one query to one server. */
const queryTimeoutMs = 1_500
const queryTriesMax = 2
/** For both address families and all servers together. */
const resolveTimeoutMs = 6_000
/** How long to wait for the other family once one has addresses (RFC 8305 calls it the resolution delay). */
const otherFamilyMs = 200
const hostsPath = '/etc/hosts'
const hostsBytesMax = 64 * 1024

type ResolvedAddress = { readonly address: string; readonly family: number }

/** A host name cannot be resolved. The message is for the owner of the webhook. */
export class ResolveError extends Error {}

/**
 * The addresses of a host name, IPv4 first, from the hosts file or from DNS. Does not use `dns.lookup`, because each call
 * occupies a thread of the pool until the operating system gives up, even if it was aborted. Search domains do not apply.
 */
export async function resolveHost(host: string, signal: AbortSignal, nameServers?: readonly string[]) {
  const name = host.toLowerCase().replace(/\.$/, '')
  const local = lookupInHostsFile(await readHosts(), name)
  if (local.length > 0) return local.map(withFamily)
  if (isLocalhost(name)) return loopbackAddresses.map(withFamily)
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTriesMax })
  if (nameServers) resolver.setServers(nameServers)
  const ended = AbortSignal.any([signal, AbortSignal.timeout(resolveTimeoutMs)])
  ended.throwIfAborted()
  ended.addEventListener('abort', () => resolver.cancel())
  return queryBothFamilies(resolver, name)
}

async function queryBothFamilies(resolver: Resolver, name: string): Promise<ResolvedAddress[]> {
  let timer: NodeJS.Timeout | undefined
  const queries = [resolver.resolve4(name), resolver.resolve6(name)].map(async (query) => {
    const addresses = await query
    if (addresses.length > 0) timer ??= setTimeout(() => resolver.cancel(), otherFamilyMs)
    return addresses
  })
  const results = await Promise.allSettled(queries)
  clearTimeout(timer)
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (addresses.length > 0) return addresses.map(withFamily)
  throw new ResolveError(
    reasonOf(results.flatMap((result) => (result.status === 'rejected' ? result.reason : []))),
  )
}

const withFamily = (address: string): ResolvedAddress => ({ address, family: isIP(address) })

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The host name does not exist (NXDOMAIN).',
  ESERVFAIL: 'The DNS server could not resolve the host name (SERVFAIL).',
  ETIMEOUT: 'The DNS server did not respond in time.',
  ECANCELLED: 'The DNS server did not respond in time.',
  ECONNREFUSED: 'No DNS server could be reached.',
}
const noAddressText = 'The host name has no address: DNS has neither an A nor an AAAA record for it.'

/** Prefers an error that says more than that a family has no records. */
function reasonOf(errors: readonly NodeJS.ErrnoException[]): string {
  const code = errors.map((error) => error.code ?? error.name).find((found) => found !== 'ENODATA')
  if (code === undefined) return noAddressText
  return reasons[code] ?? `The host name could not be resolved (${code}).`
}

/** Empty if there is no such file. Reads the beginning of a file that is too large. */
const readHosts = (): Promise<string> =>
  text(createReadStream(hostsPath, { end: hostsBytesMax - 1 })).catch(() => '')

/** The addresses of a name in the text of a hosts file, IPv4 first. */
export function lookupInHostsFile(hosts: string, name: string): string[] {
  const found = new Set<string>()
  for (const line of hosts.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) !== 0 && names.some((given) => given.toLowerCase() === name)) found.add(address)
  }
  return [...found].sort((a, b) => isIP(a) - isIP(b))
}
