import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { RequestProblem } from '../api/request.ts'
import type { ApiResponse } from '../api/response.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { http } from '../nodeHttp.ts'
import { Connections } from './connections.ts'
import { lingeringClose } from './lingeringClose.ts'
import { closeIfStalled, NodeRequest, writeResponse } from './nodeAdapter.ts'
import { headerProblem, toRequestProblem, unreadableRequest, writeToSocket } from './protocolErrors.ts'
import {
  defaultListenBounds,
  type Handlers,
  type ListenAddress,
  type ListenBounds,
  type RunningServer,
} from './server.ts'
import { Shutdown } from './shutdown.ts'
import { Turns } from './turns.ts'

const serverOptions: ServerOptions = {
  requestTimeout: 10_000,
  // Idle connections are closed by a sweep instead of a timer for each response.
  keepAliveTimeout: 0,
  maxHeaderSize: 16 * 1024,
  // Two contradicting values become one that is not valid.
  joinDuplicateHeaders: true,
  // Without it Node responds 400 without a body; the adapter checks the header.
  requireHostHeader: false,
  // A request without a body has no stream that must be read to its end.
  optimizeEmptyRequests: true,
}
/** A connection is closed when it is idle in more sweeps than this. */
const idleSweepsMax = 12
/** The requests of all connections that are served in one turn of the event loop. */
const requestsPerTurnMax = 100

/** An HTTP server on Node that closes the connections of slow, oversized and idle clients. */
export async function listenOnNode(
  {
    handle,
    laneOf = () => 'read',
    callerOf,
    inProgressMax = () => Number.POSITIVE_INFINITY,
    onConnectionClosed = () => {},
  }: Handlers,
  { host, port }: ListenAddress,
  given: ListenBounds,
): Promise<RunningServer> {
  const bounds = { ...defaultListenBounds, ...given, onClosed: onConnectionClosed }
  const connections = new Connections(bounds, {
    serve: (request) => turns.add(request),
    reject: (socket, problem) => reject(socket, problem),
  })

  const turns = new Turns<NodeRequest>({
    bounds,
    perTurnMax: requestsPerTurnMax,
    run: serve,
    reject(request) {
      request.problem ??= 'overloaded'
      void serve(request)
    },
    laneOf,
    callerOf: callerOf ?? (({ remoteAddress }) => ({ address: remoteAddress, key: remoteAddress })),
    inProgressMax,
    isBodyAwaited: ({ isBodyAwaited }) => isBodyAwaited,
    accepted: () => connections.accepted,
  })
  function serve(request: NodeRequest): MaybePromise<void> {
    // Closed while it waited.
    if (request.response.destroyed) return
    const write = (handled: ApiResponse) => {
      const { response, isComplete } = request
      const connection = connections.get(response.req.socket)
      const isKept = writeResponse(request, handled, shutdown.isStopping, connection)
      closeIfStalled(response, bounds.stalledMs)
      // A socket that is closed with unread bytes is reset, and the client loses the end of the response.
      if (isKept && isComplete && response.writableEnded && response.req.socket.writableLength > 0)
        connection?.stall()
    }
    return run(request.response, () => {
      const handled = chain(shutdown.listenerClosed, () => handle(request))
      // What was read together with the request is parsed first: the body may be part of it.
      return request.isComplete ? chain(handled, write) : Promise.resolve(handled).then(write)
    })
  }

  const reject = (socket: Socket, problem: RequestProblem) =>
    run(socket, () =>
      chain(handle(unreadableRequest(socket, problem)), (response) => {
        writeToSocket(socket, response)
        lingeringClose(socket)
      }),
    )

  const onRequest = (message: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(message.socket)
    const problem = headerProblem(message)
    if (problem) return connection?.fail(problem)
    connection?.add(new NodeRequest(message, response))
  }
  const { headersMs, connectionsMax, idleMs } = bounds
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
  const sweeper = setInterval(() => connections.sweep(idleSweepsMax), idleMs / (idleSweepsMax + 1))
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      await shutdown.stop()
      clearInterval(sweeper)
    },
  }
}

/** The client must not wait for a response that cannot be written. */
function run(target: ServerResponse | Socket, respond: () => MaybePromise<void>): MaybePromise<void> {
  try {
    const responded = respond()
    if (responded instanceof Promise) return responded.catch(() => void target.destroy())
  } catch {
    target.destroy()
  }
}
