import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressGroup, clientAddress, connectionGroup } from '../../src/api/clientAddress.ts'

const trusted = new BlockList()
trusted.addSubnet('10.0.0.0', 8, 'ipv4')
trusted.addAddress('192.0.2.7', 'ipv4')
trusted.addSubnet('fd00::', 8, 'ipv6')

const clients: { name: string; remote: string; forwardedFor: string | undefined; client: string }[] = [
  { name: 'no proxy, no header', remote: '203.0.113.5', forwardedFor: undefined, client: '203.0.113.5' },
  {
    name: 'an untrusted client that sends X-Forwarded-For',
    remote: '203.0.113.5',
    forwardedFor: '198.51.100.1',
    client: '203.0.113.5',
  },
  { name: 'a trusted proxy', remote: '10.1.2.3', forwardedFor: '198.51.100.1', client: '198.51.100.1' },
  { name: 'a proxy that says nothing', remote: '10.1.2.3', forwardedFor: undefined, client: '10.1.2.3' },
  { name: 'an empty header', remote: '10.1.2.3', forwardedFor: '', client: '10.1.2.3' },
  {
    name: 'what the client put to the left of what the proxy wrote',
    remote: '10.1.2.3',
    forwardedFor: '1.2.3.4, 198.51.100.1',
    client: '198.51.100.1',
  },
  {
    name: 'a chain of trusted proxies',
    remote: '10.1.2.3',
    forwardedFor: '198.51.100.1, 192.0.2.7,10.9.9.9',
    client: '198.51.100.1',
  },
  {
    name: 'a chain of nothing but trusted proxies',
    remote: '10.1.2.3',
    forwardedFor: '10.0.0.1, 10.0.0.2',
    client: '10.0.0.1',
  },
  {
    name: 'an untrusted proxy in the middle of the chain',
    remote: '10.1.2.3',
    forwardedFor: '1.2.3.4, 203.0.113.9, 10.9.9.9',
    client: '203.0.113.9',
  },
  {
    name: 'something that is no address',
    remote: '10.1.2.3',
    forwardedFor: '198.51.100.1, unknown',
    client: '10.1.2.3',
  },
  {
    name: 'IPv4 in IPv6 clothes, as a dual-stack socket reports it',
    remote: '::ffff:10.1.2.3',
    forwardedFor: '::ffff:198.51.100.1',
    client: '198.51.100.1',
  },
  {
    name: 'an IPv4 client with its port, as some proxies note it',
    remote: '10.1.2.3',
    forwardedFor: '198.51.100.1:40213',
    client: '198.51.100.1',
  },
  {
    name: 'an IPv6 client with its port',
    remote: '10.1.2.3',
    forwardedFor: '[2001:db8::5]:443',
    client: '2001:db8::5',
  },
  {
    name: 'an IPv6 proxy and client',
    remote: 'fd00::1',
    forwardedFor: '2001:db8::5',
    client: '2001:db8::5',
  },
  {
    name: 'an IPv6 address with its zone',
    remote: 'fe80::1%eth0',
    forwardedFor: '198.51.100.1',
    client: 'fe80::1%eth0',
  },
  { name: 'a connection that is already gone', remote: '', forwardedFor: '198.51.100.1', client: '' },
]

for (const { name, remote, forwardedFor, client } of clients) {
  test(`the client's address is found: ${name}`, () => {
    assert.equal(clientAddress(remote, forwardedFor, trusted), client)
  })
}

test('X-Forwarded-For of an untrusted client does not change its address', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), (header) => {
      assert.equal(clientAddress('203.0.113.5', header, trusted), '203.0.113.5')
    }),
  )
})

test('the address is the one that the trusted proxy saw, with any text before it', () => {
  const entry = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ maxLength: 20 }))
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 100, size: 'max' }), (claims) => {
      const header = [...claims, '198.51.100.1'].join(', ')
      assert.equal(clientAddress('10.0.0.1', header, trusted), '198.51.100.1')
    }),
  )
})

const groups = [
  { address: '198.51.100.1', group: '198.51.100.1' },
  { address: '2001:db8:1:2:3:4:5:6', group: '2001:db8:1:2::/64' },
  { address: '2001:db8:1:2::', group: '2001:db8:1:2::/64' },
  { address: '2001:DB8:1:2:ffff:ffff:ffff:ffff', group: '2001:db8:1:2::/64' },
  { address: '2001:0db8:0001:0002::1', group: '2001:db8:1:2::/64' },
  { address: '2001:db8::1', group: '2001:db8:0:0::/64' },
  { address: '2001:db8:0:0:1::', group: '2001:db8:0:0::/64' },
  { address: '::', group: '0:0:0:0::/64' },
  { address: '::1', group: '0:0:0:0::/64' },
  { address: '1::8', group: '1:0:0:0::/64' },
  { address: '64:ff9b::198.51.100.1', group: '64:ff9b:0:0::/64' },
  { address: '1:2:3:4:5:6:198.51.100.1', group: '1:2:3:4::/64' },
  { address: 'fe80::1%eth0', group: 'fe80:0:0:0::/64' },
  { address: '', group: '' },
]

for (const { address, group } of groups) {
  test(`addresses are counted together: ${address || 'none'} in ${group || 'none'}`, () => {
    assert.equal(addressGroup(address), group)
  })
}

const words = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })

/** Every way to write an address: each run of zeros may be left out. */
function spellings(groups: readonly number[]): string[] {
  const hex = groups.map((group) => group.toString(16))
  const all = [hex.join(':'), hex.map((group) => group.padStart(4, '0').toUpperCase()).join(':')]
  for (let start = 0; start < 8; start++) {
    for (let end = start + 1; end <= 8 && groups[end - 1] === 0; end++) {
      all.push(`${hex.slice(0, start).join(':')}::${hex.slice(end).join(':')}`)
    }
  }
  return all
}

test('two IPv6 addresses are counted together exactly if their first 64 bits are the same, in any notation', () => {
  const zeroish = fc.array(fc.constantFrom(0, 0, 1, 0xdb8), { minLength: 8, maxLength: 8 })
  const address = fc.oneof(words, zeroish)
  fc.assert(
    fc.property(address, address, fc.boolean(), (a, other, isSamePrefix) => {
      const b = isSamePrefix ? [...a.slice(0, 4), ...other.slice(4)] : other
      const isTogether = a.slice(0, 4).join() === b.slice(0, 4).join()
      for (const one of spellings(a)) {
        for (const two of spellings(b)) assert.equal(addressGroup(one) === addressGroup(two), isTogether)
      }
    }),
  )
})

test('connections are counted by address, IPv6 by its /64, and those of trusted proxies not at all', () => {
  const groups: [string, string | undefined][] = [
    ['203.0.113.5', '203.0.113.5'],
    ['::ffff:203.0.113.5', '203.0.113.5'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['10.1.2.3', undefined],
    ['::ffff:10.1.2.3', undefined],
    ['fd00::1', undefined],
    ['', ''],
  ]
  for (const [remote, group] of groups) assert.equal(connectionGroup(remote, trusted), group, remote)
})
