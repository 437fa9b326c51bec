import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { registerWebhook } from '../support/webhookReceiver.ts'
import { type Delivery, stageWebhooks } from '../support/webhookStage.ts'

const second = 1_000
const hour = 3_600 * second

describe('the response of an endpoint', () => {
  for (const status of [200, 201, 202, 204, 299]) {
    test(`${status}: delivered`, async (t) => {
      const { service, endpoint, addPet, deliveries } = await stageWebhooks(t)
      const target = await endpoint()
      target.reply = status
      const { id } = await registerWebhook(service, target.url)
      await addPet()
      const [delivery] = await eventually('it is recorded', async () => {
        const found = await deliveries(id)
        return found[0]?.attempts === 1 && found
      })
      assert.deepEqual([delivery?.status, delivery?.lastStatus], ['delivered', status])
    })
  }

  for (const status of [300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 409, 429, 500, 503]) {
    test(`${status}: failed, to be retried`, async (t) => {
      const { service, endpoint, addPet, webhook, deliveries } = await stageWebhooks(t)
      const [target, redirectTarget] = [await endpoint(), await endpoint()]
      target.reply = { act: (response) => response.writeHead(status, { location: redirectTarget.url }).end() }
      const { id } = await registerWebhook(service, target.url)
      await addPet()
      const [delivery] = await eventually('it is recorded', async () => {
        const found = await deliveries(id)
        return found[0]?.attempts === 1 && found
      })
      const { lastStatus, lastError } = delivery as Delivery
      assert.deepEqual(
        [delivery?.status, lastStatus, lastError],
        ['pending', status, `The endpoint responded with ${status}.`],
      )
      assert.equal((await webhook(id)).status, 'enabled')
      assert.equal(redirectTarget.connections(), 0)
    })
  }

  test('410: the webhook is disabled immediately and receives nothing more', async (t) => {
    const { service, endpoint, addPet, webhook, deliveries, runDeliverer } = await stageWebhooks(t)
    const gone = await endpoint()
    gone.reply = 410
    const { id } = await registerWebhook(service, gone.url)
    await Promise.all(Array.from({ length: 5 }, () => addPet()))
    const disabled = await eventually('it is disabled', async () => {
      const found = await webhook(id)
      return found.status === 'disabled' && found
    })
    assert.equal(disabled.statusReason, 'The endpoint responded with 410 Gone.')
    const first = (await deliveries(id)).at(-1)
    assert.deepEqual([first?.status, first?.lastStatus], ['failed', 410])
    service.advance(hour)
    await addPet()
    await runDeliverer()
    assert.equal(gone.received.length, 1)
  })
})

describe('an endpoint that misbehaves', () => {
  /** Of the attempts that end with it. The others have more time, also on a busy machine. */
  const shortBounds = { attemptTimeoutMs: 300 }
  const noResponse = /^No response within 0\.3 seconds\.$/
  const respondWith = (text: string) => (socket: Socket) => void socket.end(text)
  const behaviors: [string, (socket: Socket) => void, RegExp][] = [
    ['does not respond', () => {}, noResponse],
    [
      'stops in the middle of the headers',
      (socket) => void socket.write('HTTP/1.1 200 OK\r\nX-Slow: '),
      noResponse,
    ],
    [
      'sends headers slowly without end',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        const timer = setInterval(() => socket.write('X-Drip: 1\r\n'), 20)
        socket.once('close', () => clearInterval(timer))
      },
      noResponse,
    ],
    [
      'sends 100 Continue without end',
      (socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 20)
        socket.once('close', () => clearInterval(timer))
      },
      noResponse,
    ],
    ['closes the connection', (socket) => void socket.end(), /^The connection failed \(ECONNRESET\)\.$/],
    [
      'resets the connection',
      (socket) => void socket.resetAndDestroy(),
      /^The connection failed \(ECONNRESET\)\.$/,
    ],
    [
      'sends something else than HTTP',
      respondWith('SSH-2.0-OpenSSH_9.9\r\n'),
      /^The connection failed \(HPE_\w+\)\.$/,
    ],
    [
      'sends too many header bytes',
      respondWith(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`),
      /\(HPE_HEADER_OVERFLOW\)/,
    ],
    [
      'switches protocols',
      respondWith('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      /^The endpoint did not send an HTTP response\.$/,
    ],
  ]
  for (const [name, behave, expected] of behaviors) {
    test(`${name}: the attempt ends and is retried`, async (t) => {
      const { service, addPet, deliveries } = await stageWebhooks(
        t,
        {},
        { bounds: expected === noResponse ? shortBounds : {} },
      )
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on('error', () => {})
        socket.once('data', () => behave(socket))
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      t.after(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
      const address = server.address() as { port: number }
      const { id } = await registerWebhook(service, `http://127.0.0.1:${address.port}/`)
      await addPet()
      for (let attempts = 1; attempts <= 2; attempts++) {
        const delivery = await eventually(`attempt ${attempts} is recorded`, async () => {
          const [found] = await deliveries(id)
          return found?.attempts === attempts && found
        })
        assert.match(String(delivery.lastError), expected)
        assert.deepEqual([delivery.status, delivery.lastStatus], ['pending', undefined])
        service.advance(6 * second)
      }
    })
  }

  test('sends an endless body: the status counts and the body is not read', async (t) => {
    const { service, endpoint, addPet, deliveries } = await stageWebhooks(t)
    const endless = await endpoint()
    let isCut = false
    endless.reply = {
      act(response) {
        response.writeHead(200)
        const timer = setInterval(() => response.write('x'.repeat(10_000)), 5)
        response.once('close', () => {
          clearInterval(timer)
          isCut = true
        })
      },
    }
    const { id } = await registerWebhook(service, endless.url)
    await addPet()
    await eventually('it is delivered', async () => (await deliveries(id))[0]?.status === 'delivered')
    await eventually('it is cut off', () => isCut)
  })

  test('refuses connections: failed, to be retried', async (t) => {
    const { service, endpoint, addPet, deliveries } = await stageWebhooks(t)
    const gone = await endpoint()
    await gone.stop()
    const { id } = await registerWebhook(service, gone.url)
    await addPet()
    const delivery = await eventually('it is recorded', async () => {
      const [found] = await deliveries(id)
      return found?.attempts === 1 && found
    })
    assert.equal(delivery.lastError, 'The connection failed (ECONNREFUSED).')
  })
})
