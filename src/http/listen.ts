import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { ApiError } from './errors.ts'
import { bun, listenOnBun } from './listenBun.ts'
import type { Handlers, Listener, Place } from './listener.ts'
import { isPlain, serveDirectly } from './nodeDirect.ts'

const headersTimeoutMs = 5_000
const requestTimeoutMs = 10_000
const keepAliveTimeoutMs = 65_000
const checkingIntervalMs = 1_000
const headerBytesMax = 16 * 1024
const usualConnectionsMax = 10_000
const connectionsSpare = 100

const stopDeadlineMs = 10_000
/** How long to look for a moment to close the door at. */
const stopDoorMs = 500
/** How long a connection that looks idle may still have a request on its way to us. */
const stopGraceMs = 500
const stopPollMs = 20

/** HTTP/1.0 knows no Host header; nothing here depends on it. */
const hostUnlessGiven = 'localhost'

export type ListenBounds = {
  /** How long a caller may take nothing of an answer. */
  readonly stalledMs: number
  readonly connectionsMax?: number
}

type Adapter = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>

/** Opens the door, on whichever runtime this is. */
export async function listen(handlers: Handlers, place: Place, bounds: ListenBounds): Promise<Listener> {
  return bun ? listenOnBun(bun, handlers, place) : listenOnNode(handlers, place, bounds)
}

/** A hardened HTTP server on Node: slow, oversized and idle callers are cut off by the bounds above. */
async function listenOnNode(
  { fetch, direct }: Handlers,
  { host, port }: Place,
  { stalledMs, connectionsMax = usualConnectionsMax }: ListenBounds,
): Promise<Listener> {
  const serving = new Set<ServerResponse>()
  /** Connections between two requests, the longest idle first. */
  const idle = new Set<Socket>()
  let connections = 0
  let connectionsTaken = 0
  let doorClosing: Promise<unknown> | undefined
  let adapter: Promise<Adapter> | undefined
  const openAdapter = async (): Promise<Adapter> => {
    const { getRequestListener } = await import('@hono/node-server')
    return getRequestListener((request, env) => fetch(request, env.incoming.socket.remoteAddress ?? ''), {
      errorHandler: badRequest,
      hostname: hostUnlessGiven,
    })
  }
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (isPlain(incoming)) return serveDirectly(direct, incoming, outgoing)
    // The adapter refuses a backslash, but it is only a path that leads nowhere.
    incoming.url = incoming.url?.replaceAll('\\', '%5C')
    adapter ??= openAdapter()
    return (await adapter)(incoming, outgoing)
  }
  /** One function for all answers, which it is called on. */
  function onAnswered(this: ServerResponse) {
    serving.delete(this)
    if (!this.req.socket.destroyed) idle.add(this.req.socket)
  }
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
      idle.delete(incoming.socket)
      outgoing.on('close', onAnswered)
      // What even the last resort of the API could not answer is cut off, rather than left waiting.
      const giveUp = () => void outgoing.destroy()
      if (!doorClosing) return void serve(incoming, outgoing).catch(giveUp)
      outgoing.setHeader('Connection', 'close')
      void doorClosing.then(() => serve(incoming, outgoing)).catch(giveUp)
    },
  )
  server.on('connection', (socket) => {
    connectionsTaken++
    connections++
    socket.once('close', () => {
      connections--
      idle.delete(socket)
    })
    // Nearly full: the connection that has been idle longest makes room, so that nobody can lock others out by idling.
    if (connections > connectionsMax - connectionsSpare) idle.values().next().value?.destroy()
  })
  // Node would answer 417 by itself; an expectation that we do not know may as well be passed over (RFC 9110, 10.1.1).
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing))
  server.maxConnections = connectionsMax
  // A caller who takes nothing of an answer; a stream that is read has its heartbeat.
  server.timeout = stalledMs
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })

  /**
   * The kernel takes connections before we do, and resets those that we have not taken when the door closes: so it is
   * closed when nobody has come for a moment. Whoever is answered comes back, so what is asked meanwhile is answered after.
   */
  async function closeDoor(): Promise<{ closed: Promise<void> }> {
    const deadline = performance.now() + stopDoorMs
    let takenBefore: number
    do {
      takenBefore = connectionsTaken
      await pause(stopPollMs)
      await nextTurn()
    } while (connectionsTaken > takenBefore && performance.now() < deadline)
    // Closes the door alone: http's own close() would cut connections that look idle while a request is on its way.
    return { closed: new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve())) }
  }

  async function stop(): Promise<void> {
    const door = closeDoor()
    doorClosing = door
    for (const outgoing of serving) if (!outgoing.headersSent) outgoing.setHeader('Connection', 'close')
    const { closed } = await door
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

/** A request that HTTP lets through but that is no URL: a broken Host header, a path without a slash. */
function badRequest(): Response {
  const { body, status } = new ApiError(
    'validation_failed',
    'The Host header or the address of the request is not valid.',
  )
  return Response.json(body, { status })
}
