import type { Server } from 'node:http'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Connections } from './connections.ts'

const deadlineMs = 10_000
/** How long clients may take to read their responses before the server stops listening. */
const sendingMaxMs = 5_000
/** A client that was active within this time may already be sending its next request. */
const recentMs = 1_000
/** How long to wait at most for a moment without new connections and requests. */
const quietWaitMaxMs = 500
/** How long that moment lasts: clients on a busy machine are late by as much. */
const quietMs = 60
const pollMs = 20

/** Stops a server without resetting a connection or losing a response. */
export class Shutdown {
  readonly #server: Server
  readonly #connections: Connections
  /** Whether every response is the last of its connection. */
  isStopping = false
  /** Requests that arrive after this is defined are served once it has resolved. */
  listenerClosed: Promise<void> | undefined

  constructor(server: Server, connections: Connections) {
    this.#server = server
    this.#connections = connections
  }

  async stop(): Promise<void> {
    this.isStopping = true
    await waitWhile(() => this.#connections.hasRecentlyActive(recentMs), recentMs)
    const deadline = performance.now() + deadlineMs
    // Node closes connections whose response has ended when the server stops listening, also if it is not sent yet.
    await waitWhile(() => this.#connections.hasSending(), sendingMaxMs)
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    this.listenerClosed = this.#waitForQuiet().then(() => void this.#server.close(() => resolve()))
    await this.listenerClosed
    await waitWhile(
      () => this.#connections.hasServing() || this.#connections.hasRecentlyActive(recentMs),
      deadline - performance.now(),
    )
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

async function waitWhile(condition: () => boolean, maxMs: number): Promise<void> {
  const deadline = performance.now() + maxMs
  while (condition() && performance.now() < deadline) await pause(pollMs)
}
