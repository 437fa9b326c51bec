import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { before, describe, type TestContext, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { openRawConnection, type RawConnection } from '../support/rawConnection.ts'
import { useService } from '../support/useService.ts'

/** Clients that send a second request, or other bytes, before the first response. */
const service = useService()
/** At most so much is read from a connection at once. */
const readBytes = 65_536
const probe = 'GET /healthz HTTP/1.1\r\nHost:x\r\n\r\n'
let key: string
const serverSockets: Socket[] = []
before(async () => {
  key = service.operatorKey
  subscribe('net.server.socket', (message) => serverSockets.push((message as { socket: Socket }).socket))
})

/** Undefined once it is closed. */
const serverSocketOf = ({ socket }: RawConnection): Socket | undefined =>
  serverSockets.find(({ remotePort }) => remotePort === socket.localPort)

async function closedConnections(reason: string): Promise<number> {
  const { text: metrics } = await service.request('GET', '/metrics', { key })
  return Number(
    new RegExp(`^petstore_connections_closed_total\\{.*"${reason}".*\\} (\\d+)$`, 'm').exec(metrics)?.[1],
  )
}

function text(method: string, path: string, body?: unknown): string {
  const json = body === undefined ? '' : JSON.stringify(body)
  return (
    `${method} /v1${path} HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\n` +
    `${json === '' ? '' : `Content-Length: ${json.length}\r\n`}\r\n${json}`
  )
}

const create = (name: string) => text('POST', '/pets', { name, categoryId: 1 })

async function newPet(name: string): Promise<number> {
  const { json } = await service.request('POST', '/v1/pets', { key, body: { name, categoryId: 1 } })
  return json.id
}

const responsesTo = async (count: number, requests: string) => {
  const caller = await openRawConnection(service.base, requests)
  const responses: { status: number; body: string }[] = []
  while (responses.length < count) responses.push(await caller.response())
  caller.socket.destroy()
  return responses
}

describe('a request after a change sees the change', () => {
  test('a change and a removal', async () => {
    const id = await newPet('old')
    const path = `/pets/${id}`
    const responses = await responsesTo(
      3,
      text('PATCH', path, { name: 'new' }) + text('DELETE', path) + text('GET', path),
    )
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 204, 404],
    )
  })

  test('a change and a read, with a plain target and one that must be normalized', async () => {
    const id = await newPet('old')
    const path = `/pets/${id}`
    const responses = await responsesTo(
      4,
      text('PATCH', path, { name: 'new' }) +
        text('GET', path) +
        text('GET', `${path}?x=%22`) +
        text('GET', `${path}?x="`),
    )
    for (const { status, body } of responses) assert.deepEqual([status, JSON.parse(body).name], [200, 'new'])
  })

  test('more requests than may be queued', async () => {
    const names = Array.from({ length: 150 }, (_, n) => `In line ${n}`)
    const responses = await responsesTo(names.length, names.map(create).join(''))
    const made = responses.map(({ body }) => JSON.parse(body))
    assert.deepEqual(
      made.map(({ name }) => name),
      names,
    )
    const ids = made.map(({ id }) => id)
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    )
  })

  test('more requests than are read in one chunk', async () => {
    const look = text('GET', '/store/inventory')
    const looks = Math.ceil((2 * readBytes) / look.length)
    const responses = await responsesTo(1 + looks, create('First') + look.repeat(looks))
    assert.deepEqual(new Set(responses.slice(1).map(({ status }) => status)), new Set([200]))
  })
})

describe('a change gets its own response', () => {
  const nonsense = {
    'no HTTP': 'GARBAGE\r\n\r\n',
    'two lengths': `${create('x').replace('\r\n', '\r\nContent-Length: 1\r\n')}`,
    'a body that is none': `POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
  }
  for (const [name, bytes] of Object.entries(nonsense)) {
    test(`before ${name} on the same connection, which is rejected and closed`, async () => {
      const caller = await openRawConnection(service.base, create('First') + create('Second') + bytes)
      const responses = [await caller.response(), await caller.response(), await caller.response()]
      assert.deepEqual(
        responses.map(({ status }) => status),
        [201, 201, 400],
      )
      assert.match(responses[2]?.head ?? '', /^Connection: close$/m)
      await caller.closed
      for (const { body } of responses.slice(0, 2)) {
        const { id, name } = JSON.parse(body)
        const found = await service.request('GET', `/v1/pets/${id}`, { key })
        assert.equal(found.json.name, name)
      }
    })
  }

  test('a caller that closes its side may lose the response, and can retry with the same Idempotency-Key', async () => {
    const name = 'Last word'
    const retry = { key, body: { name, categoryId: 1 }, headers: { 'Idempotency-Key': 'half-closed' } }
    const caller = await openRawConnection(service.base)
    caller.socket.end(create(name).replace('\r\n\r\n', '\r\nIdempotency-Key: half-closed\r\n\r\n'))
    await caller.closed
    let created = await service.request('POST', '/v1/pets', retry)
    await eventually('the first request has ended', async () => {
      if (created.status === 409) created = await service.request('POST', '/v1/pets', retry)
      return created.status === 201
    })
    const { json } = await service.request('GET', '/v1/pets?limit=100', { key })
    assert.equal(json.filter((pet: { name: string }) => pet.name === name).length, 1)
  })
})

test('a request whose body ends early gets its response, also when it follows others', async () => {
  const early = create('Early').slice(0, -5)
  const callers = Array.from({ length: 50 }, async () => {
    const caller = await openRawConnection(service.base)
    caller.socket.end(probe + probe + early)
    return caller
  })
  for (const caller of await Promise.all(callers)) {
    await eventually('the connection is closed', () => caller.socket.closed)
    assert.equal(caller.received().split('HTTP/1.1 400 ').length, 2)
  }
})

test('a stream ends when its client closes its side of the connection', async () => {
  const caller = await openRawConnection(
    service.base,
    text('GET', '/events').replace('\r\n\r\n', '\r\nAccept: text/event-stream\r\n\r\n'),
  )
  const begun = new Promise((resolve) => caller.socket.once('data', resolve))
  await begun
  assert.match(caller.received(), /^HTTP\/1\.1 200 /)
  caller.socket.end()
  await caller.closed
})

test('a dozen concurrent unusual requests cause no warning', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  try {
    await responsesTo(12, text('GET', '/pets?x="').repeat(12))
    // Warnings are emitted in the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(warnings, [])
  } finally {
    process.off('warning', note)
  }
})

test('a request with two keys is rejected, with a plain target and one that must be normalized', async () => {
  for (const path of ['/v1/pets', '/v1/pets?x="']) {
    const two = `Authorization: Bearer ${key}\r\n`.repeat(2)
    const caller = await openRawConnection(
      service.base,
      `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${two}\r\n`,
    )
    const { status, body } = await caller.response()
    caller.socket.destroy()
    assert.deepEqual([status, JSON.parse(body).code], [401, 'missing_api_key'])
  }
})

test('after a request that cannot be accepted, nothing more is read', async () => {
  const accepted = 300
  const tooMany = probe.replace('\r\n\r\n', `\r\n${'X: y\r\n'.repeat(100)}\r\n`)
  const caller = await openRawConnection(
    service.base,
    probe.repeat(accepted) + tooMany + probe.repeat(200_000),
  )
  for (let n = 0; n < accepted; n++) assert.equal((await caller.response()).status, 200)
  const bytesRead = serverSocketOf(caller)?.bytesRead ?? 0
  assert.ok(bytesRead > 0 && bytesRead < 300_000, `${bytesRead} bytes were read`)
  assert.equal((await caller.response()).status, 431)
  caller.socket.destroy()
})

test('a connection that is closed behind bytes that are no request is logged at most once', async () => {
  const linesBefore = service.logLines.length
  const caller = await openRawConnection(service.base, `${text('GET', '/pets').repeat(300)}GARBAGE\r\n\r\n`)
  await caller.response()
  const socket = serverSocketOf(caller)
  caller.socket.resetAndDestroy()
  await eventually('the service has noticed it', () => socket?.closed)
  await newPet('later')
  const invalid = service.logLines.slice(linesBefore).filter((line) => JSON.parse(line).status === 400)
  assert.ok(invalid.length <= 1, `${invalid.length} lines`)
})

describe('a flood of pipelined requests', () => {
  /** One write with more requests than are read from a connection in one chunk. */
  const flood = (target: string) =>
    `GET ${target} HTTP/1.1\r\nHost: petstore\r\n\r\n`.repeat(Math.floor(60_000 / (target.length + 37)))
  const look = () => service.request('GET', '/v1/pets?limit=1', { key })

  for (const target of ['/docs', '/healthz', '/v1/pets', '/nowhere']) {
    test(`of ${target} does not hold up the request of another client`, async () => {
      await look()
      const count = flood(target).split('GET ').length - 1
      const [first, ...others] = await Promise.all(
        Array.from({ length: 5 }, () => openRawConnection(service.base, flood(target))),
      )
      await first?.response()
      let responded = 1
      const counting = (async () => {
        while (responded < count) {
          await first?.response()
          responded++
        }
      })().catch(() => {})
      assert.equal((await look()).status, 200)
      assert.ok(responded < count / 2, `${responded} of ${count} went before it`)
      for (const { socket } of [first, ...others].filter((caller) => caller !== undefined)) socket.destroy()
      await counting
    })
  }

  test('is not processed after its client has disconnected', async () => {
    const rejected = async () => {
      const { text: metrics } = await service.request('GET', '/metrics', { key })
      const lines = [...metrics.matchAll(/^petstore_refusals_total\{.*\} (\d+)$/gm)]
      return lines.reduce((sum, [, count]) => sum + Number(count), 0)
    }
    const before = await rejected()
    const requests = flood('/v1/pets')
    const caller = await openRawConnection(service.base, requests)
    await caller.response()
    caller.socket.destroy()
    await caller.closed
    // The close is noticed at the next read of the connection, and the request that runs is still counted.
    const soon = await eventually('no request runs', async () => {
      const count = await rejected()
      await look()
      return (await rejected()) === count && count
    })
    assert.ok(soon > before && soon - before < requests.split('GET ').length - 1, `${soon - before} served`)
    for (let n = 0; n < 5; n++) await look()
    assert.equal(await rejected(), soon)
  })
})

// Last, because the service notices only with a heartbeat that a client has left whose connection it does not read.
describe('while requests wait behind event streams', () => {
  const stream = () => text('GET', '/events').replace('\r\n\r\n', '\r\nAccept: text/event-stream\r\n\r\n')
  /** Opens streams, and sends this behind each of them. */
  async function block(t: TestContext, streams: number, requests: string): Promise<RawConnection[]> {
    const blocked = await Promise.all(
      Array.from({ length: streams }, () => openRawConnection(service.base, stream())),
    )
    t.after(() => {
      for (const { socket } of blocked) socket.destroy()
    })
    for (const { received } of blocked)
      await eventually('the stream begins', () => received().includes(': listening'))
    for (const { socket } of blocked) socket.write(requests)
    return blocked
  }

  /** The service reads a few times 64 KB from each, and then nothing more. */
  async function assertPaused(callers: readonly RawConnection[]): Promise<void> {
    for (let turns = 0; turns < 50; turns++)
      assert.equal((await service.request('GET', '/healthz')).status, 200)
    for (const caller of callers) {
      assert.equal(caller.socket.closed, false)
      const bytesRead = serverSocketOf(caller)?.bytesRead ?? 0
      assert.ok(bytesRead > 0 && bytesRead < 300_000, `${bytesRead} bytes were read`)
    }
  }

  test('other connections are read', async (t) => {
    await block(t, 3, probe.repeat(90))
    // More than are read at once, twice.
    const look = text('GET', '/store/inventory')
    const looks = Math.ceil((2.5 * readBytes) / look.length)
    const responses = await responsesTo(looks, look.repeat(looks))
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]))
  })

  test('a stream begins after many requests on its connection, and stays open', async (t) => {
    await block(t, 3, probe.repeat(90))
    const caller = await openRawConnection(service.base, probe.repeat(150) + stream())
    t.after(() => caller.socket.destroy())
    for (let n = 0; n < 150; n++) assert.equal((await caller.response()).status, 200)
    await eventually('the stream begins', () => caller.received().includes(': listening'))
    const id = await newPet('Seen on the stream')
    await eventually('an event', () => caller.received().includes(`"id":${id},`))
  })

  test('their connection is not read further, also if they have bodies', async (t) => {
    // Sizes with which a request ends at different places of what is read at once.
    for (const size of [0, 3, 7, 13, 21])
      await assertPaused(await block(t, 1, create('x'.repeat(1 + size)).repeat(12_000)))
  })

  test('a body of unknown length is not read further until its request is served', async (t) => {
    const head = text('POST', '/pets').replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n')
    await assertPaused(await block(t, 1, head + '1\r\n \r\n'.repeat(400_000)))
    // Requests that are whole weigh as little as others.
    const whole = `${head}2\r\n{}\r\n0\r\n\r\n`
    const statuses = (await responsesTo(150, whole.repeat(150))).map(({ status }) => status)
    assert.deepEqual(new Set(statuses), new Set([400]))
  })

  for (const [what, streams, requests] of [
    // Fewer than 2,000 on each connection, and more than 20,000 together.
    ['too many of them', 14, probe.repeat(1_817)],
    [
      'fewer of them with many headers',
      90,
      probe.replace('\r\n\r\n', `\r\n${'X:y\r\n'.repeat(99)}\r\n`).repeat(110),
    ],
  ] as const)
    test(`${what} close one of their connections, and none of others`, async (t) => {
      const [other] = await block(t, 1, probe.repeat(10))
      const closed = () => closedConnections('pipelined')
      const closedBefore = await closed()
      const blocked = await block(t, streams, requests)
      await eventually('one is closed', () => blocked.some(({ socket }) => socket.closed))
      assert.equal(other?.socket.closed, false)
      assert.ok((await closed()) > closedBefore)
      for (const count of [30, 300])
        assert.deepEqual(
          new Set((await responsesTo(count, probe.repeat(count))).map(({ status }) => status)),
          new Set([200]),
        )
    })
})
