import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '../../test/support/client.ts'

const callers = 4
const streams = 10
/** Each caller begins a turn at these intervals. So the rate, and with it the rows, do not depend on the speed of the machine. */
const turnMs = 500
/** Older animals are deleted, so that the number of animals levels off. */
const petsMax = 20
/** Few of the turns, because orders are never deleted. */
const ordersEvery = 20

export type SoakLoad = {
  /** `rejected`: with 503 and Retry-After. `failed`: with any other 5xx. */
  readonly counts: { requests: number; rejected: number; failed: number; delivered: number; streamed: number }
  stop(): Promise<void>
}

/**
 * Creates, orders, changes, deletes and lists, with a webhook and event streams. No searches: they are rejected when the index
 * is five seconds behind, which by the fast clock is a few milliseconds.
 */
export async function startSoakLoad(base: string, key: string): Promise<SoakLoad> {
  const counts = { requests: 0, rejected: 0, failed: 0, delivered: 0, streamed: 0 }
  const client = createClient(base)
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await client.request(method, path, { key, body })
    counts.requests++
    if (response.status === 503 && response.headers['retry-after'] !== undefined) counts.rejected++
    else if (response.status >= 500) counts.failed++
    return response
  }
  const receiver = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      counts.delivered++
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const webhook = await call('POST', '/v1/webhooks', {
    url: `http://127.0.0.1:${port}/`,
    events: ['pet.created', 'pet.deleted'],
  })
  if (webhook.status !== 201) throw new Error(`The webhook was not created: ${webhook.text}`)
  const sockets = Array.from({ length: streams }, () => openStream(base, key, counts))
  let isOver = false

  async function keepCalling(caller: number): Promise<void> {
    const pets: number[] = []
    let nextAt = performance.now()
    for (let turn = 0; !isOver; turn++) {
      const created = await call('POST', '/v1/pets', {
        name: `${caller} ${turn}`,
        categoryId: 1 + (turn % 20),
      })
      if (created.status === 201) pets.push(created.json.id)
      const pet = pets.at(-1)
      if (turn % ordersEvery === 0)
        await call('POST', '/v1/store/orders', { petId: pet, customer: { name: 'Robin' } })
      else await call('PATCH', `/v1/pets/${pet}`, { name: `changed ${turn}` })
      await call('GET', '/v1/pets?status=available')
      await call('GET', '/v1/store/inventory')
      if (pets.length > petsMax) {
        const oldest = pets.shift() as number
        // Its order may still hold it.
        if ((await call('DELETE', `/v1/pets/${oldest}`)).status === 409) pets.push(oldest)
      }
      nextAt += turnMs
      await pause(Math.max(0, nextAt - performance.now()))
    }
  }
  const calling = Promise.all(Array.from({ length: callers }, (_, caller) => keepCalling(caller)))
  calling.catch(() => {})
  return {
    counts,
    async stop() {
      isOver = true
      await calling
      for (const socket of sockets) socket.destroy()
      client.closeConnections()
      receiver.closeAllConnections()
      receiver.close()
    },
  }
}

function openStream(base: string, key: string, counts: SoakLoad['counts']) {
  const { hostname, port } = new URL(base)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.on('data', (bytes: Buffer) => {
    counts.streamed += bytes.toString('latin1').split('\nid: ').length - 1
  })
  socket.write(
    `GET /v1/events HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\nAccept: text/event-stream\r\n\r\n`,
  )
  return socket
}
