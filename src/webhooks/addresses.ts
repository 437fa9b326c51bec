import { BlockList, isIP } from 'node:net'

/**
 * Where a webhook may go. What is not global is named here after IANA's special-purpose registries, and after the
 * documentation of cloud providers where they use public ranges internally; what embeds an IPv4
 * address is judged by that address.
 */

const notGlobal = new BlockList()
for (const [network, prefix] of [
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
] as const) {
  notGlobal.addSubnet(network, prefix, 'ipv4')
}
/** Inside a cloud these lead to the provider's own services; from the internet they are not reachable. */
for (const [network, prefix] of [
  ['168.63.129.16', 32], // Azure: host agent, DNS, health probes
  ['161.26.0.0', 16], // IBM Cloud: infrastructure endpoints
  ['166.8.0.0', 14], // IBM Cloud: private service endpoints
] as const) {
  notGlobal.addSubnet(network, prefix, 'ipv4')
}
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  notGlobal.addSubnet(network, prefix, 'ipv6')
}

/** Prefixes behind which an IPv4 address stands in the last 32 bits. */
const embedding = new BlockList()
embedding.addSubnet('::ffff:0:0', 96, 'ipv6')
embedding.addSubnet('64:ff9b::', 96, 'ipv6')

/** Whether an address is one of the public internet's. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !notGlobal.check(address, 'ipv4')
  if (isIP(address) !== 6 || address.includes('%')) return false
  if (embedding.check(address, 'ipv6')) return isPublicAddress(embeddedIpv4(address))
  return global6.check(address, 'ipv6') && !notGlobal.check(address, 'ipv6')
}

export function isAllowedAddress(address: string, allowed: BlockList): boolean {
  // A zone names an interface of this machine, which no list can mean.
  if (address.includes('%')) return false
  const plain = isIP(address) === 6 && embedding.check(address, 'ipv6') ? embeddedIpv4(address) : address
  const version = isIP(plain)
  return version !== 0 && allowed.check(plain, version === 4 ? 'ipv4' : 'ipv6')
}

/** The last 32 bits of an IPv6 address, whichever way they are spelled. */
function embeddedIpv4(address: string): string {
  // The URL parser brings every spelling into one: groups of hexadecimal digits, shortened once.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':')
  const [high = '', low = ''] = groups.slice(-2)
  const bits = [Number.parseInt(high || '0', 16), Number.parseInt(low || '0', 16)]
  return bits.flatMap((group) => [group >> 8, group & 255]).join('.')
}
