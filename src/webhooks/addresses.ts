import { BlockList, isIP } from 'node:net'

/** Not public: IANA's special-purpose registries, and public ranges that cloud providers use internally. */
const notPublic = blockList([
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['168.63.129.16', 32], // Azure: host agent, DNS, health probes
  ['161.26.0.0', 16], // IBM Cloud: infrastructure endpoints
  ['166.8.0.0', 14], // IBM Cloud: private service endpoints
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
])
const publicIpv6 = blockList([['2000::', 3]])

/** IPv6 prefixes with an IPv4 address in the last 32 bits. The IPv4 address is the one that is checked. */
const embedding = blockList([
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
])

function blockList(networks: readonly (readonly [network: string, prefix: number])[]): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of networks)
    list.addSubnet(network, prefix, isIP(network) === 4 ? 'ipv4' : 'ipv6')
  return list
}

export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !notPublic.check(address, 'ipv4')
  if (isIP(address) !== 6 || address.includes('%')) return false
  if (embedding.check(address, 'ipv6')) return isPublicAddress(embeddedIpv4(address))
  return publicIpv6.check(address, 'ipv6') && !notPublic.check(address, 'ipv6')
}

/** RFC 6761, section 6.3: these names are never sent to a DNS server. */
export const isLocalhost = (host: string): boolean => /(?:^|\.)localhost\.?$/i.test(host)
export const loopbackAddresses = ['127.0.0.1', '::1']

export function isAllowedAddress(address: string, allowed: BlockList): boolean {
  // A zone names an interface of this machine and cannot be part of a list.
  if (address.includes('%')) return false
  const plain = isIP(address) === 6 && embedding.check(address, 'ipv6') ? embeddedIpv4(address) : address
  const version = isIP(plain)
  return version !== 0 && allowed.check(plain, version === 4 ? 'ipv4' : 'ipv6')
}

/** The last 32 bits of an IPv6 address in any spelling. */
function embeddedIpv4(address: string): string {
  // The URL parser normalizes it to groups of hexadecimal digits.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':')
  const [high = '', low = ''] = groups.slice(-2)
  const bits = [Number.parseInt(high || '0', 16), Number.parseInt(low || '0', 16)]
  return bits.flatMap((group) => [group >> 8, group & 255]).join('.')
}
