import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../support/eventually.ts'
import { openRawConnection, type RawConnection } from '../support/rawConnection.ts'
import { type Server, serverFor } from '../support/servers.ts'

/** After this time the server closes the remaining connections. With well-behaved clients a stop takes far less. */
const stopDeadlineMs = 10_000
const slackMs = 2_000
/** Signals closer together than this count as one. */
const sameSignalMs = 100

type Acknowledged = { id: number; name: string }
type Seen = { responses: number; acknowledged: Acknowledged[]; problems: string[]; isRefused: boolean }

/** One client that reads and adds in turn until new connections are refused. */
async function keepCalling(base: string, key: string, name: string, keepAlive: boolean): Promise<Seen> {
  const agent = new Agent({ keepAlive, maxSockets: 1 })
  const seen: Seen = { responses: 0, acknowledged: [], problems: [], isRefused: false }
  for (let turn = 0; !seen.isRefused && seen.problems.length === 0; turn++) {
    const body = turn % 2 === 0 ? undefined : JSON.stringify({ name: `${name}-${turn}`, categoryId: turn })
    await new Promise<void>((resolve) => {
      const outgoing = httpRequest(
        `${base}/v1/pets`,
        { agent, method: body ? 'POST' : 'GET', headers: { authorization: `Bearer ${key}` } },
        (incoming) => {
          let text = ''
          incoming.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk
          })
          incoming.on('error', (error) =>
            seen.problems.push(`disconnected during the response: ${error.message}`),
          )
          incoming.on('end', () => {
            if (!incoming.complete) return
            seen.responses++
            if (incoming.statusCode !== (body ? 201 : 200))
              seen.problems.push(`${incoming.statusCode} ${text}`)
            else if (body) seen.acknowledged.push(JSON.parse(text))
          })
          incoming.on('close', () => {
            if (!incoming.complete) seen.problems.push('the response ended early')
            resolve()
          })
        },
      )
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED') seen.isRefused = true
        else seen.problems.push(`${error.code ?? ''} ${error.message}`)
        resolve()
      })
      outgoing.end(body)
    })
  }
  agent.destroy()
  return seen
}

describe('SIGTERM under load breaks no request and loses nothing', () => {
  const rounds = 6
  const callers = 8

  for (const [kind, keepAlive] of [
    ['that keep their connection', true],
    ['that open a connection for each request', false],
  ] as const) {
    test(`${rounds} stops, ${callers} callers ${kind}`, async (t) => {
      const acknowledged: Acknowledged[] = []
      const first = await serverFor(t)
      const key = first.operatorKey as string
      let server: Server = first
      for (let round = 0; round < rounds; round++) {
        if (round > 0) server = await serverFor(t, first.databaseEnv)
        const load = Array.from({ length: callers }, (_, n) =>
          keepCalling(server.base, key, `${round}-${n}`, keepAlive),
        )
        await eventually('the load is on', async () =>
          (await server.request('GET', `/v1/pets?limit=1`, { key })).json[0]?.name.startsWith(`${round}-`),
        )
        await pause(Math.random() * 200)
        server.child.kill('SIGTERM')
        const { code, signal } = await server.ended
        assert.deepEqual({ code, signal }, { code: 0, signal: null })
        for (const seen of await Promise.all(load)) {
          assert.deepEqual(seen.problems, [])
          assert.ok(seen.isRefused && seen.responses > 0)
          acknowledged.push(...seen.acknowledged)
        }
      }
      const last = await serverFor(t, first.databaseEnv)
      const remaining = await allPets(last, key)
      assert.ok(acknowledged.length > rounds * callers)
      for (const { id, name } of acknowledged) assert.equal(remaining.get(id), name)
      assert.equal(remaining.size, acknowledged.length, 'and nothing else was added')
    })
  }
})

/** A request whose second half is still to come, and a second connection that is open already. */
async function withRequestInFlight(t: TestContext) {
  const server = await serverFor(t)
  const body = JSON.stringify({ name: 'slow', categoryId: 1 })
  const head = [
    'POST /v1/pets HTTP/1.1',
    'Host: petstore',
    `Authorization: Bearer ${server.operatorKey}`,
    `Content-Length: ${body.length}`,
    '\r\n',
  ].join('\r\n')
  const [slow, other] = [
    await openRawConnection(server.base, head, body.slice(0, 10)),
    await openRawConnection(server.base),
  ]
  t.after(() => slow.socket.destroy())
  t.after(() => other.socket.destroy())
  assert.equal((await ready(other)).status, 200)
  return { server, slow, other, finish: () => slow.socket.write(body.slice(10)) }
}

const petsRequest = (server: Server) =>
  `GET /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${server.operatorKey}\r\n\r\n`

const ready = async (caller: RawConnection) => {
  caller.socket.write('GET /readyz HTTP/1.1\r\nHost: petstore\r\n\r\n')
  return caller.response()
}

/** On a connection that was open before, the server says when it has begun to stop. */
const untilStopping = (caller: RawConnection) =>
  eventually('readyz says 503', async () => {
    const response = await ready(caller)
    return response.status === 503 && response
  })

describe('while it stops', { concurrency: 2 }, () => {
  test('readyz returns 503, new connections are refused, and the request in progress gets its complete response', async (t) => {
    const { server, slow, other, finish } = await withRequestInFlight(t)
    server.child.kill('SIGTERM')
    const { head, body } = await untilStopping(other)
    assert.deepEqual(JSON.parse(body), { status: 'not ready' })
    assert.match(head, /^connection: close$/im)
    assert.equal((await other.closed).error, undefined)
    // A probe that was in progress when the stop began gets its response just before the port is closed.
    await eventually(
      'new connections are refused',
      async () => (await codeOfNewConnection(server.base)) === 'ECONNREFUSED',
    )
    finish()
    const response = await slow.response()
    assert.equal(response.status, 201)
    assert.match(response.head, /^connection: close$/im)
    assert.equal(JSON.parse(response.body).name, 'slow')
    assert.equal((await slow.closed).error, undefined)
    assert.equal((await server.ended).code, 0)
    const next = await serverFor(t, server.databaseEnv)
    assert.deepEqual([...(await allPets(next, server.operatorKey as string)).values()], ['slow'])
  })

  test('a client that sends its next request a moment later gets its response', async (t) => {
    const { server, other } = await withRequestInFlight(t)
    const second = await openRawConnection(server.base)
    t.after(() => second.socket.destroy())
    assert.equal((await ready(second)).status, 200)
    server.child.kill('SIGTERM')
    // The pause is the scenario: a client that computes between two requests, on a busy machine.
    await pause(300)
    for (const caller of [other, second]) {
      caller.socket.write(petsRequest(server))
      const { status, head } = await caller.response()
      assert.equal(status, 200)
      assert.match(head, /^connection: close$/im)
    }
  })

  test('a connection that is opened a moment before and has sent nothing gets its response', async (t) => {
    const { server, other } = await withRequestInFlight(t)
    const fresh = await openRawConnection(server.base)
    t.after(() => fresh.socket.destroy())
    server.child.kill('SIGTERM')
    await untilStopping(other)
    fresh.socket.write(petsRequest(server))
    assert.equal((await fresh.response()).status, 200)
  })

  test('idle connections are closed without a reset, and do not delay it', async (t) => {
    const server = await serverFor(t)
    const idle = await Promise.all(Array.from({ length: 5 }, () => openRawConnection(server.base)))
    for (const caller of idle.slice(1)) assert.equal((await ready(caller)).status, 200)
    const since = performance.now()
    server.child.kill('SIGTERM')
    assert.equal((await server.ended).code, 0)
    assert.ok(performance.now() - since < stopDeadlineMs / 2)
    for (const caller of idle) assert.equal((await caller.closed).error, undefined)
  })

  test('a second signal ends it immediately', async (t) => {
    const { server, other } = await withRequestInFlight(t)
    server.child.kill('SIGTERM')
    await untilStopping(other)
    // The pause is the scenario: signals closer together count as one.
    await pause(sameSignalMs + 50)
    const since = performance.now()
    server.child.kill('SIGTERM')
    const { code } = await server.ended
    assert.notEqual(code, 0, 'and does not claim to have stopped cleanly')
    assert.ok(performance.now() - since < stopDeadlineMs / 2)
  })

  test('an interrupt that arrives twice, from the terminal and through npm, is one', async (t) => {
    const { server, slow, other, finish } = await withRequestInFlight(t)
    server.child.kill('SIGINT')
    server.child.kill('SIGTERM')
    await untilStopping(other)
    finish()
    assert.equal((await slow.response()).status, 201)
    assert.equal((await server.ended).code, 0)
  })

  test('a client that never finishes delays it no longer than the deadline', async (t) => {
    const { server, slow } = await withRequestInFlight(t)
    const since = performance.now()
    server.child.kill('SIGTERM')
    assert.equal((await server.ended).code, 0)
    assert.ok(performance.now() - since < stopDeadlineMs + slackMs)
    await slow.closed
  })
})

test('a stalled reader of the log does not prevent the server from exiting', {
  timeout: 60_000,
}, async (t) => {
  const server = await serverFor(t)
  const { stderr } = server.child
  const exited = once(server.child, 'exit')
  stderr.pause()
  try {
    // Far more than the pipe holds. Not one long word: it would be redacted as a secret.
    const path = `/v1/${'far-'.repeat(1_500)}`
    for (let n = 0; n < 300; n++) {
      assert.equal((await server.request('GET', path, { key: server.operatorKey })).status, 404)
    }
    server.closeConnections()
    server.child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
  } finally {
    stderr.resume()
  }
})

async function allPets(server: Server, key: string): Promise<Map<number, string>> {
  const pets = new Map<number, string>()
  let path: string | undefined = '/v1/pets?limit=100'
  while (path) {
    const { headers, json }: { headers: Record<string, unknown>; json: Acknowledged[] } =
      await server.request('GET', path, { key })
    for (const { id, name } of json) {
      assert.ok(!pets.has(id))
      pets.set(id, name)
    }
    path = /<([^>]+)>; rel="next"/.exec(String(headers.link ?? ''))?.[1]
  }
  return pets
}

function codeOfNewConnection(base: string): Promise<string | undefined> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy()
      resolve(undefined)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
  })
}
