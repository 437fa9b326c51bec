import type { ServerResponse } from 'node:http'
import type { BlockList, Socket } from 'node:net'
import { connectionGroup } from '../api/clientAddress.ts'
import { isUnanswered } from './protocolErrors.ts'
import type { ConnectionCloseReason } from './server.ts'

/** When fewer places than this are left, connections that are not in use are closed. */
const connectionsSpare = 100
/** A connection is closed when it was idle so many times in a row, which is a little later than at the earliest. */
export const timesIdleMax = 13

export type Connection = {
  /** The last answer, begun or not; nothing before the first request. */
  answer: ServerResponse | undefined
  /** The answer before it, where that was still on its way when the last request came. */
  answerBefore: ServerResponse | undefined
  /** Whether a request before the last one has arrived as a whole. */
  hasCompleted: boolean
  waiting: number
  /** Which request was its last one, of all that there were. */
  lastUsed: number
  /** How much had come in when it was last looked at, and how often that was no more than before. */
  bytesSeen: number
  timesIdle: number
  readonly openedAt: number
}

type ConnectionBounds = {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  /** How long a new connection may take to complete a request before it counts as unfinished. */
  readonly unfinishedMs: number
  readonly trustedProxies: BlockList
  onClosed(reason: ConnectionCloseReason, address: string): void
}

const isServing = ({ answer }: Connection) => isUnanswered(answer)

/** Whether no request of a connection has arrived as a whole so far. */
const isUnfinished = ({ answer, hasCompleted }: Connection) => !hasCompleted && !answer?.req.complete

/** Notes a new request. */
export function beginRequest(connection: Connection, answer: ServerResponse, number: number): void {
  const before = connection.answer
  if (before) {
    connection.hasCompleted ||= before.req.complete
    connection.answerBefore = isUnanswered(before) ? before : undefined
  }
  connection.answer = answer
  connection.lastUsed = number
}

/** The open connections of a server, with their bounds: in total, and from one address. */
export class Connections {
  readonly #bounds: ConnectionBounds
  readonly #open = new Map<Socket, Connection>()
  readonly #perAddress = new Map<string, number>()
  /** Oldest first. Those that have completed a request are taken out when they are come upon. */
  readonly #unfinished = new Set<Socket>()
  /** How many there have been. */
  taken = 0

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds
  }

  get(socket: Socket): Connection | undefined {
    return this.#open.get(socket)
  }

  values(): Iterable<Connection> {
    return this.#open.values()
  }

  hasServing(): boolean {
    return this.#open.values().some(isServing)
  }

  /** Returns undefined where the connection is one too many from its address, and closed. */
  add(socket: Socket): Connection | undefined {
    this.taken++
    const { connectionsMax, connectionsPerAddressMax, trustedProxies, onClosed } = this.#bounds
    const address = socket.remoteAddress ?? ''
    const group = connectionGroup(address, trustedProxies)
    const fromAddress = group === undefined ? 0 : (this.#perAddress.get(group) ?? 0) + 1
    if (fromAddress > connectionsPerAddressMax) {
      socket.destroy()
      onClosed('address_limit', address)
      return undefined
    }
    if (group !== undefined) this.#perAddress.set(group, fromAddress)
    const connection = newConnection()
    this.#open.set(socket, connection)
    this.#unfinished.add(socket)
    socket.once('close', () => this.#remove(socket, group))
    if (this.#open.size > connectionsMax - connectionsSpare) this.#makeRoom(socket)
    return connection
  }

  #remove(socket: Socket, group: string | undefined): void {
    this.#open.delete(socket)
    this.#unfinished.delete(socket)
    if (group === undefined) return
    const left = (this.#perAddress.get(group) ?? 1) - 1
    if (left > 0) this.#perAddress.set(group, left)
    else this.#perAddress.delete(group)
  }

  /** Unfinished connections go first: a client that behaves well has sent its request by now. */
  #makeRoom(newest: Socket): void {
    const unfinished = this.#oldestUnfinished(newest)
    const socket = unfinished ?? this.#longestIdle()
    if (!socket) return
    this.#bounds.onClosed(unfinished ? 'unfinished' : 'idle', socket.remoteAddress ?? '')
    socket.destroy()
  }

  #oldestUnfinished(newest: Socket): Socket | undefined {
    const openedBefore = performance.now() - this.#bounds.unfinishedMs
    for (const socket of this.#unfinished) {
      const connection = this.#open.get(socket)
      if (!connection || !isUnfinished(connection)) this.#unfinished.delete(socket)
      else return socket !== newest && connection.openedAt <= openedBefore ? socket : undefined
    }
    return undefined
  }

  /** Looked for only when it is needed: keeping all in order would cost every request. */
  #longestIdle(): Socket | undefined {
    let found: Socket | undefined
    let leastUsed = Number.POSITIVE_INFINITY
    for (const [socket, connection] of this.#open) {
      if (connection.lastUsed >= leastUsed || connection.answer === undefined || isServing(connection))
        continue
      found = socket
      leastUsed = connection.lastUsed
    }
    return found
  }

  /**
   * Closes connections that are idle for long. Node would set a timer for it with each answer, and that takes longer
   * than all that the API does for one.
   */
  closeIdle(): void {
    for (const [socket, connection] of this.#open) {
      const { bytesRead } = socket
      const isIdle =
        connection.answer !== undefined && !isServing(connection) && bytesRead === connection.bytesSeen
      connection.timesIdle = isIdle ? connection.timesIdle + 1 : 0
      connection.bytesSeen = bytesRead
      if (connection.timesIdle > timesIdleMax) socket.destroy()
    }
  }
}

const newConnection = (): Connection => ({
  answer: undefined,
  answerBefore: undefined,
  hasCompleted: false,
  waiting: 0,
  lastUsed: 0,
  bytesSeen: 0,
  timesIdle: 0,
  openedAt: performance.now(),
})
