import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { ApiError } from './errors.ts'

const headersTimeoutMs = 5_000
const requestTimeoutMs = 10_000
const keepAliveTimeoutMs = 65_000
const checkingIntervalMs = 1_000
const headerBytesMax = 16 * 1024
const connectionsMax = 10_000

const stopDeadlineMs = 10_000
/** How long a connection that looks idle may still have a request on its way to us. */
const stopGraceMs = 500
const stopPollMs = 20

export type Listener = {
  readonly port: number
  /** Answers what has come in, then closes every connection; after the deadline, by force. */
  stop(): Promise<void>
}

export type Fetch = (request: Request, remoteAddress: string) => Response | Promise<Response>

/** A hardened HTTP server on Node: slow, oversized and idle callers are cut off by the bounds above. */
export async function listen(
  fetch: Fetch,
  { host, port }: { host: string; port: number },
): Promise<Listener> {
  const serving = new Set<ServerResponse>()
  let isStopping = false
  const listener = getRequestListener(
    (request, env) => fetch(request, env.incoming.socket.remoteAddress ?? ''),
    { errorHandler: badRequest },
  )
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: checkingIntervalMs,
      maxHeaderSize: headerBytesMax,
    },
    (incoming, outgoing) => {
      serving.add(outgoing)
      outgoing.once('close', () => serving.delete(outgoing))
      if (isStopping) outgoing.setHeader('Connection', 'close')
      void listener(incoming, outgoing)
    },
  )
  server.maxConnections = connectionsMax
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })

  async function stop(): Promise<void> {
    isStopping = true
    for (const outgoing of serving) if (!outgoing.headersSent) outgoing.setHeader('Connection', 'close')
    // Closes the door alone: http's own close() would cut connections that look idle while a request is on its way.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
    const deadline = performance.now() + stopDeadlineMs
    await Promise.race([closed, pause(stopGraceMs)])
    server.closeIdleConnections()
    while (serving.size > 0 && performance.now() < deadline) {
      await pause(stopPollMs)
      server.closeIdleConnections()
    }
    server.closeAllConnections()
    await closed
  }

  return { port: (server.address() as AddressInfo).port, stop }
}

/** A request that HTTP lets through but that is no URL: a broken Host header, a backslash in the path. */
function badRequest(): Response {
  const { body, status } = new ApiError(
    'validation_failed',
    'The Host header or the address of the request is not valid.',
  )
  return Response.json(body, { status })
}
