import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { byService } from '../../src/audit/audit.ts'
import type { Key } from '../../src/keys/key.ts'
import { findKey, revokeKey } from '../../src/keys/queries.ts'
import { eventually } from '../support/eventually.ts'
import { openRawConnection, type RawConnection } from '../support/rawConnection.ts'
import { amplePlan } from '../support/responses.ts'
import { useService } from '../support/useService.ts'

/** Streams as bytes of the connection. */
const callers: RawConnection[] = []
after(() => {
  for (const { socket } of callers) socket.destroy()
})
const service = useService()

const makeKey = () => service.makeKey({ ...amplePlan, scopes: ['events:read', 'pets:read'] })
const revoke = (id: number) => service.request('DELETE', `/v1/keys/${id}`, { key: service.operatorKey })
const request = (path: string, key: string, version = '1.1', accept = 'text/event-stream') =>
  `GET /v1${path} HTTP/${version}\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\nAccept: ${accept}\r\n\r\n`
async function open(...requests: string[]): Promise<RawConnection> {
  const caller = await openRawConnection(service.base, requests.join(''))
  callers.push(caller)
  return caller
}
async function addPet(name: string): Promise<void> {
  const body = { name, categoryId: 3 }
  const { status } = await service.request('POST', '/v1/pets', { key: service.operatorKey, body })
  assert.equal(status, 201)
}
const received = (caller: RawConnection, text: string) =>
  eventually(`"${text}" on the connection`, () => caller.received().includes(text))

/** The bodies after the heads, joined from their chunks. */
function unchunked(text: string): { body: string; rest: string } {
  let body = ''
  let at = 0
  for (;;) {
    const end = text.indexOf('\r\n', at)
    const length = Number.parseInt(text.slice(at, end), 16)
    assert.ok(Number.isInteger(length), `A chunk begins with its length: ${text.slice(at, at + 40)}`)
    body += text.slice(end + 2, end + 2 + length)
    at = end + 2 + length
    assert.equal(text.slice(at, at + 2), '\r\n')
    at += 2
    if (length === 0) return { body, rest: text.slice(at) }
  }
}

describe('a stream', () => {
  test('is sent in whole chunks, and the next request of its connection gets its response after it', async () => {
    const { id, key } = await makeKey()
    const listPets = request('/pets?limit=1', service.operatorKey, '1.1', '*/*')
    const caller = await open(request('/events', key), listPets)
    await received(caller, ': listening')
    for (const name of ['Zoë', 'Łuna 🐾']) await addPet(name)
    await received(caller, Buffer.from('"name":"Łuna 🐾"').toString('latin1'))
    await revoke(id)
    await eventually('the response after it', () => caller.received().split('HTTP/1.1 200').length === 3)
    const text = caller.received()
    const { body, rest } = unchunked(text.slice(text.indexOf('\r\n\r\n') + 4))
    const blocks = Buffer.from(body, 'latin1').toString('utf8').split('\n\n')
    assert.equal(blocks[0], ': listening')
    assert.equal(blocks.at(-2), ': access ended, reconnect for the error')
    assert.equal(blocks.filter((block) => block.includes('event: pet.created')).length, 2)
    assert.match(rest, /^HTTP\/1\.1 200 OK\r\n/)
  })

  test('begins after the responses to the requests before it on its connection', async () => {
    const { key } = await makeKey()
    const list = request('/pets?limit=1', key, '1.1', '*/*')
    const caller = await open(list, list, request('/events', key))
    await received(caller, ': listening')
    await addPet('Behind')
    await received(caller, '"name":"Behind"')
    assert.equal(caller.received().split('HTTP/1.1 200').length, 4)
  })

  test('does not count as open while it waits behind another on its connection', async () => {
    const { key } = await service.makeKey({
      plan: 'enterprise',
      limits: { streams: 1 },
      scopes: ['events:read'],
    })
    const first = await open(request('/events', service.operatorKey), request('/events', key))
    await received(first, ': listening')
    const next = await open(request('/events', key))
    await received(next, ': listening')
    first.socket.destroy()
  })

  test('is sent to HTTP/1.0 without chunks', async () => {
    const { id, key } = await makeKey()
    const caller = await open(request('/events', key, '1.0'))
    await received(caller, '\r\n\r\n: listening\n\n')
    await addPet('Old')
    await received(caller, '"name":"Old"')
    await revoke(id)
    await caller.closed
    assert.doesNotMatch(caller.received(), /transfer-encoding/i)
    assert.match(caller.received(), /reconnect for the error\n\n$/)
  })

  test('is the same for a target that must be normalized', async () => {
    const { id, key } = await makeKey()
    const caller = await open(request('/events?by="the/long/way"', key))
    await received(caller, ': listening')
    await addPet('Odd')
    await received(caller, '"name":"Odd"')
    await revoke(id)
    await received(caller, 'reconnect for the error')
  })
})

test('a stream with a key that another process has just revoked ends', async () => {
  const { id, key } = await makeKey()
  // The service has cached the key, and notices the change within half a second.
  await service.request('GET', '/v1/limits', { key })
  const database = await service.openDatabase()
  await database.write(async (trx) =>
    revokeKey(trx, (await findKey(trx, id)) as Key, byService(service.now())),
  )
  const caller = await open(request('/events', key))
  await eventually('an error, or the end of the stream', () =>
    /HTTP\/1\.1 401|connect again/.test(caller.received()),
  )
})

describe('a stream whose connection cannot be read further ends immediately', () => {
  const scenarios: [what: string, requests: (key: string) => string][] = [
    ['bytes that are not HTTP follow', (key) => `${request('/events', key)}\x01\x02\r\n\r\n`],
    ['a second request follows over HTTP/1.0', (key) => request('/events', key, '1.0').repeat(2)],
    [
      'a second request follows after Connection: close',
      (key) => request('/events', key).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n').repeat(2),
    ],
  ]
  for (const [what, requests] of scenarios) {
    test(`where ${what}`, async () => {
      const { key } = await service.makeKey({ plan: 'free', scopes: ['events:read'] })
      // The plan allows two streams: with the third, the first has ended.
      for (let n = 0; n < 3; n++) {
        const caller = await open(requests(key))
        await caller.closed
        assert.doesNotMatch(caller.received(), /too_many_streams/)
      }
    })
  }
})

test('a stream resumes from the largest possible id', async () => {
  const { key } = await makeKey()
  const headers = { accept: 'text/event-stream', 'last-event-id': String(Number.MAX_SAFE_INTEGER) }
  // It is after the newest event, but it is a valid id.
  assert.equal((await service.request('GET', '/v1/events', { key, headers })).status, 410)
  const beyond = { ...headers, 'last-event-id': String(2 ** 53) }
  assert.equal((await service.request('GET', '/v1/events', { key, headers: beyond })).status, 400)
})
