import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { http } from '../nodeHttp.ts'
import { Connections } from './connections.ts'
import { lingeringClose } from './lingeringClose.ts'
import { closeIfStalled, NodeRequest, writeResponse } from './nodeAdapter.ts'
import { hasUnambiguousLength, toRequestProblem, unreadableRequest, writeToSocket } from './protocolErrors.ts'
import type { Handlers, ListenAddress, ListenBounds, RunningServer } from './server.ts'
import { Shutdown } from './shutdown.ts'

const defaultHeadersMs = 5_000
const serverOptions: ServerOptions = {
  requestTimeout: 10_000,
  // Idle connections are closed by a sweep instead of a timer for each response.
  keepAliveTimeout: 0,
  maxHeaderSize: 16 * 1024,
  // Two contradicting values become one that is not valid.
  joinDuplicateHeaders: true,
  // Without it Node responds 400 without a body; the adapter checks the header.
  requireHostHeader: false,
}
const defaultIdleMs = 65_000
/** A connection is closed when it is idle in more sweeps than this. */
const idleSweepsMax = 12
const defaultConnectionsMax = 10_000
const defaultUnfinishedMs = 1_000

/** An HTTP server on Node that closes the connections of slow, oversized and idle clients. */
export async function listenOnNode(
  { handle, onConnectionClosed = () => {} }: Handlers,
  { host, port }: ListenAddress,
  bounds: ListenBounds,
): Promise<RunningServer> {
  const { connectionsMax = defaultConnectionsMax } = bounds
  const connections = new Connections(
    {
      connectionsMax,
      connectionsPerAddressMax: bounds.connectionsPerAddressMax ?? connectionsMax,
      unfinishedMs: bounds.unfinishedMs ?? defaultUnfinishedMs,
      addressGroup: bounds.addressGroup ?? ((address) => address),
      onClosed: onConnectionClosed,
    },
    {
      serve: ({ request, response }) => void serve(request, response),
      reject: (socket, problem) => void reject(socket, problem),
    },
  )

  async function serve(request: NodeRequest, response: ServerResponse): Promise<void> {
    try {
      if (shutdown.listenerClosed) await shutdown.listenerClosed
      writeResponse(request, response, await handle(request), shutdown.isStopping)
      closeIfStalled(response, bounds.stalledMs)
    } catch {
      // The client must not wait for a response that cannot be written.
      response.destroy()
    }
  }

  async function reject(socket: Socket, problem: ReturnType<typeof toRequestProblem>): Promise<void> {
    try {
      writeToSocket(socket, await handle(unreadableRequest(socket, problem)))
      lingeringClose(socket)
    } catch {
      socket.destroy()
    }
  }

  const onRequest = (message: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(message.socket)
    if (!hasUnambiguousLength(message.headers['transfer-encoding'], message.httpVersion))
      return connection?.fail('invalid_http')
    connection?.add({ request: new NodeRequest(message, response), response })
  }
  const { headersMs = defaultHeadersMs } = bounds
  const timeouts = { headersTimeout: headersMs, connectionsCheckingInterval: headersMs / 5 }
  const server = http.createServer({ ...serverOptions, ...timeouts }, onRequest)
  const shutdown = new Shutdown(server, connections)
  server.maxConnections = connectionsMax
  server.on('connection', (socket) => connections.add(socket))
  server.on('drop', (dropped) => onConnectionClosed('connection_limit', dropped?.remoteAddress ?? ''))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    connections.get(socket as Socket)?.fail(toRequestProblem(error.code)),
  )
  // Without a listener Node closes the connection without a response, also to the requests before it.
  server.on('connect', (_message, socket) => connections.get(socket as Socket)?.fail('connect_method'))
  // Without a listener Node sends 100 at once; the adapter sends it when the body is first read.
  server.on('checkContinue', onRequest)
  // Without a listener Node responds 417; an unknown expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', onRequest)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  const idleSweepMs = (bounds.idleMs ?? defaultIdleMs) / (idleSweepsMax + 1)
  const sweeper = setInterval(() => connections.sweep(idleSweepsMax), idleSweepMs)
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      await shutdown.stop()
      clearInterval(sweeper)
    },
  }
}
