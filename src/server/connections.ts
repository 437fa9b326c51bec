import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RequestProblem } from '../api/request.ts'
import type { NodeRequest } from './nodeAdapter.ts'
import type { ConnectionCloseReason } from './server.ts'

/** When fewer connections than this are left, unused ones are closed. */
const connectionsSpare = 100
/** Reading pauses while more pipelined requests than this wait. */
const waitingPauseMax = 100
/** What was read before the pause can still exceed it. Beyond these bounds the connection is closed. */
const waitingMax = 2_000
/** Of all connections together: each takes about 4 KB. */
const waitingTotalMax = 20_000

type Exchange = { readonly request: NodeRequest; readonly response: ServerResponse }

type ConnectionBounds = {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  readonly unfinishedMs: number
  addressGroup(remoteAddress: string): string | undefined
  onClosed(reason: ConnectionCloseReason, address: string): void
}

type ConnectionHandlers = {
  serve(exchange: Exchange): void
  /** Responds to bytes that are not a request, and closes the connection. */
  reject(socket: Socket, problem: RequestProblem): void
}

/** Serves the requests of a connection one after another: a pipelined request sees the effects of those before it. */
class Connection {
  readonly socket: Socket
  readonly openedAt = performance.now()
  readonly #connections: Connections
  readonly #waiting: Exchange[] = []
  #current: Exchange | undefined
  /** The last exchange that was served or is being served. */
  #last: Exchange | undefined
  #problem: RequestProblem | undefined
  #hasCompleted = false
  #isPauseScheduled = false
  #bytesRead = 0
  #idleSweeps = 0
  /** The number of its last request, of all requests of the server. */
  lastUsed = 0

  constructor(socket: Socket, connections: Connections) {
    this.socket = socket
    this.#connections = connections
  }

  get isServing(): boolean {
    return this.#current !== undefined
  }

  /** Whether no request has arrived completely so far. */
  get isUnfinished(): boolean {
    // A request can become complete after its response.
    this.#hasCompleted ||= this.#last?.request.isComplete ?? false
    return !this.#hasCompleted
  }

  add(exchange: Exchange): void {
    // What was read is parsed to its end, also after the connection is closed.
    if (this.socket.destroyed) return
    this.lastUsed = ++this.#connections.requests
    exchange.response.once('close', () => this.#next(exchange))
    if (!this.#current) return void this.#serve(exchange)
    this.#waiting.push(exchange)
    const total = ++this.#connections.waiting
    if (this.#waiting.length > waitingMax || total > waitingTotalMax) this.socket.destroy()
    else if (this.#waiting.length > waitingPauseMax) this.#schedulePause()
  }

  /** The bytes that follow cannot be read. Complete requests get their responses first. */
  fail(problem: RequestProblem): void {
    const { socket } = this
    if (this.#problem || socket.destroyed || socket.writableEnded) return
    // Reading may be paused in the middle of a request: then the client is not slow.
    if (problem === 'timeout' && this.#waiting.length > 0) return
    this.#problem = problem
    socket.pause()
    const last = this.#waiting.at(-1) ?? this.#last
    const isBodyBroken = last !== undefined && !last.request.isComplete
    if (isBodyBroken && !last.response.headersSent) last.request.fail(problem)
    else if (isBodyBroken) socket.destroySoon()
    else if (!this.#current) this.#connections.handlers.reject(socket, problem)
    // A stream has no end to wait for.
    else if (this.#current.response.headersSent && !this.#current.response.writableEnded) socket.destroy()
  }

  /** Closes the connection if it is idle in more than this many sweeps in a row. */
  sweep(idleSweepsMax: number): void {
    const { bytesRead } = this.socket
    const isIdle = !this.isUnfinished && !this.#current && bytesRead === this.#bytesRead
    this.#idleSweeps = isIdle ? this.#idleSweeps + 1 : 0
    this.#bytesRead = bytesRead
    if (this.#idleSweeps > idleSweepsMax) this.socket.destroy()
  }

  close(): void {
    this.#connections.waiting -= this.#waiting.length
    this.#waiting.length = 0
  }

  #serve(exchange: Exchange): void {
    this.#current = exchange
    this.#last = exchange
    this.#connections.handlers.serve(exchange)
  }

  #next({ request }: Exchange): void {
    this.#hasCompleted ||= request.isComplete
    this.#current = undefined
    const next = this.#waiting.shift()
    if (!next) {
      if (this.#problem && request.isComplete && !this.socket.writableEnded)
        this.#connections.handlers.reject(this.socket, this.#problem)
      return
    }
    this.#connections.waiting--
    this.#current = next
    this.#schedulePause()
    // One request per connection and turn of the event loop: other connections are served in between.
    setImmediate(() => {
      if (this.socket.destroyed) return
      this.#pauseOrResume()
      this.#serve(next)
    })
  }

  /** Node resumes reading with every complete request, body and response, in a tick before the microtasks. */
  #schedulePause(): void {
    if (this.#isPauseScheduled) return
    this.#isPauseScheduled = true
    queueMicrotask(() => {
      this.#isPauseScheduled = false
      this.#pauseOrResume()
    })
  }

  #pauseOrResume(): void {
    if (this.#problem) return
    if (this.#waiting.length > waitingPauseMax) this.socket.pause()
    else if (this.socket.isPaused()) this.socket.resume()
  }
}

/** The open connections of a server and their bounds: in total, and per address. */
export class Connections {
  readonly handlers: ConnectionHandlers
  readonly #bounds: ConnectionBounds
  readonly #open = new Map<Socket, Connection>()
  readonly #perGroup = new Map<string, number>()
  /** Oldest first. Those that have completed a request are removed when they are found. */
  readonly #unfinished = new Set<Connection>()
  /** Connections accepted so far. */
  accepted = 0
  /** Requests so far. */
  requests = 0
  /** Pipelined requests that wait. */
  waiting = 0

  constructor(bounds: ConnectionBounds, handlers: ConnectionHandlers) {
    this.#bounds = bounds
    this.handlers = handlers
  }

  get(socket: Socket): Connection | undefined {
    return this.#open.get(socket)
  }

  hasServing(): boolean {
    return this.#open.values().some(({ isServing }) => isServing)
  }

  add(socket: Socket): void {
    this.accepted++
    const { connectionsMax, connectionsPerAddressMax, addressGroup, onClosed } = this.#bounds
    const address = socket.remoteAddress ?? ''
    const group = addressGroup(address)
    const inGroup = group === undefined ? 0 : (this.#perGroup.get(group) ?? 0) + 1
    if (inGroup > connectionsPerAddressMax) {
      socket.destroy()
      return void onClosed('address_limit', address)
    }
    if (group !== undefined) this.#perGroup.set(group, inGroup)
    const connection = new Connection(socket, this)
    this.#open.set(socket, connection)
    this.#unfinished.add(connection)
    socket.once('close', () => this.#remove(connection, group))
    // An error also closes the socket. After CONNECT no other listener is left, and the process would exit.
    socket.on('error', () => {})
    if (this.#open.size > connectionsMax - connectionsSpare) this.#evict(connection)
  }

  /** Closes idle connections. Timers of Node take 7 % of the time of a read; see docs/performance.md. */
  sweep(idleSweepsMax: number): void {
    for (const connection of this.#open.values()) connection.sweep(idleSweepsMax)
  }

  #remove(connection: Connection, group: string | undefined): void {
    connection.close()
    this.#open.delete(connection.socket)
    this.#unfinished.delete(connection)
    if (group === undefined) return
    const left = (this.#perGroup.get(group) ?? 1) - 1
    if (left > 0) this.#perGroup.set(group, left)
    else this.#perGroup.delete(group)
  }

  /** Unfinished connections first: a well-behaved client has sent its request by now. */
  #evict(newest: Connection): void {
    const unfinished = this.#oldestUnfinished(newest)
    const evicted = unfinished ?? this.#longestIdle()
    if (!evicted) return
    this.#bounds.onClosed(unfinished ? 'unfinished' : 'idle', evicted.socket.remoteAddress ?? '')
    evicted.socket.destroy()
  }

  #oldestUnfinished(newest: Connection): Connection | undefined {
    const openedBefore = performance.now() - this.#bounds.unfinishedMs
    for (const connection of this.#unfinished) {
      if (!connection.isUnfinished) this.#unfinished.delete(connection)
      else return connection !== newest && connection.openedAt <= openedBefore ? connection : undefined
    }
    return undefined
  }

  /** Searched only when needed: keeping connections in order would cost time with every request. */
  #longestIdle(): Connection | undefined {
    let found: Connection | undefined
    for (const connection of this.#open.values()) {
      if (connection.lastUsed === 0 || connection.isServing) continue
      if (!found || connection.lastUsed < found.lastUsed) found = connection
    }
    return found
  }
}
