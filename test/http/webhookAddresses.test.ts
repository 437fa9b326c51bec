import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { isAllowedAddress, isPublicAddress } from '../../src/webhooks/addresses.ts'
import { addressNotAllowedMessage } from '../../src/webhooks/connection.ts'
import { sendMessage } from '../../src/webhooks/send.ts'
import { eventually } from '../support/eventually.ts'
import { type NameServer, type Records, startNameServer } from '../support/nameServer.ts'
import { assertError } from '../support/responses.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { registerWebhook, startWebhookReceiver, type WebhookReceiver } from '../support/webhookReceiver.ts'

const nothingAllowed = new BlockList()
const onlyOneAllowed = new BlockList()
onlyOneAllowed.addAddress('127.0.0.1')
const message = ['{"type":"webhook.test","data":{}}', {}] as const

describe('addresses of the public internet', () => {
  const isPublic: Record<string, readonly string[]> = {
    'ordinary IPv4': ['1.1.1.1', '8.8.8.8', '93.184.215.14', '223.255.255.255'],
    'adjacent to ranges that are not public': [
      '1.0.0.0',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
      '169.253.255.255',
      '169.255.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '191.255.255.255',
      '192.0.1.0',
      '192.167.255.255',
      '192.169.0.0',
      '198.17.255.255',
      '198.20.0.0',
      '168.63.129.15',
      '168.63.129.17',
      '161.25.255.255',
      '161.27.0.0',
      '166.7.255.255',
      '166.12.0.0',
    ],
    'ordinary IPv6': ['2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '2001:4860:4860::8888'],
    'IPv4 inside IPv6': ['::ffff:8.8.8.8', '::ffff:808:808', '64:ff9b::8.8.8.8'],
  }
  const isNot: Record<string, readonly string[]> = {
    '0.0.0.0/8, this network': ['0.0.0.0', '0.0.0.1', '0.255.255.255'],
    '10.0.0.0/8, private': ['10.0.0.0', '10.0.0.1', '10.255.255.255'],
    '100.64.0.0/10, shared': ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
    '127.0.0.0/8, loopback': ['127.0.0.1', '127.0.0.53', '127.255.255.255'],
    '169.254.0.0/16, link-local': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
    '172.16.0.0/12, private': ['172.16.0.0', '172.17.0.1', '172.31.255.255'],
    '192.0.0.0/24, protocols': ['192.0.0.0', '192.0.0.8', '192.0.0.255'],
    '192.168.0.0/16, private': ['192.168.0.0', '192.168.1.1', '192.168.255.255'],
    '198.18.0.0/15, benchmarks': ['198.18.0.0', '198.19.255.255'],
    documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1'],
    '192.88.99.0/24, relays': ['192.88.99.1'],
    '224.0.0.0/4, multicast': ['224.0.0.1', '239.255.255.255'],
    '240.0.0.0/4, reserved': ['240.0.0.0', '254.0.0.1'],
    broadcast: ['255.255.255.255'],
    '168.63.129.16, the host of an Azure machine': [
      '168.63.129.16',
      '::ffff:168.63.129.16',
      '64:ff9b::a83f:8110',
    ],
    "IBM Cloud's own services": ['161.26.0.7', '161.26.255.255', '166.8.0.0', '166.11.255.255'],
    'unspecified and loopback IPv6': ['::', '::1', '0:0:0:0:0:0:0:1'],
    'fc00::/7, unique local': ['fc00::', 'fd00::1', 'fdff:ffff::1', 'fd00:ec2::254'],
    'fe80::/10, link-local': ['fe80::', 'fe80::1', 'febf::1'],
    'fec0::/10, site-local': ['fec0::1'],
    'ff00::/8, multicast': ['ff00::', 'ff02::1', 'ff0e::1'],
    '2001:db8::/32 and 3fff::/20, documentation': ['2001:db8::1', '3fff::1'],
    '2002::/16, 6to4': ['2002::', '2002:7f00:1::1', '2002:808:808::1'],
    '2001::/32, Teredo': ['2001::1', '2001:0:7f00:1::1'],
    '2001:10::/28 and 2001:20::/28, ORCHID': ['2001:10::1', '2001:20::1'],
    '64:ff9b::/96, NAT64 of what is not public': [
      '64:ff9b::127.0.0.1',
      '64:ff9b::7f00:1',
      '64:ff9b::10.0.0.1',
      '64:ff9b::',
      '64:ff9b::a9fe:a9fe',
    ],
    '64:ff9b:1::/48, local NAT64': ['64:ff9b:1::8.8.8.8', '64:ff9b:1:ffff::1'],
    'IPv4 inside IPv6, mapped': [
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '0:0:0:0:0:ffff:7f00:1',
      '::FFFF:10.0.0.1',
      '::ffff:0:0',
      '::ffff:169.254.169.254',
    ],
    'IPv4 inside IPv6, compatible': ['::127.0.0.1', '::7f00:1', '::8.8.8.8'],
    'IPv4 inside IPv6, translated': ['::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8'],
    '100::/64, discard': ['100::1'],
    '100:0:0:1::/64, dummy prefix': ['100:0:0:1::1'],
    'not yet assigned, or for segment routing': ['4000::1', '5f00::1', '8000::1', 'e000::1'],
    'with a zone': ['fe80::1%eth0', '2606:4700:4700::1111%1', '::1%lo'],
    'no addresses': ['', 'localhost', '2130706433', '0x7f000001', '127.1', '8.8.8.8.', ' 8.8.8.8', '[::1]'],
  }
  for (const [table, expected] of [
    [isPublic, true],
    [isNot, false],
  ] as const) {
    for (const [name, addresses] of Object.entries(table)) {
      test(`${name}: ${expected ? 'public' : 'not public'}`, () => {
        for (const address of addresses) assert.equal(isPublicAddress(address), expected, address)
      })
    }
  }

  test('addresses on the allowlist are allowed in every spelling, and no others are', () => {
    const allowed = new BlockList()
    allowed.addSubnet('10.0.0.0', 8)
    allowed.addSubnet('fd00::', 8, 'ipv6')
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '::ffff:a01:203', 'fd12::1'])
      assert.ok(isAllowedAddress(address, allowed), address)
    for (const address of ['11.0.0.1', '127.0.0.1', '::ffff:127.0.0.1', 'fe80::1', 'fd12::1%eth0', 'x', ''])
      assert.ok(!isAllowedAddress(address, allowed), address)
    for (const address of ['10.0.0.1', '::1', '8.8.8.8'])
      assert.ok(!isAllowedAddress(address, nothingAllowed))
  })
})

/** Ways to write an address of this machine or its neighbourhood; the URL parser knows them all. */
const spellings = [
  '127.0.0.1',
  '127.0.0.1.',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7F.0x0.0x0.0x1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.0x1',
  '%31%32%37.0.0.1',
  '127。0。0。1',
  '①②⑦.⓪.⓪.①',
  '0',
  '0.0.0.0',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::127.0.0.1]',
  '[2002:7f00:1::]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '169.254.169.254',
  '0xa9fea9fe',
  '10.0.0.1',
  '192.168.1.1',
  '172.16.0.1',
  '100.64.0.1',
]

describe('an address outside the public internet is never connected to', () => {
  let service: TestService
  let trap: WebhookReceiver
  let port: string
  before(async () => {
    service = await startTestService()
    trap = await startWebhookReceiver()
    port = new URL(trap.url).port
  })
  after(async () => {
    await trap.stop()
    await service.stop()
  })
  const assertUntouched = () => assert.equal(trap.connections(), 0)

  for (const host of spellings) {
    for (const scheme of ['https', 'http']) {
      test(`${scheme}://${host}: neither registered nor connected to`, async () => {
        const url = `${scheme}://${host}:${port}/hook`
        const response = await service.request('POST', '/v1/webhooks', {
          key: service.operatorKey,
          body: { url, events: ['pet.created'] },
        })
        assertError(response, 400, 'validation_failed')
        assert.equal(response.json.details[0].path, '/url')
        const outcome = await sendMessage(url, ...message, { allowed: nothingAllowed })
        assert.deepEqual(outcome, { error: addressNotAllowedMessage })
        assertUntouched()
      })
    }
  }

  for (const authority of ['shelter.example@127.0.0.1', 'shelter.example:443@127.0.0.1', ':x@127.0.0.1']) {
    test(`https://${authority}: a host behind user information is not registered`, async () => {
      const response = await service.request('POST', '/v1/webhooks', {
        key: service.operatorKey,
        body: { url: `https://${authority}:${port}/`, events: ['pet.created'] },
      })
      assertError(response, 400, 'validation_failed')
      assertUntouched()
    })
  }

  for (const name of ['localhost', 'localhost.', 'LOCALHOST', 'lOcAlHoSt.', 'hooks.localhost']) {
    test(`https://${name}: neither registered, nor set by an update, nor connected to`, async () => {
      const url = `https://${name}:${port}/hook`
      const key = service.operatorKey
      const body = { url, events: ['pet.created'] }
      const { id } = await registerWebhook(service, 'https://shelter.example/')
      for (const [method, path] of [
        ['POST', '/v1/webhooks'],
        ['PATCH', `/v1/webhooks/${id}`],
      ] as const) {
        const response = await service.request(method, path, { key, body })
        assertError(response, 400, 'validation_failed')
        assert.match(response.json.message, /\/url.*not on the public internet/)
      }
      const outcome = await sendMessage(url, ...message, { allowed: nothingAllowed })
      assert.deepEqual(outcome, { error: addressNotAllowedMessage })
      assertUntouched()
    })
  }

  test('the delivery shows the reason of an attempt that was not made', async () => {
    const { id } = await registerWebhook(service, 'https://shelter.example/')
    const { write } = await service.openDatabase()
    const url = `https://localhost:${port}/hook`
    await write((trx) => trx.updateTable('webhooks').set({ url }).where('id', '=', id).execute())
    const key = service.operatorKey
    await service.request('POST', `/v1/webhooks/${id}/test`, { key })
    const delivery = await eventually('it was tried', async () => {
      const { json } = await service.request('GET', `/v1/webhooks/${id}/deliveries`, { key })
      return json[0].attempts === 1 && json[0]
    })
    assert.equal(delivery.lastError, addressNotAllowedMessage)
    assert.equal(delivery.lastStatus, undefined)
    assertUntouched()
  })

  /** Every name leads to the addresses that a test sets. */
  let records: Records = []
  let nameServer: NameServer
  before(async () => {
    nameServer = await startNameServer(() => records)
  })
  after(() => nameServer.stop())
  const sendTo = (url: string) =>
    sendMessage(url, ...message, { allowed: nothingAllowed, nameServers: [nameServer.address] })

  const responses: [string, readonly string[]][] = [
    ['loopback', ['127.0.0.1']],
    ['loopback, twice', ['127.0.0.1', '::1']],
    ['mapped loopback', ['::ffff:127.0.0.1']],
    ['one public, one private', ['93.184.215.14', '127.0.0.1']],
    ['one private, one public', ['10.0.0.1', '93.184.215.14']],
    ['public IPv4, private IPv6', ['93.184.215.14', 'fd00::1']],
    ['a link-local address', ['fe80::1']],
    ['metadata of a cloud', ['169.254.169.254']],
    ['the host of an Azure machine', ['168.63.129.16']],
  ]
  for (const [name, addresses] of responses) {
    test(`a host name that resolves to ${name} is rejected`, async () => {
      records = addresses
      for (const scheme of ['https', 'http']) {
        nameServer.queries.length = 0
        const outcome = await sendTo(`${scheme}://shelter.example:${port}/`)
        assert.deepEqual(outcome, { error: addressNotAllowedMessage })
        assert.deepEqual(nameServer.queries.toSorted(), ['A shelter.example', 'AAAA shelter.example'])
      }
      assertUntouched()
    })
  }

  test('a CNAME is checked by the address that it resolves to', async () => {
    records = { cname: 'inside.example', addresses: ['127.0.0.1'] }
    assert.deepEqual(await sendTo(`https://shelter.example:${port}/`), { error: addressNotAllowedMessage })
    assertUntouched()
  })

  test('http to a public address is rejected, by host name and by IP address', async () => {
    records = ['93.184.215.14']
    assert.deepEqual(await sendTo('http://shelter.example/'), { error: addressNotAllowedMessage })
    assert.deepEqual(await sendTo('http://93.184.215.14/'), { error: addressNotAllowedMessage })
  })
})

describe('between the check and the connection', () => {
  test('a DNS change has no effect: the checked address is the one that is connected to', async () => {
    const endpoint = await startWebhookReceiver()
    const addresses = ['127.0.0.1', '127.0.0.3', '127.0.0.1']
    let requested = 0
    const nameServer = await startNameServer((_name, family) =>
      family === 4 ? [addresses[requested++] ?? ''] : [],
    )
    const options = { allowed: onlyOneAllowed, nameServers: [nameServer.address] }
    const url = `http://rebinding.example:${new URL(endpoint.url).port}/`
    try {
      assert.deepEqual(await sendMessage(url, ...message, options), { status: 204 })
      assert.deepEqual([requested, endpoint.connections()], [1, 1])
      assert.deepEqual(await sendMessage(url, ...message, options), { error: addressNotAllowedMessage })
      assert.deepEqual([requested, endpoint.connections()], [2, 1])
      assert.deepEqual(await sendMessage(url, ...message, options), { status: 204 })
      assert.deepEqual([requested, endpoint.connections()], [3, 2])
    } finally {
      await nameServer.stop()
      await endpoint.stop()
    }
  })

  for (const status of [301, 302, 303, 307, 308]) {
    test(`a redirect (${status}) is not followed`, async () => {
      const [way, trap] = [await startWebhookReceiver(), await startWebhookReceiver()]
      way.reply = { act: (response) => response.writeHead(status, { location: trap.url }).end() }
      try {
        assert.deepEqual(await sendMessage(way.url, ...message, { allowed: onlyOneAllowed }), { status })
        assert.deepEqual([way.connections(), trap.connections()], [1, 0])
      } finally {
        await way.stop()
        await trap.stop()
      }
    })
  }
})
