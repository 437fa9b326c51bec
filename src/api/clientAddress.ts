import { type BlockList, isIP } from 'node:net'

const family = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')
const hopsMax = 32

/**
 * The address of the client. `X-Forwarded-For` is read from the right, and only as long as the address is one of the
 * operator's trusted proxies: the first other address is the client's.
 */
export function clientAddress(remote: string, forwardedFor: string | undefined, trusted: BlockList): string {
  let address = plain(remote)
  if (forwardedFor === undefined) return address
  const hops = forwardedFor.split(',').slice(-hopsMax)
  while (hops.length > 0 && isIP(address) !== 0 && trusted.check(address, family(address))) {
    const hop = plain((hops.pop() ?? '').trim())
    if (isIP(hop) === 0) break
    address = hop
  }
  return address
}

/** Addresses that are counted together: an IPv4 address, or the /64 that one IPv6 subscriber usually has. */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  // An embedded IPv4 address takes two groups; it is always in the last 64 bits.
  const width = left.length + right.length + (address.includes('.') ? 1 : 0)
  const groups = tail === undefined ? left : [...left, ...Array(Math.max(0, 8 - width)).fill('0'), ...right]
  const prefix = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${prefix.join(':')}::/64`
}

/** The group that the connections of an address are counted in; undefined for trusted proxies. */
export function connectionGroup(remote: string, trusted: BlockList): string | undefined {
  const address = plain(remote)
  const isTrusted = isIP(address) !== 0 && trusted.check(address, family(address))
  return isTrusted ? undefined : addressGroup(address)
}

/** Without brackets, port and the IPv6 prefix of an IPv4 address. */
const plain = (address: string): string =>
  !address.includes(':')
    ? address
    : address
        .replace(/^\[(.*)\](?::\d+)?$/, '$1')
        .replace(/^([\d.]+):\d+$/, '$1')
        .replace(/^::ffff:(?=\d+\.)/i, '')
