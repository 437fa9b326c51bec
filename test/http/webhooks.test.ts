import assert from 'node:assert/strict'
import { afterEach, before, describe, test } from 'node:test'
import type { ClientResponse, RequestOptions } from '../support/client.ts'
import { amplePlan, assertError, assertResponseHeaders } from '../support/responses.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'
import {
  isSignedWith,
  loopbackAllowed,
  type ReceivedMessage,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhookReceiver.ts'

const day = 86_400_000

// The verifier of messages looks at the time of this machine.
const service = useService(loopbackAllowed, { startAt: 'now' })
let manager: string
const receivers: WebhookReceiver[] = []
before(async () => {
  manager = (await service.makeKey({ ...amplePlan, scopes: ['webhooks:manage'] })).key
})
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.stop()
  for (const { id } of (await service.request('GET', '/v1/webhooks?limit=100', { key: manager })).json)
    await service.request('DELETE', `/v1/webhooks/${id}`, { key: service.operatorKey })
})

async function send(method: string, path: string, options: RequestOptions = {}): Promise<ClientResponse> {
  const response = await service.request(method, path, { key: service.operatorKey, ...options })
  assertResponseHeaders(response, method)
  return response
}
async function receiver(): Promise<WebhookReceiver> {
  const started = await startWebhookReceiver()
  receivers.push(started)
  return started
}
const register = (url: string, events?: readonly string[]) => registerWebhook(service, url, events)
const addPet = async (name = 'Milo') =>
  (await send('POST', '/v1/pets', { body: { name, categoryId: 3 } })).json
const get = async (id: number) => (await send('GET', `/v1/webhooks/${id}`)).json

const example = { url: 'https://shelter.example/hooks', events: ['pet.created', 'order.placed'] }

describe('registration', () => {
  const invalid: [string, unknown, string][] = [
    ['no url', { events: ['pet.created'] }, '/url'],
    ['no events', { url: example.url }, '/events'],
    ['an empty list of events', { ...example, events: [] }, '/events'],
    ['an unknown event', { ...example, events: ['pet.eaten'] }, '/events/0'],
    ['the test event', { ...example, events: ['webhook.test'] }, '/events/0'],
    ['events that are no list', { ...example, events: 'pet.created' }, '/events'],
    ['a url that is no text', { ...example, url: 7 }, '/url'],
    ['a relative url', { ...example, url: '/hooks' }, '/url'],
    ['a url without a host', { ...example, url: 'https://' }, '/url'],
    ['a url that is too long', { ...example, url: `https://shelter.example/${'x'.repeat(2_048)}` }, '/url'],
    ['http', { ...example, url: 'http://shelter.example/hooks' }, '/url'],
    ['http to an address of the internet', { ...example, url: 'http://93.184.215.14/hooks' }, '/url'],
    ['ftp', { ...example, url: 'ftp://shelter.example/hooks' }, '/url'],
    ['javascript', { ...example, url: 'javascript:alert(1)' }, '/url'],
    ['a user in the url', { ...example, url: 'https://ada@shelter.example/' }, '/url'],
    ['a password in the url', { ...example, url: 'https://:secret@shelter.example/' }, '/url'],
    ['a fragment in the url', { ...example, url: 'https://shelter.example/#hooks' }, '/url'],
    ['an empty fragment in the url', { ...example, url: 'https://shelter.example/#' }, '/url'],
    ['port 0', { ...example, url: 'https://shelter.example:0/' }, '/url'],
    ['a host name with a brace', { ...example, url: 'https://shelter{1}.example/' }, '/url'],
    ['a host name with an empty label', { ...example, url: 'https://shelter..example/' }, '/url'],
    ['a label of 64 characters', { ...example, url: `https://${'a'.repeat(64)}.example/` }, '/url'],
    ['a label that begins with a hyphen', { ...example, url: 'https://-a.example/' }, '/url'],
    ['a host name that is too long', { ...example, url: `https://${'a.'.repeat(130)}example/` }, '/url'],
    ['a bar in the path', { ...example, url: 'https://shelter.example/a|b' }, '/url'],
    ['a brace in the query', { ...example, url: 'https://shelter.example/?to={1}' }, '/url'],
    ['a percent sign by itself', { ...example, url: 'https://shelter.example/100%' }, '/url'],
    [
      'a url that is too long when encoded',
      { ...example, url: `https://a.example/${'ü'.repeat(500)}` },
      '/url',
    ],
    ['an address that is not allowed', { ...example, url: 'https://10.0.0.1/hooks' }, '/url'],
    ['http to an address that is not allowed', { ...example, url: 'http://10.0.0.1/hooks' }, '/url'],
  ]
  for (const [name, body, path] of invalid) {
    test(`is rejected with ${name}, and so is an update`, async () => {
      const response = await send('POST', '/v1/webhooks', { body })
      assertError(response, 400, 'validation_failed')
      assert.equal(response.json.details[0].path, path)
      if (name.startsWith('no ')) return
      const { id } = await register(example.url)
      assertError(await send('PATCH', `/v1/webhooks/${id}`, { body }), 400, 'validation_failed')
      assert.equal((await get(id)).url, example.url)
    })
  }

  const uri = /^https:\/\/[\w.-]+(?::\d+)?\/(?:[\w\-.~!$&'()*+,;=:@/?]|%[\dA-F]{2})*$/
  const normalized: [string, string][] = [
    [' https://shelter.example/hooks \n', 'https://shelter.example/hooks'],
    ['https://shelter.example/ho\r\nok\ts', 'https://shelter.example/hooks'],
    ['https:\\\\shelter.example\\hooks', 'https://shelter.example/hooks'],
    ['HTTPS://Shelter.Example', 'https://shelter.example/'],
    ['https://@shelter.example:443/a/../b', 'https://shelter.example/b'],
    ['https://tierheim-münchen.example/hüte', 'https://xn--tierheim-mnchen-8vb.example/h%C3%BCte'],
    ['https://shelter.example/a b?c d="e"', 'https://shelter.example/a%20b?c%20d=%22e%22'],
  ]
  for (const [sent, url] of normalized)
    test(`normalizes ${JSON.stringify(sent)}, and so does an update`, async () => {
      assert.match(url, uri)
      const { id, url: registered } = await register(sent)
      assert.deepEqual([registered, (await get(id)).url], [url, url])
      await send('PATCH', `/v1/webhooks/${id}`, { body: { url: 'https://other.example/' } })
      const { json } = await send('PATCH', `/v1/webhooks/${id}`, { body: { url: sent } })
      assert.deepEqual([json.url, (await get(id)).url], [url, url])
    })

  test('a URL that version 1.3.0 has stored as it was sent is returned normalized', async () => {
    const { write } = await service.openDatabase()
    const row = { url: ' https://Shelter.example\\hooks', events: '[]', from_event_id: 0, secret: 'secret' }
    const { id } = await write((trx) =>
      trx
        .insertInto('webhooks')
        .values({ ...row, status: 'paused', created_at: 0 })
        .returning('id')
        .executeTakeFirstOrThrow(),
    )
    assert.equal((await get(id)).url, example.url)
  })

  test('stores an event type once that is given twice, and so does an update', async () => {
    const { id } = await register(example.url, [...example.events, ...example.events])
    assert.deepEqual((await get(id)).events, example.events)
    const body = { events: ['pet.deleted', 'pet.deleted'] }
    assert.deepEqual((await send('PATCH', `/v1/webhooks/${id}`, { body })).json.events, ['pet.deleted'])
  })

  test('localhost is allowed if the operator allows its address', async () => {
    for (const url of ['http://localhost:9/hook', 'https://hooks.localhost:9/hook'])
      assert.equal((await register(url)).url, url)
  })

  test('http is allowed only for addresses on the allowlist of the operator', async () => {
    for (const url of ['http://127.0.0.1:9/hook', 'https://127.0.0.1:9/hook', 'https://93.184.215.14/hook'])
      assert.equal((await register(url)).url, url)
  })
})

describe('access', () => {
  const operations: [string, string, unknown?][] = [
    ['GET', '/v1/webhooks'],
    ['POST', '/v1/webhooks', example],
    ['GET', '/v1/webhooks/{id}'],
    ['PATCH', '/v1/webhooks/{id}', { status: 'paused' }],
    ['DELETE', '/v1/webhooks/{id}'],
    ['POST', '/v1/webhooks/{id}/rotate'],
    ['POST', '/v1/webhooks/{id}/test'],
    ['GET', '/v1/webhooks/{id}/deliveries'],
    ['POST', '/v1/webhooks/{id}/deliveries/1/retry'],
  ]
  for (const [method, path, body] of operations) {
    test(`${method} ${path} requires webhooks:manage`, async () => {
      const { id } = await register(example.url)
      const { key } = await service.makeKey()
      const response = await send(method, path.replace('{id}', String(id)), { key, body })
      assertError(response, 403, 'insufficient_scope')
      assert.equal(response.headers['x-stability'], 'experimental')
    })
  }

  for (const [method, path, body] of operations.filter(([, path]) => path.includes('{id}'))) {
    for (const id of ['999999', 'x', '-1', '0', '1.5', '9223372036854775807', '99999999999999999999']) {
      test(`${method} ${path} with the id ${id} is 404`, async () => {
        const response = await send(method, path.replace('{id}', id), { key: manager, body })
        assertError(response, 404, 'webhook_not_found')
      })
    }
  }

  test('key events require keys:manage, at registration and in an update', async () => {
    const body = { ...example, events: ['pet.created', 'key.created'] }
    const rejected = await send('POST', '/v1/webhooks', { key: manager, body })
    assertError(rejected, 403, 'insufficient_scope')
    assert.match(rejected.json.message, /keys:manage/)
    const { id } = await register(example.url)
    const response = await send('PATCH', `/v1/webhooks/${id}`, {
      key: manager,
      body: { events: ['key.revoked'] },
    })
    assertError(response, 403, 'insufficient_scope')
    assert.deepEqual((await get(id)).events, ['pet.created'])
  })

  test('without keys:manage, a webhook with key events can be neither redirected nor rotated', async () => {
    const { id } = await register(example.url, ['key.created'])
    for (const [method, path, body] of [
      ['PATCH', `/v1/webhooks/${id}`, { url: 'https://thief.example/' }],
      ['PATCH', `/v1/webhooks/${id}`, { status: 'paused' }],
      ['POST', `/v1/webhooks/${id}/rotate`, {}],
    ] as const) {
      assertError(await send(method, path, { key: manager, body }), 403, 'insufficient_scope')
    }
    const { url, status } = await get(id)
    assert.deepEqual({ url, status }, { url: example.url, status: 'enabled' })
  })
})

describe('messages', () => {
  test('carry the event and a Standard Webhooks signature', async () => {
    const endpoint = await receiver()
    const { secret } = await register(endpoint.url)
    const pet = await addPet()
    const message = await endpoint.until(1)
    const timestamp = new Date(service.now()).toISOString()
    assert.deepEqual(JSON.parse(message.body), { type: 'pet.created', timestamp, data: pet })
    assert.equal(message.path, '/hook')
    assert.equal(message.headers['content-type'], 'application/json')
    assert.equal(message.headers['user-agent'], 'Petstore-Webhooks/1')
    assert.equal(message.headers.authorization, undefined)
    assert.match(message.id, /^msg_\d+$/)
    assert.ok(isSignedWith(secret, message))
    assert.ok(!isSignedWith(`whsec_${Buffer.alloc(32).toString('base64')}`, message))
    for (const [name, change] of [
      ['body', { body: message.body.replace('Milo', 'Mila') }],
      ['id', { headers: { ...message.headers, 'webhook-id': 'msg_0' } }],
      [
        'time',
        {
          headers: {
            ...message.headers,
            'webhook-timestamp': String(Number(message.headers['webhook-timestamp']) + 1),
          },
        },
      ],
    ] as const) {
      assert.ok(!isSignedWith(secret, { ...message, ...change }), `with another ${name}`)
    }
  })
})

describe('a webhook', () => {
  test('cannot be set to disabled by a caller', async () => {
    const { id } = await register(example.url)
    const response = await send('PATCH', `/v1/webhooks/${id}`, { body: { status: 'disabled' } })
    assertError(response, 400, 'validation_failed')
  })
})

describe('rotation', () => {
  const rotate = async (id: number, body?: unknown) => {
    const { status, json, text } = await send('POST', `/v1/webhooks/${id}/rotate`, { body })
    assert.equal(status, 200, text)
    return json
  }

  test('without an overlap the previous secret ends immediately', async () => {
    const endpoint = await receiver()
    const { id, secret: old } = await register(endpoint.url)
    const { secret: fresh } = await rotate(id, { overlapSeconds: 0 })
    await addPet()
    const message = await endpoint.until(1)
    assert.ok(!isSignedWith(old, message) && isSignedWith(fresh, message))
  })

  test('rotated again within the overlap, the newest two secrets sign and the oldest ends at once', async () => {
    const endpoint = await receiver()
    const { id, secret: oldest } = await register(endpoint.url)
    const { secret: middle } = await rotate(id, { overlapSeconds: 3_600 })
    const { secret: newest } = await rotate(id, { overlapSeconds: 60 })
    const signers = (message: ReceivedMessage) =>
      [oldest, middle, newest].map((secret) => isSignedWith(secret, message))
    await addPet()
    assert.deepEqual(signers(await endpoint.until(1)), [false, true, true])
    // The overlap of the last rotation counts, not the rest of the one before.
    service.advance(60_000)
    await addPet()
    assert.deepEqual(signers(await endpoint.until(2)), [false, false, true])
  })

  test('the descriptions of both rotate operations state the effect of a second rotation', async () => {
    const { json } = await service.request('GET', '/v1/openapi.json')
    for (const path of ['/webhooks/{webhookId}/rotate', '/keys/{keyId}/rotate'])
      assert.match(json.paths[path].post.description, /rotate again .* ends immediately/i)
  })

  test('the default overlap is one day', async () => {
    const own = await startTestService(loopbackAllowed)
    const endpoint = await receiver()
    try {
      const { id } = await registerWebhook(own, endpoint.url)
      const key = own.operatorKey
      assert.equal((await own.request('POST', `/v1/webhooks/${id}/rotate`, { key })).status, 200)
      const signatures: number[] = []
      for (const ms of [day - 1, 1]) {
        own.advance(ms)
        await own.request('POST', `/v1/webhooks/${id}/test`, { key })
        const { headers } = await endpoint.until(signatures.length + 1)
        signatures.push(String(headers['webhook-signature']).split(' ').length)
      }
      assert.deepEqual(signatures, [2, 1])
    } finally {
      await own.stop()
    }
  })

  for (const overlapSeconds of [-1, 2_592_001, 1.5, '60', null]) {
    test(`an overlap of ${JSON.stringify(overlapSeconds)} is rejected`, async () => {
      const { id } = await register(example.url)
      const response = await send('POST', `/v1/webhooks/${id}/rotate`, { body: { overlapSeconds } })
      assertError(response, 400, 'validation_failed')
    })
  }
})
