import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, BlockList, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { clientAddress } from '../api/clientAddress.ts'
import { chain } from '../maybePromise.ts'
import { beginRequest, type Connection, Connections, timesIdleMax } from './connections.ts'
import { isPlain, keepAliveSeconds, serveDirectly } from './nodeAdapter.ts'
import { nodeAdapter } from './nodeFetchAdapter.ts'
import { connectCode, type Refused, refuse } from './protocolErrors.ts'
import type { Handlers, ListenAddress, ListenBounds, RunningServer } from './server.ts'

const headersTimeoutMs = 5_000
const requestTimeoutMs = 10_000
const checkingIntervalMs = 1_000
const headerBytesMax = 16 * 1024
const usualConnectionsMax = 10_000
const usualUnfinishedMs = 1_000
/** No more is read from a caller for whom so many requests wait in line: */
const waitingUsualMax = 100
/** more than what had been read already is nobody's who means well. */
const waitingMax = 2_000
/** Of all connections together: each takes some 4 KB. A connection that would exceed it is closed. */
const waitingTotalMax = 20_000

const stopDeadlineMs = 10_000
/** How long to look for a moment to close the door at. */
const stopDoorMs = 500
/** How long nobody must have come: callers who share a busy machine with us are late by as much. */
const stopQuietMs = 60
/** How long a connection that looks idle may still have a request on its way to us. */
const stopGraceMs = 500
const stopPollMs = 20

/** What Node itself sets when too much is to be written; otherwise it would read on after every answer. */
type Paused = { _paused?: boolean; parser?: { resume(): void } | null }

function pauseReading(socket: Socket & Paused): void {
  socket._paused = true
  socket.pause()
}

function resumeReading(socket: Socket & Paused): void {
  socket._paused = false
  socket.parser?.resume()
  socket.resume()
}

/** A hardened HTTP server on Node: slow, oversized and idle callers are cut off by the bounds above. */
export async function listenOnNode(
  { fetch, direct, onFinished, onConnectionClosed }: Handlers,
  { host, port }: ListenAddress,
  bounds: ListenBounds,
): Promise<RunningServer> {
  const { stalledMs, idleMs = keepAliveSeconds * 1000, connectionsMax = usualConnectionsMax } = bounds
  const { trustedProxies = new BlockList() } = bounds
  const connections = new Connections({
    connectionsMax,
    connectionsPerAddressMax: bounds.connectionsPerAddressMax ?? connectionsMax,
    unfinishedMs: bounds.unfinishedMs ?? usualUnfinishedMs,
    trustedProxies,
    onClosed: (reason, address) => onConnectionClosed?.(reason, address),
  })
  let requests = 0
  let waitingTotal = 0
  let doorClosing: Promise<unknown> | undefined
  const onRefused = (socket: Socket, { error: { status, code }, fault, ...refused }: Refused) =>
    onFinished?.({
      ...refused,
      operation: undefined,
      principal: undefined,
      address: clientAddress(socket.remoteAddress ?? '', undefined, trustedProxies),
      status,
      code,
      seconds: 0,
      error: fault,
    })
  const adapt = nodeAdapter(fetch, onRefused)
  /**
   * A caller who takes nothing of an answer is cut off in the end; a stream that is read has its heartbeat. What has gone
   * out at once needs no such watch; what stands behind an answer that has not does.
   */
  const watch = ({ socket }: IncomingMessage, outgoing: ServerResponse) => {
    socket.setTimeout(stalledMs)
    outgoing.once('finish', () => {
      // Another that was asked for meanwhile is still on its way.
      if (connections.get(socket)?.answer === outgoing) socket.setTimeout(0)
    })
  }
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (!isPlain(incoming)) {
      watch(incoming, outgoing)
      return adapt(incoming, outgoing)
    }
    return chain(serveDirectly(direct, incoming, outgoing), () => {
      const isOut = outgoing.writableEnded && outgoing.socket?.writableLength === 0
      if (!isOut) watch(incoming, outgoing)
    })
  }
  const begin = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    try {
      const served = doorClosing ? serveLast(doorClosing, incoming, outgoing) : serve(incoming, outgoing)
      served?.catch(() => void outgoing.destroy())
    } catch {
      // What even the last resort of the API could not answer is cut off, rather than left waiting.
      outgoing.destroy()
    }
  }
  /**
   * A pipelined request is served when those before it are answered: then it is given the socket. One of each connection
   * is served in a turn of the event loop, so that one that has sent thousands does not hold up the others.
   */
  const waitInLine = (connection: Connection, incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming
    connection.waiting++
    waitingTotal++
    if (connection.waiting > waitingMax || waitingTotal > waitingTotalMax) return void socket.destroy()
    if (connection.waiting > waitingUsualMax) pauseReading(socket)
    outgoing.once('socket', () =>
      setImmediate(() => {
        if (socket.destroyed) return
        waitingTotal--
        if (connection.waiting-- === waitingUsualMax + 1) resumeReading(socket)
        watch(incoming, outgoing)
        begin(incoming, outgoing)
      }),
    )
  }
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // What had been read is parsed to its end, also once the connection is closed.
    if (incoming.socket.destroyed) return
    const connection = connections.get(incoming.socket)
    if (!connection) return begin(incoming, outgoing)
    beginRequest(connection, outgoing, ++requests)
    if (outgoing.socket !== null) begin(incoming, outgoing)
    else waitInLine(connection, incoming, outgoing)
  }
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: 0,
      connectionsCheckingInterval: checkingIntervalMs,
      maxHeaderSize: headerBytesMax,
      // Which of two that contradict each other holds nobody can say: together they are neither.
      joinDuplicateHeaders: true,
      // Node would refuse a request without one with a bare 400; the adapter does it with an Error body.
      requireHostHeader: false,
    },
    onRequest,
  )
  // Who has nothing more to say may still listen.
  ;(server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
  server.on('connection', (socket) => {
    const connection = connections.add(socket)
    socket.once('close', () => {
      waitingTotal -= connection?.waiting ?? 0
    })
  })
  server.on('drop', (dropped) => onConnectionClosed?.('connection_limit', dropped?.remoteAddress ?? ''))
  const refuseRest = (socket: Socket, code: string | undefined) => {
    const connection = connections.get(socket)
    if (!connection) return void socket.destroy()
    // Nothing that comes after it can be understood.
    if (!socket.writableEnded) socket.pause()
    refuse(socket, connection, code, (refused) => onRefused(socket, refused))
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseRest(socket as Socket, error.code))
  // Node would close the connection without a response, also to the requests before it.
  server.on('connect', (_request, socket) => refuseRest(socket as Socket, connectCode))
  // Node would send 100 at once: here it is sent when the body is first asked for.
  server.on('checkContinue', onRequest)
  // Node would answer 417 by itself; an expectation that we do not know may as well be passed over (RFC 9110, 10.1.1).
  server.on('checkExpectation', onRequest)
  server.maxConnections = connectionsMax
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  const sweeping = setInterval(() => connections.closeIdle(), idleMs / timesIdleMax)

  async function serveLast(closing: Promise<unknown>, incoming: IncomingMessage, outgoing: ServerResponse) {
    outgoing.setHeader('Connection', 'close')
    await closing
    return serve(incoming, outgoing)
  }

  /**
   * The kernel takes connections before we do, and resets those that we have not taken when the door closes: so it is
   * closed when nobody has come for a moment. Whoever is answered comes back, so what is asked meanwhile is answered after.
   */
  async function closeDoor(): Promise<{ closed: Promise<void> }> {
    const deadline = performance.now() + stopDoorMs
    let takenBefore: number
    do {
      takenBefore = connections.taken
      await pause(stopQuietMs)
      await nextTurn()
    } while (connections.taken > takenBefore && performance.now() < deadline)
    // Closes the door alone: http's own close() would cut connections that look idle while a request is on its way.
    return { closed: new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve())) }
  }

  async function stop(): Promise<void> {
    const door = closeDoor()
    doorClosing = door
    for (const { answer } of connections.values()) {
      if (!answer || answer.headersSent) continue
      answer.removeHeader('Keep-Alive')
      answer.setHeader('Connection', 'close')
    }
    const { closed } = await door
    const deadline = performance.now() + stopDeadlineMs
    await Promise.race([closed, pause(stopGraceMs)])
    server.closeIdleConnections()
    while (connections.hasServing() && performance.now() < deadline) {
      await pause(stopPollMs)
      server.closeIdleConnections()
    }
    server.closeAllConnections()
    clearInterval(sweeping)
    await closed
  }

  return { port: (server.address() as AddressInfo).port, stop }
}
