import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { andThen } from '../soon.ts'
import type { Handlers, ListenBounds, Listener, Place } from './listener.ts'
import { nodeAdapter } from './nodeAdapter.ts'
import { isPlain, keepAliveSeconds, serveDirectly } from './nodeDirect.ts'

const headersTimeoutMs = 5_000
const requestTimeoutMs = 10_000
const checkingIntervalMs = 1_000
const headerBytesMax = 16 * 1024
const usualConnectionsMax = 10_000
const connectionsSpare = 100
/** No more is read from a caller for whom so many requests wait in line: */
const waitingUsualMax = 100
/** more than what had been read already is nobody's who means well. */
const waitingMax = 2_000

const stopDeadlineMs = 10_000
/** How long to look for a moment to close the door at. */
const stopDoorMs = 500
/** How long nobody must have come: callers who share a busy machine with us are late by as much. */
const stopQuietMs = 60
/** How long a connection that looks idle may still have a request on its way to us. */
const stopGraceMs = 500
const stopPollMs = 20

type Connection = {
  /** The last answer, begun or not; nothing before the first request. */
  answer: ServerResponse | undefined
  /** Whether what has come before changes something, so that whatever comes next has to wait for it. */
  isInLine: boolean
  waiting: number
  /** Which request was its last one, of all that there were. */
  lastUsed: number
  /** How much had come in when it was last looked at, and how often that was no more than before. */
  bytesSeen: number
  timesIdle: number
}

const isServing = ({ answer }: Connection) =>
  answer !== undefined && !answer.writableFinished && !answer.destroyed

/** Looked for only when it is needed: keeping all in order would cost every request. */
function longestIdle(connections: ReadonlyMap<Socket, Connection>): Socket | undefined {
  let found: Socket | undefined
  let leastUsed = Number.POSITIVE_INFINITY
  for (const [socket, connection] of connections) {
    if (connection.lastUsed >= leastUsed || connection.answer === undefined || isServing(connection)) continue
    found = socket
    leastUsed = connection.lastUsed
  }
  return found
}

/** A connection is closed when it was idle so many times in a row, which is a little later than at the earliest. */
const timesIdleMax = 13

/**
 * Closes connections that are idle for long. Node would set a timer for it with each answer, and that takes longer than
 * all that the API does for one.
 */
function closeIdle(connections: ReadonlyMap<Socket, Connection>): void {
  for (const [socket, connection] of connections) {
    const { bytesRead } = socket
    const isIdle =
      connection.answer !== undefined && !isServing(connection) && bytesRead === connection.bytesSeen
    connection.timesIdle = isIdle ? connection.timesIdle + 1 : 0
    connection.bytesSeen = bytesRead
    if (connection.timesIdle > timesIdleMax) socket.destroy()
  }
}

/** What a caller may send all at once without any of it changing what another one finds. */
const isSafe = ({ method }: IncomingMessage) => method === 'GET' || method === 'HEAD' || method === 'OPTIONS'

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

const refusals: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Node would say that a request was bad in place of what the one before it, which may have changed something, is answered. */
function refuse(socket: Socket, code: string | undefined): void {
  const current = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (socket.destroyed) return
  if (current?.req.complete && !current.destroyed) {
    current.once('close', () => refuse(socket, code))
    return
  }
  const status = refusals[code ?? ''] ?? 400
  if (socket.writable && !current?.headersSent)
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`)
  socket.destroySoon()
}

/** A hardened HTTP server on Node: slow, oversized and idle callers are cut off by the bounds above. */
export async function listenOnNode(
  { fetch, direct }: Handlers,
  { host, port }: Place,
  { stalledMs, idleMs = keepAliveSeconds * 1000, connectionsMax = usualConnectionsMax }: ListenBounds,
): Promise<Listener> {
  const connections = new Map<Socket, Connection>()
  let requests = 0
  let connectionsTaken = 0
  let doorClosing: Promise<unknown> | undefined
  const adapt = nodeAdapter(fetch)
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
    return andThen(serveDirectly(direct, incoming, outgoing), () => {
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
  /** Its turn comes when all before it are answered: then it is given the socket. */
  const waitInLine = (connection: Connection, incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming
    connection.waiting++
    if (connection.waiting > waitingMax) return void socket.destroy()
    if (connection.waiting > waitingUsualMax) pauseReading(socket)
    outgoing.once('socket', () =>
      queueMicrotask(() => {
        if (connection.waiting-- === waitingUsualMax + 1) resumeReading(socket)
        watch(incoming, outgoing)
        begin(incoming, outgoing)
      }),
    )
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
    },
    (incoming, outgoing) => {
      const connection = connections.get(incoming.socket)
      if (!connection) return begin(incoming, outgoing)
      connection.answer = outgoing
      connection.lastUsed = ++requests
      const isFirst = outgoing.socket !== null
      connection.isInLine = !isSafe(incoming) || (!isFirst && connection.isInLine)
      if (isFirst || !connection.isInLine) begin(incoming, outgoing)
      else waitInLine(connection, incoming, outgoing)
    },
  )
  // Who has nothing more to say may still listen.
  ;(server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
  server.on('connection', (socket) => {
    connectionsTaken++
    connections.set(socket, {
      answer: undefined,
      isInLine: false,
      waiting: 0,
      lastUsed: 0,
      bytesSeen: 0,
      timesIdle: 0,
    })
    socket.once('close', () => connections.delete(socket))
    // Nearly full: one that has been idle makes room, so that nobody can lock others out by idling.
    if (connections.size > connectionsMax - connectionsSpare) longestIdle(connections)?.destroy()
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Nothing that comes after it can be understood.
    socket.pause()
    refuse(socket as Socket, error.code)
  })
  // Node would answer 417 by itself; an expectation that we do not know may as well be passed over (RFC 9110, 10.1.1).
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing))
  server.maxConnections = connectionsMax
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  const sweeping = setInterval(() => closeIdle(connections), idleMs / timesIdleMax)

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
      takenBefore = connectionsTaken
      await pause(stopQuietMs)
      await nextTurn()
    } while (connectionsTaken > takenBefore && performance.now() < deadline)
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
    while (connections.values().some(isServing) && performance.now() < deadline) {
      await pause(stopPollMs)
      server.closeIdleConnections()
    }
    server.closeAllConnections()
    clearInterval(sweeping)
    await closed
  }

  return { port: (server.address() as AddressInfo).port, stop }
}
