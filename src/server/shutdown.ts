import type { Server } from 'node:http'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Connections } from './connections.ts'

const deadlineMs = 10_000
/** How long to wait at most for a moment without new connections and requests. */
const quietWaitMaxMs = 500
/** How long that moment lasts: clients on a busy machine are late by as much. */
const quietMs = 60
const pollMs = 20

/** Stops a server without resetting a connection or losing a response. */
export class Shutdown {
  readonly #server: Server
  readonly #connections: Connections
  #listenerClosed: Promise<void> | undefined

  constructor(server: Server, connections: Connections) {
    this.#server = server
    this.#connections = connections
  }

  /** Defined while stopping; requests are served once it has resolved, with `Connection: close`. */
  get listenerClosed(): Promise<void> | undefined {
    return this.#listenerClosed
  }

  async stop(): Promise<void> {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    this.#listenerClosed = this.#waitForQuiet().then(() => void this.#server.close(() => resolve()))
    await this.#listenerClosed
    const deadline = performance.now() + deadlineMs
    while (this.#connections.hasServing() && performance.now() < deadline) await pause(pollMs)
    this.#server.closeAllConnections()
    await closed
  }

  /**
   * The kernel accepts connections before the server does, and resets those that the server has not accepted when it stops
   * listening. Idle connections are closed then, too. So the server stops listening when nothing new has arrived for a
   * moment. Requests are held back until then, because most clients send the next one when they get a response.
   */
  async #waitForQuiet(): Promise<void> {
    const deadline = performance.now() + quietWaitMaxMs
    const arrivals = () => this.#connections.accepted + this.#connections.requests
    let before: number
    do {
      before = arrivals()
      await pause(quietMs)
      await nextTurn()
    } while (arrivals() > before && performance.now() < deadline)
  }
}
