import { once } from 'node:events'
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** What the proxy does with a request. After the work, the service has processed the request in full. */
export type Fault =
  | 'none'
  | 'reset'
  | 'resetAfterWork'
  | 'truncatedAfterWork'
  /** The response is complete HTTP, but its body is not complete JSON. */
  | 'shortBodyAfterWork'
  | '429'
  /** The connection ends in the middle of the body. */
  | 'truncated429'
  | '503'
  | '503AfterWork'
  /** No response, and the connection stays open. */
  | 'silence'

export type FaultProxy = {
  readonly base: string
  /** How often each fault happened. */
  readonly counts: Map<Fault, number>
  /** Ends every connection. */
  cut(): void
}

type Reply = { status: number; headers: Record<string, string | string[] | undefined>; body: Buffer }

/** A proxy in front of the service. `faultOf` chooses the fault of each request. */
export async function startFaultProxy(
  t: Pick<TestContext, 'after'>,
  target: () => string,
  faultOf: (request: IncomingMessage) => Fault,
): Promise<FaultProxy> {
  const counts = new Map<Fault, number>()
  const agent = new Agent({ keepAlive: true })
  const server = createServer(async (request, response) => {
    const fault = faultOf(request)
    counts.set(fault, (counts.get(fault) ?? 0) + 1)
    try {
      await answer(fault, request, response)
    } catch {
      response.destroy()
    }
  })

  async function answer(fault: Fault, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (fault === 'reset') return void request.socket.resetAndDestroy()
    const body = await bodyOf(request)
    if (fault === 'silence') return
    if (fault === '429') return sendError(response, 429, 'rate_limit_exceeded')
    if (fault === 'truncated429') {
      response.writeHead(429, { 'retry-after': '0', 'content-length': '100' })
      return void response.write('{"code":', () => response.destroy())
    }
    if (fault === '503') return sendError(response, 503, 'unavailable')
    const isStream = request.headers.accept === 'text/event-stream'
    if (isStream && fault === 'none') return pipe(request, response)
    const reply = await forward(request, body)
    if (fault === 'resetAfterWork') return void request.socket.resetAndDestroy()
    if (fault === '503AfterWork') return sendError(response, 503, 'unavailable')
    const half = reply.body.subarray(0, reply.body.length / 2)
    if (fault === 'shortBodyAfterWork') {
      response.writeHead(reply.status, { ...reply.headers, 'content-length': half.length }).end(half)
    } else if (fault === 'truncatedAfterWork') {
      response.writeHead(reply.status, reply.headers)
      response.write(half, () => response.destroy())
    } else response.writeHead(reply.status, reply.headers).end(reply.body)
  }

  const connectTo = (request: IncomingMessage) =>
    httpRequest(new URL(request.url ?? '', target()), {
      agent,
      method: request.method,
      headers: request.headers,
    })

  async function forward(request: IncomingMessage, body: Buffer): Promise<Reply> {
    const outgoing = connectTo(request).end(body)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: await bodyOf(incoming) }
  }

  function pipe(request: IncomingMessage, response: ServerResponse): void {
    const outgoing = connectTo(request).end()
    outgoing.on('error', () => response.destroy())
    outgoing.on('response', (incoming) => {
      response.writeHead(incoming.statusCode ?? 0, incoming.headers)
      response.flushHeaders()
      incoming.on('error', () => response.destroy())
      incoming.pipe(response)
      response.on('close', () => incoming.destroy())
    })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { base, counts, cut: () => server.closeAllConnections() }
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function sendError(response: ServerResponse, status: number, code: string): void {
  const body = JSON.stringify({ code, message: 'A fault of the proxy.', status })
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' }).end(body)
}

/** A sequence of numbers from 0 to 1 that depends only on the seed. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
