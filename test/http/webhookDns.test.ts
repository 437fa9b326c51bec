import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { lookupInHostsFile } from '../../src/webhooks/resolveHost.ts'
import { sendMessage } from '../../src/webhooks/send.ts'
import { eventually } from '../support/eventually.ts'
import { type Records, startNameServer } from '../support/nameServer.ts'
import { startTestService } from '../support/service.ts'
import {
  loopbackAllowed,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhookReceiver.ts'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
const message = ['{"type":"webhook.test","data":{}}', {}] as const

async function nameServerFor(t: TestContext, records: (name: string, family: 4 | 6) => Records) {
  const server = await startNameServer(records)
  t.after(() => server.stop())
  return server
}

async function receiverFor(t: TestContext): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  return receiver
}

const named = (url: string, name = 'shelter.example') => url.replace('127.0.0.1', name)

test('DNS resolution does not occupy the thread pool', async (t) => {
  const nameServer = await nameServerFor(t, () => 'silent')
  const ending = new AbortController()
  const outcome = sendMessage('https://shelter.example/', ...message, {
    allowed: loopback,
    nameServers: [nameServer.address],
    signal: ending.signal,
  })
  await eventually('the name server is queried', () => nameServer.queries.length >= 2)
  assert.ok(!process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap'))
  const since = performance.now()
  ending.abort()
  assert.ok('error' in (await outcome))
  assert.ok(performance.now() - since < 3_000, 'an attempt that is broken off does not wait for DNS')
})

describe('DNS responses', { concurrency: true }, () => {
  const found: [string, Records][] = [
    ['an IPv4 address alone', ['127.0.0.1']],
    ['several addresses', ['127.0.0.1', '127.0.0.1']],
    ['an alias', { cname: 'elsewhere.example', addresses: ['127.0.0.1'] }],
    ['a response that does not fit into a datagram', { isTruncated: true, addresses: ['127.0.0.1'] }],
  ]
  for (const [name, records] of found) {
    test(`${name}: delivered`, async (t) => {
      const [endpoint, nameServer] = [await receiverFor(t), await nameServerFor(t, () => records)]
      const options = { allowed: loopback, nameServers: [nameServer.address] }
      assert.deepEqual(await sendMessage(named(endpoint.url), ...message, options), { status: 204 })
    })
  }

  test('an address family that does not respond is not awaited once the other has addresses', async (t) => {
    const endpoint = await receiverFor(t)
    const nameServer = await nameServerFor(t, () => ({ silentFamily: 6, addresses: ['127.0.0.1'] }))
    const options = { allowed: loopback, nameServers: [nameServer.address] }
    assert.deepEqual(await sendMessage(named(endpoint.url), ...message, options), { status: 204 })
    // A query that gets no response is repeated once before it is given up.
    assert.deepEqual(nameServer.queries.toSorted(), ['A shelter.example', 'AAAA shelter.example'])
  })

  test('an address family that fails is ignored if the other has addresses', async (t) => {
    const endpoint = await receiverFor(t)
    for (const failure of ['SERVFAIL', 'NXDOMAIN'] as const) {
      const nameServer = await nameServerFor(t, (_name, family) => (family === 4 ? ['127.0.0.1'] : failure))
      const options = { allowed: loopback, nameServers: [nameServer.address] }
      assert.deepEqual(await sendMessage(named(endpoint.url), ...message, options), { status: 204 })
    }
  })

  const failures: [string, Records, string][] = [
    ['no such name', 'NXDOMAIN', 'The host name does not exist (NXDOMAIN).'],
    ['a failure', 'SERVFAIL', 'The DNS server could not resolve the host name (SERVFAIL).'],
    ['no address', [], 'The host name has no address: DNS has neither an A nor an AAAA record for it.'],
    ['nothing at all', 'silent', 'The DNS server did not respond in time.'],
  ]
  for (const [name, records, error] of failures) {
    test(`${name}: the attempt fails with the reason`, async (t) => {
      const nameServer = await nameServerFor(t, () => records)
      const options = { allowed: loopback, nameServers: [nameServer.address] }
      assert.deepEqual(await sendMessage('https://shelter.example/', ...message, options), { error })
    })
  }

  test('names of the local machine are not sent to a DNS server', async (t) => {
    const [endpoint, nameServer] = [await receiverFor(t), await nameServerFor(t, () => 'silent')]
    const allowed = new BlockList()
    allowed.addSubnet('127.0.0.0', 8)
    allowed.addAddress('::1', 'ipv6')
    for (const name of ['localhost', 'LOCALHOST.', 'hooks.localhost']) {
      const options = { allowed, nameServers: [nameServer.address] }
      assert.deepEqual(
        await sendMessage(named(endpoint.url, name), ...message, options),
        { status: 204 },
        name,
      )
    }
    assert.deepEqual(nameServer.queries, [])
  })
})

test('a hosts file is parsed as the system parses it', () => {
  const text = `# 10.0.0.9 commented.example
127.0.0.1\tlocalhost
::1 localhost ip6-localhost # and 10.0.0.8 shelter.example
fd00::2 Shelter.example
  10.0.0.2   other.example shelter.example
not-an-address shelter.example
10.0.0.2 shelter.example\r
`
  assert.deepEqual(lookupInHostsFile(text, 'shelter.example'), ['10.0.0.2', 'fd00::2'])
  assert.deepEqual(lookupInHostsFile(text, 'localhost'), ['127.0.0.1', '::1'])
  for (const name of ['commented.example', 'example', '', 'ip6-localhost.example'])
    assert.deepEqual(lookupInHostsFile(text, name), [])
})

test('a DNS server that never responds delays only the webhooks that need it', async (t) => {
  const nameServer = await nameServerFor(t, () => 'silent')
  const service = await startTestService(loopbackAllowed, { nameServers: [nameServer.address] })
  t.after(() => service.stop())
  const alive = await receiverFor(t)
  const names = Array.from({ length: 20 }, (_, n) => `dead-${n}.example`)
  for (const name of names) await registerWebhook(service, `https://${name}/`)
  const { id } = await registerWebhook(service, 'https://dead.example/')
  await registerWebhook(service, alive.url)
  const key = service.operatorKey
  for (let n = 0; n < 10; n++) {
    const body = { name: `Pet ${n}`, categoryId: 1 }
    assert.equal((await service.request('POST', '/v1/pets', { key, body })).status, 201)
    // Each of the dead names takes longer than this.
    await alive.until(n + 1, 4_000)
  }
  await eventually('all names are queried', () => new Set(nameServer.queries).size === 2 * 21)
  const delivery = await eventually(
    'the attempt is recorded',
    async () => {
      const { json } = await service.request('GET', `/v1/webhooks/${id}/deliveries`, { key })
      return json.find(({ attempts }: { attempts: number }) => attempts === 1)
    },
    30_000,
  )
  assert.equal(delivery.lastError, 'The DNS server did not respond in time.')
})
