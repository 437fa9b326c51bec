import type { Socket } from 'node:net'
import { Connection, type ConnectionHandlers } from './connection.ts'
import { ResumeQueue } from './resumeQueue.ts'
import type { ConnectionCloseReason, defaultListenBounds } from './server.ts'

/** When fewer connections than this are left, unused ones are closed. */
const connectionsSpare = 100

type ConnectionBounds = Readonly<typeof defaultListenBounds> & {
  onClosed(reason: ConnectionCloseReason, address: string): void
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
  readonly resumeQueue = new ResumeQueue()

  constructor(bounds: ConnectionBounds, handlers: ConnectionHandlers) {
    this.#bounds = bounds
    this.handlers = handlers
  }

  get headersMs(): number {
    return this.#bounds.headersMs
  }

  /** Closes the connection whose waiting pipelined requests weigh most. */
  closeHeaviest(): void {
    let heaviest: Connection | undefined
    for (const connection of this.#open.values())
      if (connection.waitingWeight > (heaviest?.waitingWeight ?? 0)) heaviest = connection
    if (heaviest) this.closeWithReason(heaviest, 'pipelined')
  }

  closeWithReason(connection: Connection, reason: ConnectionCloseReason): void {
    const { socket } = connection
    this.#bounds.onClosed(reason, socket.remoteAddress ?? '')
    // Its requests do not count from now on. The socket emits `close` later.
    connection.close()
    socket.destroy()
  }

  get(socket: Socket): Connection | undefined {
    return this.#open.get(socket)
  }

  hasSending(): boolean {
    return this.#open.values().some(({ isSending }) => isSending)
  }

  hasServing(): boolean {
    return this.#open.values().some(({ isServing }) => isServing)
  }

  /** Whether a connection that is idle now was opened or used within this time. */
  hasRecentlyActive(ms: number): boolean {
    const since = performance.now() - ms
    return this.#open.values().some(({ idleSince }) => idleSince !== undefined && idleSince > since)
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
    if (evicted) this.closeWithReason(evicted, unfinished ? 'unfinished' : 'idle')
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
    let foundAt = Number.POSITIVE_INFINITY
    for (const connection of this.#open.values()) {
      const { isServing, respondedAt } = connection
      if (isServing || respondedAt === undefined || respondedAt >= foundAt) continue
      found = connection
      foundAt = respondedAt
    }
    return found
  }
}
